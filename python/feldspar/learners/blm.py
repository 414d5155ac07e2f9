"""Bottom-up learning of Markov networks (Davis and Domingos 2010)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

from feldspar import _core
from feldspar._random import RandomState
from feldspar.features import FeatureSet
from feldspar.learners._base import MarkovLearner, one_of
from feldspar.learners._bottom_up import (
    NEIGHBORS,
    RELEARN_EVERY,
    BottomUpSettings,
    Distance,
    check_checkpoint,
    generalize,
)
from feldspar.learners._search import Search
from feldspar.weights import OnInterrupt

InitialFeatures: TypeAlias = Literal["positive", "full"]


class BLM(MarkovLearner):
    """Learns a Markov network from its examples, by generalising them.

    Every distinct example is a conjunctive feature at first. The search goes round over the
    features; each is generalised to match its nearest unmatched examples, as many as serve best, or
    removed, wherever that improves the score: the penalised PLL of the training rows, less
    ``alpha`` for each test of each feature. Features of a single variable stay.

    Parameters
    ----------
    alpha : float or sequence of float
        What a test costs, in units of log-likelihood (a sum over rows). Larger is simpler.
    relearn_every : int or sequence of int
        After so many changes all weights are relearned.
    prior_sd : float, None or sequence of them
        Standard deviation of the Gaussian prior on each weight, in the search and after it;
        ``None`` for no prior.
    initial : {"positive", "full"}
        What an example becomes: the conjunction of its values other than code 0, or of all.
    neighbors : sequence of int
        The numbers of nearest examples to generalise to, ascending.
    distance : {"gvdm", "hamming"}
        What near is: the generalised value difference metric, or the number of tests that fail.
    power : int
        The exponent Q of the value difference metric.
    checkpoint : path, optional
        A file in which the search is kept while it runs. If it is there at the start, the search
        goes on from it, and ends as if it had never been broken off.
    checkpoint_every : float
        Seconds between two writes of it.
    exhaustive : bool
        Try every alpha, and learn all weights to the tolerance. If not, alphas smaller than one
        that made things worse for certain are skipped; ``trials_`` tells which.
    ...

    References
    ----------
    J. Davis and P. Domingos. Bottom-up learning of Markov network structure. ICML 2010.

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> learner = fs.BLM(alpha=[10.0, 30.0]).fit(digits.train, X_valid=digits.valid)
    >>> learner.best_params_
    {'alpha': 10.0, 'relearn_every': 25, 'prior_sd': 1.0}
    """

    _tuned: ClassVar[tuple[str, ...]] = ("alpha", "relearn_every", "prior_sd")

    def __init__(
        self,
        *,
        alpha: float | Sequence[float] = (30.0, 10.0, 3.0, 1.0),
        relearn_every: int | Sequence[int] = RELEARN_EVERY,
        prior_sd: float | Sequence[float | None] | None = 1.0,
        initial: InitialFeatures = "positive",
        neighbors: Sequence[float] = NEIGHBORS,
        distance: Distance = "gvdm",
        power: int = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        max_iterations: int = 1000,
        tolerance: float = 1e-5,
        exhaustive: bool = False,
        time_limit: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_interrupt: OnInterrupt = "return",
    ) -> None:
        self.alpha = alpha
        self.relearn_every = relearn_every
        self.prior_sd = prior_sd
        self.initial = initial
        self.neighbors = neighbors
        self.distance = distance
        self.power = power
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.exhaustive = exhaustive
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _search(self, search: Search) -> None:
        check_checkpoint(self.checkpoint)
        positive = one_of("initial", self.initial, ("positive", "full")) == "positive"
        examples = FeatureSet._of_core(
            search.data.train.schema, _core.example_features(search.data.dataset, positive)
        )
        settings = BottomUpSettings(
            alpha=self._choices("alpha"),
            relearn_every=self._choices("relearn_every"),
            neighbors=self.neighbors,
            distance=self.distance,
            power=self.power,
            checkpoint=self.checkpoint,
            checkpoint_every=self.checkpoint_every,
            weights=self._weight_settings(),
        )
        generalize(search, examples, None, {}, settings)
