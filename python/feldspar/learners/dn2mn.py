"""Markov networks from dependency networks, in closed form (Lowd 2012)."""

from __future__ import annotations

from collections.abc import Sequence

from feldspar import _core
from feldspar._random import RandomState
from feldspar.dependency import Base, Orders
from feldspar.learners._base import PRIOR_SDS, MarkovLearner
from feldspar.learners._conditionals import (
    LOGISTIC_C,
    ConditionalSettings,
    Cpd,
    learn_conditionals,
)
from feldspar.learners._search import Search
from feldspar.learners._trees import KAPPAS
from feldspar.learners.dependency_network import DependencyNetwork
from feldspar.weights import OnInterrupt


class DN2MN(MarkovLearner):
    """Learns a dependency network and converts it to a Markov network in closed form.

    No weights are optimised: features and weights follow from the conditionals. If these are
    consistent, the conversion is exact; if not, it averages over orders and base states.
    ``relearn=True`` goes on from there with weight learning, which takes far longer and predicts
    better.

    Parameters
    ----------
    cpd : {"tree", "logistic"}
        Decision trees or L1-penalised logistic regressions.
    kappa : float or sequence of float
        Structure prior of the trees; several are tried.
    C : float or sequence of float
        What the loss of a logistic regression counts against its L1 penalty; several are tried,
        from small to large, until the validation rows are predicted worse.
    orders : {"opposite-rotations", "rotations", "opposite", "one"}
        The orders of the variables to average over, as in
        :meth:`feldspar.DependencyNetwork.to_markov`.
    base : {"marginals", "mode", "uniform"} or a state
        The base states to average over, likewise.
    relearn : bool
        Learn the weights of the features anew, from those of the conversion.
    prior_sd : float, None or sequence of them
        For ``relearn``: standard deviation of the Gaussian prior on the weights.
    min_leaf_weight, leaf_prior : float
        Of the trees, as in :class:`feldspar.DTSL`.
    solver : {"coordinate", "owlqn"}
        Of the logistic regressions.
    exhaustive : bool
        Try every setting, and learn all weights to the tolerance. If not, settings that cannot be
        the best any more are given up early; ``trials_`` tells which.
    ...

    Attributes
    ----------
    dependency_network_ : DependencyNetwork
        What was converted.

    References
    ----------
    D. Lowd. Closed-form learning of Markov networks from dependency networks. Uncertainty in
    Artificial Intelligence (2012).

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> learner = fs.DN2MN(kappa=0.01).fit(digits.train)
    >>> learner.score(digits.test) > learner.dependency_network_.score(digits.test)
    True
    """

    def __init__(
        self,
        *,
        cpd: Cpd = "tree",
        kappa: float | Sequence[float] = KAPPAS,
        C: float | Sequence[float] = LOGISTIC_C,
        orders: Orders = "opposite-rotations",
        base: Base = "marginals",
        relearn: bool = False,
        prior_sd: float | Sequence[float | None] | None = PRIOR_SDS,
        min_leaf_weight: float = 10.0,
        leaf_prior: float = 1.0,
        solver: str = "coordinate",
        max_iterations: int = 1000,
        tolerance: float = 1e-5,
        exhaustive: bool = False,
        time_limit: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_interrupt: OnInterrupt = "return",
    ) -> None:
        self.cpd = cpd
        self.kappa = kappa
        self.C = C
        self.orders = orders
        self.base = base
        self.relearn = relearn
        self.prior_sd = prior_sd
        self.min_leaf_weight = min_leaf_weight
        self.leaf_prior = leaf_prior
        self.solver = solver
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.exhaustive = exhaustive
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _settings(self) -> ConditionalSettings:
        return ConditionalSettings(
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

    def _has_choice(self) -> bool:
        return self._settings().has_choice() or (self.relearn and super()._has_choice())

    def _learns_weights_apart(self) -> bool:
        return self.relearn

    def _search(self, search: Search) -> None:
        core, params = learn_conditionals(search, self._settings())
        data = search.data
        self.dependency_network_ = DependencyNetwork._of_core(
            data.train.schema, core, marginals=_core.ProductDistribution.marginals(data.dataset)
        )
        with search.clock.stage("weights"):
            network = self.dependency_network_.to_markov(orders=self.orders, base=self.base)
        search.offer(network, params, n_jobs=self.n_jobs)
        if self.relearn and not search.clock.is_over:
            search.stand_in(network, params)
            search.learn_weights(
                network.features,
                params,
                self._weight_settings(),
                initial_weights=network.weights,
            )
