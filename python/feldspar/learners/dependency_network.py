"""Dependency networks as estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy.typing as npt
from sklearn.base import BaseEstimator

from feldspar import _core
from feldspar._random import RandomState
from feldspar.dependency import DependencyModel
from feldspar.learners._clock import Clock
from feldspar.learners._conditionals import (
    LOGISTIC_C,
    ConditionalSettings,
    Cpd,
    learn_conditionals,
)
from feldspar.learners._estimator import DiscreteEstimator, refuse_rows
from feldspar.learners._search import Search, TrainingData
from feldspar.learners._trees import KAPPAS


class DependencyNetwork(DependencyModel, DiscreteEstimator):
    """A conditional distribution for every variable given all the others (Heckerman et al. 2000).

    The conditionals are learned one by one, which is fast, and need not belong to any joint
    distribution. Such a network can be scored, sampled, and converted to a Markov network in closed
    form (`to_markov`; :class:`feldspar.DN2MN` does both steps).

    Besides `fit`, networks come from `from_trees`, `from_terms` and `load`.

    Parameters
    ----------
    cpd : {"tree", "logistic"}
        Decision trees or L1-penalised logistic regressions.
    kappa : float or sequence of float
        Structure prior of the trees, as in :class:`feldspar.DTSL`; several are tried.
    C : float or sequence of float
        What the loss of a logistic regression counts against its L1 penalty; several are tried,
        from small to large, until the validation rows are predicted worse.
    min_leaf_weight, leaf_prior : float
        Of the trees, as in :class:`feldspar.DTSL`.
    solver : {"coordinate", "owlqn"}
        Of the logistic regressions.
    exhaustive : bool
        Try every ``C``, also those larger than one that made things worse.
    random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
        For rows held out.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    verbose : bool
        Show progress on a terminal.

    Attributes
    ----------
    schema : Schema
    kinds : tuple of {"tree", "log-linear"}
        What each variable's conditional is.
    marginals : tuple of arrays, or None
        The distribution of each variable in the training data, where it is known.
    best_params_, trials_, fit_seconds_
        As of every learner; of fitted networks only.

    References
    ----------
    D. Heckerman, D. M. Chickering, C. Meek, R. Rounthwaite and C. Kadie. Dependency networks for
    inference, collaborative filtering, and data visualization. Journal of Machine Learning
    Research 1 (2000).

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> network = fs.DependencyNetwork(kappa=[0.01, 0.1]).fit(digits.train, X_valid=digits.valid)
    >>> network.best_params_
    {'cpd': 'tree', 'kappa': 0.1}
    >>> len(network.sample(5, random_state=0))
    5
    """

    _tuned: ClassVar[tuple[str, ...]] = ("kappa", "C")

    def __init__(
        self,
        *,
        cpd: Cpd = "tree",
        kappa: float | Sequence[float] = KAPPAS,
        C: float | Sequence[float] = LOGISTIC_C,
        min_leaf_weight: float = 10.0,
        leaf_prior: float = 1.0,
        solver: str = "coordinate",
        exhaustive: bool = False,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.cpd = cpd
        self.kappa = kappa
        self.C = C
        self.min_leaf_weight = min_leaf_weight
        self.leaf_prior = leaf_prior
        self.solver = solver
        self.exhaustive = exhaustive
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: object,
        y: object = None,
        *,
        X_valid: object = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn the conditionals.

        Parameters
        ----------
        X : table, frame or array
            The rows to learn from. Of rows with missing values a part is used where that is
            sound, with a warning that names the columns: see :mod:`feldspar.missing`.
        y : None
            Ignored.
        X_valid : table, frame or array, optional
            The rows to choose among settings by, on the log-likelihood of the conditionals; those
            with missing values are left out. If there is a choice to make and no ``X_valid``, a
            tenth of ``X`` is held out.
        sample_weight : array of float, optional
            How much each row of ``X`` counts.
        """
        refuse_rows(y)
        settings = ConditionalSettings(
            cpd=self.cpd,
            kappa=self._choices("kappa"),
            C=self._choices("C"),
            min_leaf_weight=self.min_leaf_weight,
            leaf_prior=self.leaf_prior,
            solver=self.solver,
            exhaustive=self.exhaustive,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        data = TrainingData.of(
            X,
            X_valid,
            sample_weight,
            has_choice=settings.has_choice(),
            random_state=self.random_state,
            weights_from_all=False,
        )
        search = Search(data, Clock(None))
        core, params = learn_conditionals(search, settings)
        marginals = _core.ProductDistribution.marginals(data.dataset)
        self._fill(data.train.schema, core, marginals, {"learner": {**_plain(self), **params}})
        self.best_params_ = params
        self.trials_ = search.trials
        self.fit_seconds_ = search.clock.seconds()
        self._remember_columns(X, data.train.schema)
        return self

    def score(
        self,
        X: object,
        y: object = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> float:
        """Return the mean pseudo-log-likelihood (PLL) per row, by weight where there are any."""
        if hasattr(self, "n_features_in_"):  # fitted, not made of parts
            self._check_width(X)
        return super().score(X, y, sample_weight=sample_weight, n_jobs=n_jobs)


def _plain(estimator: BaseEstimator) -> dict[str, Any]:
    return {"name": type(estimator).__name__}
