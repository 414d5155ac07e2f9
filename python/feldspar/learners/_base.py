"""What every learner of Markov networks is: a scikit-learn estimator with a network inside."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from feldspar._caution import warn_user
from feldspar._random import RandomState
from feldspar.features import core_float
from feldspar.learners._clock import Clock
from feldspar.learners._estimator import DiscreteEstimator, refuse_rows
from feldspar.learners._search import Search, TrainingData, WeightSettings
from feldspar.weights import OnInterrupt, check_on_interrupt, warn_unless_converged

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Word = TypeVar("Word", bound=str)
Learner = TypeVar("Learner", bound="MarkovLearner")

# The standard deviations of the weights' prior that the papers try.
PRIOR_SDS = (100.0, 10.0, 1.0, 0.1)


# In the docstring of a learner, "..." after its own parameters stands for these.
_COMMON_PARAMETERS = """\
max_iterations, tolerance : int, float
    Of weight learning, as in :func:`feldspar.learn_weights`.
time_limit : float, optional
    Seconds for everything; when they are over, the best network so far is kept, with a warning.
random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
    For rows held out and whatever else is random; the same integer gives the same network.
n_jobs : int, optional
    Threads. The result does not depend on it.
verbose : bool
    Show progress on a terminal.
on_interrupt : {"return", "raise"}
    What Ctrl-C does: keep the best network so far, or raise.
"""


class MarkovLearner(DiscreteEstimator):
    """Fits Markov networks: reads the data, searches, keeps the best network.

    A parameter named in `_tuned` is one value or a list of values to try. A subclass says in
    `_search` what is tried; it need not look after time limits, interruptions or warnings. A line
    ``...`` in the parameters of its docstring stands for those that all learners have.

    Attributes
    ----------
    network_ : MarkovNetwork
        The best network.
    best_params_ : dict
        The settings it was learned with, of those that were tried.
    valid_pll_ : float or None
        Its mean pseudo-log-likelihood on the rows that settings were chosen by; ``None`` where
        there were none.
    trials_ : list of dict
        A row for each trial, ready for ``pandas.DataFrame``: ``stage`` (``"structure"`` or
        ``"weights"``), the settings, ``valid_pll``, ``n_features``, ``seconds``.
    fit_seconds_ : dict
        Seconds of ``"structure"``, ``"weights"`` and ``"total"``.
    schema_ : Schema
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : array of str
        Their names, where the data came with names.
    """

    # The names of the parameters that may be lists of values to try.
    _tuned: ClassVar[tuple[str, ...]] = ("prior_sd",)
    # Settings to be checked with (`feldspar.checks`), where the defaults take long on any data.
    _quick: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Complete the docstring."""
        super().__init_subclass__(**kwargs)
        if cls.__doc__:  # not under python -OO
            head, examples, rest = inspect.cleandoc(cls.__doc__).partition("\nExamples\n")
            head = head.replace("\n...\n", f"\n{_COMMON_PARAMETERS}", 1)
            cls.__doc__ = head + examples + rest

    prior_sd: Any
    max_iterations: int
    tolerance: float
    exhaustive: bool = False
    time_limit: float | None
    random_state: RandomState
    n_jobs: int | None
    verbose: bool
    on_interrupt: OnInterrupt

    def fit(
        self,
        X: object,
        y: object = None,
        *,
        X_valid: object = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn a network.

        Parameters
        ----------
        X : table, frame or array
            The rows to learn from. Of rows with missing values a part is used where that is
            sound, with a warning that names the columns: see :mod:`feldspar.missing`.
        y : None
            Ignored.
        X_valid : table, frame or array, optional
            The rows to choose among settings by; those with missing values are left out. If there
            is a choice to make and no ``X_valid``, a tenth of ``X`` is held out.
        sample_weight : array of float, optional
            How much each row of ``X`` counts.
        """
        check_on_interrupt(self.on_interrupt)
        refuse_rows(y)
        clock = Clock(self.time_limit)
        data = TrainingData.of(
            X,
            X_valid,
            sample_weight,
            has_choice=self._has_choice(),
            random_state=self.random_state,
            weights_from_all=self._learns_weights_apart(),
        )
        search = Search(data, clock)
        try:
            self._search(search)
            search.finish()
        except KeyboardInterrupt:
            if self.on_interrupt == "raise" or search.network is None:
                raise
            warn_user("interrupted; the best network so far is kept")
        assert search.network is not None  # a search that ends has tried something
        self.network_ = search.network
        self.best_params_ = search.params
        self.trials_ = search.trials
        self.fit_seconds_ = clock.seconds()
        self.valid_pll_ = (
            None if data.valid is None else self.network_.score(data.valid, n_jobs=self.n_jobs)
        )
        self._remember_columns(X, data.train.schema)
        self.network_.metadata["learner"] = {"name": type(self).__name__, **search.params}
        if clock.is_over:
            warn_user(
                f"the time_limit of {self.time_limit:g} s is over; the best network so far is kept",
                ConvergenceWarning,
            )
        else:
            warn_unless_converged([self.network_])
        return self

    @abstractmethod
    def _search(self, search: Search) -> None:
        """Try the settings there are, offering networks to the search."""

    def _search_as_part(self, search: Search, name: str) -> Search:
        """Search as a part of another learner, which knows it by a name; return what was found.

        Its trials join those of the whole. Until something else is offered, its network stands in.
        """
        own = Search(search.data, search.clock.part(self.time_limit))
        try:
            self._search(own)
            own.finish()
        finally:
            search.trials += [{"learner": name, **row} for row in own.trials]
            search.stand_in(own.network, {name: own.params})
        return own

    def score(
        self, X: object, y: object = None, sample_weight: npt.ArrayLike | None = None
    ) -> float:
        """Return the mean pseudo-log-likelihood per row."""
        self._check_ready(X)
        return self.network_.score(X, sample_weight=sample_weight, n_jobs=self.n_jobs)

    def score_samples(self, X: object) -> npt.NDArray[np.float64]:
        """Return the pseudo-log-likelihood of each row."""
        self._check_ready(X)
        return self.network_.score_samples(X, n_jobs=self.n_jobs)

    def plot_trials(self, *, ax: Axes | None = None) -> Axes:
        """Draw the validation PLL of every network that was tried, with its settings.

        Needs matplotlib (the extra ``plot``).
        """
        from feldspar.plotting import draw_trials

        check_is_fitted(self, "network_")
        return draw_trials(self.trials_, title=f"{type(self).__name__}: what was tried", ax=ax)

    def _check_ready(self, X: object) -> None:
        check_is_fitted(self, "network_")
        self._check_width(X)

    def _choices(self, name: str) -> list[Any]:
        """Return the values of a parameter to try, in the order given."""
        values = super()._choices(name)
        if name == "prior_sd":  # files cannot hold infinity
            values = [None if value == math.inf else value for value in values]
        return values

    def _has_choice(self) -> bool:
        return any(len(self._choices(name)) > 1 for name in self._tuned)

    def _learns_weights_apart(self) -> bool:
        """Tell whether weights are learned after the structure, also from rows with gaps."""
        return True

    def _weight_settings(self) -> WeightSettings:
        return WeightSettings(
            prior_sd=self._choices("prior_sd"),
            max_iterations=self.max_iterations,
            tolerance=core_float("tolerance", self.tolerance),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            exhaustive=self.exhaustive,
        )


def part(name: str, learner: Learner | None, default: Learner) -> Learner:
    """Return a copy of the learner that is a part of another, or the default."""
    given: object = learner
    if learner is None:
        return default
    if not isinstance(given, MarkovLearner):
        raise TypeError(
            f"{name}: expected a learner such as {type(default).__name__}(), got {given!r}"
        )
    copy: Learner = clone(learner)
    return copy


def one_of(name: str, value: Any, allowed: tuple[Word, ...]) -> Word:
    """Return a parameter that must be one of a few words."""
    if value not in allowed:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, allowed))}, got {value!r}")
    return cast(Word, value)
