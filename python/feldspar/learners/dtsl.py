"""Decision tree structure learning (Lowd and Davis 2014)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar._random import RandomState
from feldspar.features import FeatureSet
from feldspar.learners._base import PRIOR_SDS, MarkovLearner, one_of
from feldspar.learners._race import Contender
from feldspar.learners._search import Search
from feldspar.learners._trees import KAPPAS, TreeSettings, choose_trees
from feldspar.schema import Label, Schema
from feldspar.weights import OnInterrupt

Conversion: TypeAlias = Literal["default", "prune", "prune-10", "prune-5", "nonzero"]
CONVERSIONS: tuple[Conversion, ...] = ("default", "prune", "prune-10", "prune-5", "nonzero")


class DTSL(MarkovLearner):
    """Learns a Markov network from decision trees, one for each variable.

    Each tree predicts a variable from all the others; the paths of all trees become conjunctive
    features, and their weights are learned together. It finds interactions of many variables
    where the data have them.

    Three choices are made in turn, by validation data: ``kappa`` by the log-likelihood of the
    trees; for each conversion of the trees to features ``prior_sd``; and the conversion, both by
    the PLL of the network.

    Parameters
    ----------
    kappa : float or sequence of float
        The structure prior, above 0 and at most 1: a split must gain more than
        ``-log(kappa)`` in log-likelihood for every parameter it adds. Smaller is simpler.
    conversion : str or sequence of str
        How trees become features: ``"default"`` (a feature for each leaf and value of the
        variable), ``"prune"`` (for every node), ``"prune-10"`` and ``"prune-5"`` (those of at most
        10 or 5 tests), ``"nonzero"`` (leaves without tests for the zero value).
    prior_sd : float, None or sequence of them
        Standard deviation of the Gaussian prior on each weight; ``None`` for no prior.
    min_leaf_weight : float
        Least number (or weight) of examples in a leaf.
    leaf_prior : float
        Added to each count in a leaf.
    zero_values : mapping, optional
        The value of a variable that ``"nonzero"`` leaves out, by name or index; code 0 for
        variables that are not named.
    exhaustive : bool
        Learn the weights of every setting to the tolerance. If not, those of settings that cannot
        be the best any more are given up early; ``trials_`` tells which.
    ...

    References
    ----------
    D. Lowd and J. Davis. Improving Markov network structure learning using decision trees.
    Journal of Machine Learning Research 15 (2014).

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> learner = fs.DTSL(kappa=0.01, conversion="prune-5", prior_sd=[1.0, 0.1])
    >>> learner = learner.fit(digits.train, X_valid=digits.valid)
    >>> learner.best_params_
    {'kappa': 0.01, 'conversion': 'prune-5', 'prior_sd': 1.0}
    """

    _tuned: ClassVar[tuple[str, ...]] = ("kappa", "conversion", "prior_sd")

    def __init__(
        self,
        *,
        kappa: float | Sequence[float] = KAPPAS,
        conversion: str | Sequence[str] = CONVERSIONS,
        prior_sd: float | Sequence[float | None] | None = PRIOR_SDS,
        min_leaf_weight: float = 10.0,
        leaf_prior: float = 1.0,
        zero_values: Mapping[str | int, Label] | None = None,
        max_iterations: int = 1000,
        tolerance: float = 1e-5,
        exhaustive: bool = False,
        time_limit: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_interrupt: OnInterrupt = "return",
    ) -> None:
        self.kappa = kappa
        self.conversion = conversion
        self.prior_sd = prior_sd
        self.min_leaf_weight = min_leaf_weight
        self.leaf_prior = leaf_prior
        self.zero_values = zero_values
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.exhaustive = exhaustive
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _search(self, search: Search) -> None:
        conversions = [one_of("conversion", c, CONVERSIONS) for c in self._choices("conversion")]
        schema = search.data.train.schema
        zeros = _zero_codes(schema, self.zero_values)
        settings = self._weight_settings()
        trees, kappa = choose_trees(
            search,
            TreeSettings(
                kappas=self._choices("kappa"),
                min_leaf_weight=self.min_leaf_weight,
                leaf_prior=self.leaf_prior,
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            ),
        )
        tried: list[FeatureSet] = []
        tries: list[Contender] = []
        for conversion in conversions:
            if search.clock.is_over and search.network is not None:
                break
            started = time.perf_counter()
            with search.clock.stage("structure"):
                features = FeatureSet._of_core(schema, trees.features(conversion, zeros))
            params = {"kappa": kappa, "conversion": conversion}
            search.add_structure_trial(
                params,
                valid_pll=None,
                n_features=len(features),
                seconds=time.perf_counter() - started,
            )
            if features in tried:  # short paths: prune, prune-10 and prune-5 may be the same
                continue
            tried.append(features)
            # Conversions have features in common.
            tries = search.learn_weights(features, params, settings, similar=tries)


def _zero_codes(
    schema: Schema, zero_values: Mapping[str | int, Label] | None
) -> npt.NDArray[np.uint16]:
    codes = np.zeros(len(schema), dtype=np.uint16)
    given: object = zero_values
    if not (given is None or isinstance(given, Mapping)):
        raise TypeError(
            f"zero_values: expected a mapping such as {{{schema.names[0]!r}: value}}, got {given!r}"
        )
    for variable, value in (zero_values or {}).items():
        position = schema.index(variable)
        codes[position] = schema.code(position, value)
    return codes
