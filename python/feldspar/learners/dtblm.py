"""DT-BLM: features from decision trees, generalised (Lowd and Davis 2014)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from feldspar._random import RandomState
from feldspar.learners._base import MarkovLearner, part
from feldspar.learners._bottom_up import (
    NEIGHBORS,
    RELEARN_EVERY,
    BottomUpSettings,
    Distance,
    check_checkpoint,
    generalize,
)
from feldspar.learners._search import Search
from feldspar.learners.dtsl import DTSL
from feldspar.weights import OnInterrupt


class DTBLM(MarkovLearner):
    """Learns with DTSL, then generalises and removes features as BLM does.

    The search starts from the features and weights of the tuned DTSL network. That network is among
    those to choose from, so that by validation rows the result is never worse.

    Parameters
    ----------
    dtsl : DTSL, optional
        How the trees are learned and tuned; ``DTSL()`` if left out.
    alpha, relearn_every : number or sequence
        As in :class:`feldspar.BLM`.
    prior_sd : float, None, "dtsl" or sequence of them
        Standard deviation of the Gaussian prior on each weight; ``"dtsl"`` is the one that DTSL
        chose. The search is run for each.
    neighbors, distance, power, checkpoint, checkpoint_every
        As in :class:`feldspar.BLM`. A checkpoint holds the search; DTSL is learned again.
    exhaustive : bool
        Try every alpha, and learn all weights to the tolerance. If not, alphas smaller than one
        that made things worse for certain are skipped; ``trials_`` tells which.
    ...

    Attributes
    ----------
    dtsl_network_ : MarkovNetwork
        The network that the search started from.

    References
    ----------
    D. Lowd and J. Davis. Improving Markov network structure learning using decision trees.
    Journal of Machine Learning Research 15 (2014).

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> trees = fs.DTSL(kappa=0.1, conversion="prune-5", prior_sd=0.3)
    >>> learner = fs.DTBLM(dtsl=trees, alpha=1.0).fit(digits.train, X_valid=digits.valid)
    >>> learner.score(digits.valid) >= learner.dtsl_network_.score(digits.valid)
    True
    """

    _tuned: ClassVar[tuple[str, ...]] = ("alpha", "relearn_every", "prior_sd")

    def __init__(
        self,
        *,
        dtsl: DTSL | None = None,
        alpha: float | Sequence[float] = (10.0, 3.0, 1.0, 0.3),
        relearn_every: int | Sequence[int] = RELEARN_EVERY,
        prior_sd: float | str | Sequence[float | str | None] | None = "dtsl",
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
        self.dtsl = dtsl
        self.alpha = alpha
        self.relearn_every = relearn_every
        self.prior_sd = prior_sd
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

    def _trees(self) -> DTSL:
        """Return a copy of the tree learner that runs as this one does."""
        trees = part("dtsl", self.dtsl, DTSL())
        trees.set_params(n_jobs=self.n_jobs, verbose=self.verbose)
        if self.exhaustive:
            trees.set_params(exhaustive=True)
        return trees

    def _has_choice(self) -> bool:
        return True  # at least between the trees' network and what becomes of it

    def _prior_sds(self, chosen: Mapping[str, Any]) -> list[Any]:
        """Return the priors to try, those by name replaced by the trees' choice; each once."""
        priors: list[Any] = []
        for sd in self._choices("prior_sd"):
            if isinstance(sd, str) and sd != "dtsl":
                raise ValueError(f"prior_sd: expected numbers, None or 'dtsl', got {sd!r}")
            if sd == "dtsl" and "prior_sd" not in chosen:
                raise ValueError(
                    f"prior_sd: {self.dtsl!r} has no prior to take over; expected numbers or None"
                )
            own = chosen["prior_sd"] if sd == "dtsl" else sd
            if own not in priors:
                priors.append(own)
        return priors

    def _search(self, search: Search) -> None:
        self._prior_sds({"prior_sd": None})  # wrong ones before anything is learned
        check_checkpoint(self.checkpoint)
        own = self._trees()._search_as_part(search, "dtsl")
        start = self.dtsl_network_ = own.network
        assert start is not None
        params = {"dtsl": own.params}
        search.offer(start, params, n_jobs=self.n_jobs)
        weights = self._weight_settings().with_priors(self._prior_sds(own.params))
        settings = BottomUpSettings(
            alpha=self._choices("alpha"),
            relearn_every=self._choices("relearn_every"),
            neighbors=self.neighbors,
            distance=self.distance,
            power=self.power,
            checkpoint=self.checkpoint,
            checkpoint_every=self.checkpoint_every,
            weights=weights,
        )
        generalize(search, start.features, start.weights, params, settings)
