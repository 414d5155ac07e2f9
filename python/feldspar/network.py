"""Markov networks: log-linear models with conjunctive features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._jobs import resolve_jobs
from feldspar.conditionals import ConditionalModel
from feldspar.evidence import partial_rows
from feldspar.features import Conjunction, FeatureSet, build, core_codes, core_int
from feldspar.schema import Label, Schema
from feldspar.table import Table
from feldspar.training import TrainingReport

if TYPE_CHECKING:
    import os
    from typing import Self

    import networkx as nx
    from matplotlib.axes import Axes

    from feldspar._random import RandomState
    from feldspar.edges import EdgeStrengths
    from feldspar.evaluation import Score
    from feldspar.explanation import Explanation
    from feldspar.inference import LogPartition, Marginals, Method, MostProbableStates

_SHOWN_FEATURES = 10


class MarkovNetwork(ConditionalModel):
    """A probability distribution ``P(x) = exp(sum_j w_j f_j(x)) / Z`` over discrete variables.

    Parameters
    ----------
    features : FeatureSet
        The conjunctive features.
    weights : array of float
        One finite weight for each.
    metadata : mapping, optional
        How the network came about; kept in ``.json`` files.

    Attributes
    ----------
    schema : Schema
    features : FeatureSet
    weights : array of float64
    metadata : dict
    training_ : TrainingReport or None
        How the weights were learned, where they were; ``None`` in a network from a file:
        ``metadata["training"]`` is what ``.json`` files keep of it.

    Schema, features and weights are read-only: other weights make another network.

    Examples
    --------
    >>> schema = Schema([2, 2], names=["rain", "wet"])
    >>> network = MarkovNetwork.from_terms(schema, [([("rain", 1), ("wet", 1)], 2.0)])
    >>> network.log_potential([[1, 1], [1, 0]]).tolist()
    [2.0, 0.0]
    >>> network.conditionals([[1, 1]])["wet"].round(3).tolist()
    [[0.119, 0.881]]
    """

    def __init__(
        self,
        features: FeatureSet,
        weights: npt.ArrayLike,
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._features = features
        self._weights = np.array(weights, dtype=np.float64)
        if self._weights.ndim != 1:
            raise ValueError(f"weights must be one-dimensional, got shape {self._weights.shape}")
        self._weights.setflags(write=False)
        self.metadata: dict[str, Any] = dict(metadata or {})
        self.training_: TrainingReport | None = None
        self._core = _core.MarkovNetwork(features._core, self._weights)

    @classmethod
    def from_terms(
        cls,
        schema: Schema,
        terms: Iterable[tuple[Conjunction, float]],
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a network of weighted conjunctions.

        Equal conjunctions become one feature and their weights add up. Conjunctions that are
        always or never true change no probability and are left out.
        """
        pairs = list(terms)
        core, numbers = build(schema, (conjunction for conjunction, _ in pairs))
        given = np.fromiter((weight for _, weight in pairs), dtype=np.float64, count=len(pairs))
        kept = numbers >= 0
        weights = np.bincount(numbers[kept], weights=given[kept], minlength=len(core))
        return cls(FeatureSet._of_core(schema, core), weights, metadata=metadata)

    @property
    def schema(self) -> Schema:
        """The variables."""
        return self._features.schema

    @property
    def _conditional_core(self) -> _core.MarkovNetwork:
        return self._core

    @property
    def features(self) -> FeatureSet:
        """The conjunctive features."""
        return self._features

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """One weight for each feature."""
        return self._weights

    def without_zeros(self) -> MarkovNetwork:
        """Return the same distribution without the features of weight zero.

        Examples
        --------
        >>> schema = Schema([2, 2])
        >>> network = MarkovNetwork.from_terms(schema, [([(0, 1)], 0.0), ([(1, 1)], 2.0)])
        >>> network.without_zeros()
        MarkovNetwork(2 variables, 1 features)
        """
        kept = self.weights != 0
        network = MarkovNetwork(
            self.features.select(kept), self.weights[kept], metadata=self.metadata
        )
        network.training_ = self.training_
        return network

    def __repr__(self) -> str:
        """Return the sizes."""
        return f"MarkovNetwork({len(self.schema)} variables, {len(self.features)} features)"

    def __getstate__(self) -> dict[str, Any]:
        """Return plain parts."""
        return {name: value for name, value in vars(self).items() if name != "_core"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Rebuild the compiled network."""
        vars(self).update(state)
        self._weights.setflags(write=False)
        self._core = _core.MarkovNetwork(self._features._core, self._weights)

    # What the network says of complete rows

    def log_potential(self, X: object, *, n_jobs: int | None = None) -> npt.NDArray[np.float64]:
        """Return, for each row, the sum of the weights of the features that hold."""
        codes = core_codes(Table.of(X, schema=self.schema))
        return self._core.log_potentials(codes, resolve_jobs(n_jobs))[:, 0]

    # Questions about what is not known

    def marginals(
        self,
        evidence: object = None,
        method: Method = "auto",
        *,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        **options: Any,
    ) -> Marginals:
        """Return the distribution of every variable given what is known.

        Parameters
        ----------
        evidence : mapping, row, table, frame or array, optional
            What is known: a mapping from variables to values, or to likelihoods of their values
            (soft evidence); a row of codes with -1 or ``None`` for unknown; or many rows. Nothing
            if left out.
        method : str
            ``"exact"`` (junction tree; refused where its tables are too large), ``"bp"`` (loopy
            belief propagation), ``"meanfield"``, ``"gibbs"`` or ``"mcsat"``; ``"auto"`` is exact
            where that is cheap, else BP if it converges and a short Gibbs run does not contradict
            it, else Gibbs; the diagnostics tell what it chose, why, and what error to expect.
        time_limit : float, optional
            Seconds; rows that are not done then are told in the diagnostics, with a warning.
        n_jobs : int, optional
            Threads. The result does not depend on it.
        verbose : bool
            Show progress on a terminal.
        **options
            Of the method. Samplers: ``n_chains``, ``burn_in``, ``n_samples``, ``thinning``,
            ``rao_blackwell``, ``standard_errors``, ``random_state``. Exact and auto:
            ``max_table_entries``. BP: ``schedule``, ``damping``, ``max_iterations``, ``tolerance``.

        Examples
        --------
        >>> schema = Schema([2, 2], names=["rain", "wet"])
        >>> network = MarkovNetwork.from_terms(schema, [([("rain", 1), ("wet", 1)], 2.0)])
        >>> network.marginals({"rain": 1})["wet"].round(3).tolist()
        [0.119, 0.881]
        """
        from feldspar.inference import marginals

        return marginals(
            self,
            evidence,
            method,
            time_limit=time_limit,
            n_jobs=n_jobs,
            verbose=verbose,
            **options,
        )

    def predict_proba(self, X: object, method: Method = "auto", **options: Any) -> Marginals:
        """Return the distribution of every missing entry of rows, given the rest of its row.

        The same as `marginals` of the rows; known entries have probability 1 at their value. A
        frame may lack the columns of variables that are not known on any row.
        """
        return self.marginals(partial_rows(self.schema, X), method, **options)

    def impute(self, X: object, method: Method = "auto", **options: Any) -> Any:
        """Return the rows with every missing entry filled in by its most probable value.

        Each entry on its own: `most_probable` finds the values that are most probable together.

        Parameters
        ----------
        X : table, frame or array
            Rows with missing entries.
        method : str
            As in `marginals`.
        **options
            Of the method.

        Returns
        -------
        table, frame or array
            Whichever went in: a :class:`feldspar.Table` for a table, a frame of the same library
            with the same columns, types and index for a frame, codes for an array.

        Examples
        --------
        >>> schema = Schema([2, 2], names=["rain", "wet"])
        >>> network = MarkovNetwork.from_terms(schema, [([("rain", 1), ("wet", 1)], 2.0)])
        >>> network.impute([[1, -1], [-1, 1]])
        array([[1, 1],
               [1, 1]])
        """
        from feldspar import _frames

        table = Table.of(X, schema=self.schema)
        codes = table.to_numpy()
        holes = codes < 0
        if holes.any():
            found = self.marginals(table, method, **options)
            # Rows that a time limit left undone stay as they are.
            holes &= ~np.isnan(found.probabilities).any(axis=1, keepdims=True)
            for v in range(len(self.schema)):
                codes[holes[:, v], v] = np.argmax(found[v][holes[:, v]], axis=1)
        filled = Table._of_parts(codes, self.schema, table._weights)
        if isinstance(X, Table):
            return filled
        return _frames.fill_frame(X, holes, filled) if _frames.is_frame(X) else codes

    def most_probable(
        self, evidence: object = None, method: str = "auto", **options: Any
    ) -> MostProbableStates:
        """Return the most probable state given what is known.

        Parameters
        ----------
        evidence : mapping, row, table, frame or array, optional
            What is known, as in `marginals`.
        method : {"auto", "exact", "max-product", "icm"}
            ``"auto"`` is exact where that is cheap; the result says what was used for each row and
            whether it is proven to be the most probable.
        **options
            ``max_table_entries`` of exact and auto, ``n_starts`` and ``random_state`` of ICM,
            ``time_limit``, ``n_jobs``, ``verbose``.

        Examples
        --------
        >>> schema = Schema([2, 2], names=["rain", "wet"])
        >>> network = MarkovNetwork.from_terms(schema, [([("rain", 1), ("wet", 1)], 2.0)])
        >>> found = network.most_probable({"rain": 1})
        >>> found.state, found.proven
        ({'rain': 1, 'wet': 1}, [True])
        """
        from feldspar.inference import most_probable

        return most_probable(self, evidence, method, **options)

    def log_partition(
        self, method: Literal["auto", "exact", "ais"] = "auto", **options: Any
    ) -> LogPartition:
        """Return log Z: exact, or by annealed importance sampling with its standard error.

        Parameters
        ----------
        method : {"auto", "exact", "ais"}
            ``"auto"`` is exact where the tables have at most ``max_table_entries``.
        **options
            ``max_table_entries``; ``n_chains``, ``n_temperatures`` and ``random_state`` of the
            annealing; ``time_limit``, ``n_jobs``.

        Examples
        --------
        >>> network = MarkovNetwork.from_terms(Schema([2, 2]), [([(0, 1), (1, 1)], 2.0)])
        >>> round(float(network.log_partition()), 4)  # log(3 + e^2)
        2.3408
        """
        from feldspar.inference import log_partition

        return log_partition(self, method, **options)

    def log_likelihood(
        self, X: object, method: Literal["auto", "exact", "ais"] = "auto", **options: Any
    ) -> npt.NDArray[np.float64]:
        """Return ``log P(x)`` of each complete row, with log Z as in `log_partition`."""
        potentials = self.log_potential(X)  # first: log Z may take its time, bad rows are soon told
        logs: npt.NDArray[np.float64] = potentials - float(self.log_partition(method, **options))
        return logs

    def cmll(
        self,
        X: object,
        *,
        groups: int | Sequence[Sequence[str | int]] | None = None,
        split: Literal["random", "contiguous"] = "random",
        method: Method = "gibbs",
        random_state: RandomState = 0,
        **options: Any,
    ) -> Score:
        """Return the conditional marginal log-likelihood of complete rows.

        See :func:`feldspar.evaluation.conditional_marginal_log_likelihood`, which also knows the
        reverse protocol.
        """
        from feldspar.evaluation import conditional_marginal_log_likelihood

        return conditional_marginal_log_likelihood(
            self,
            X,
            groups=groups,
            split=split,
            method=method,
            random_state=random_state,
            **options,
        )

    def sample(
        self,
        n: int,
        evidence: object = None,
        *,
        random_state: RandomState = None,
        burn_in: int = 100,
        thinning: int = 1,
        n_chains: int = 10,
        n_jobs: int | None = None,
    ) -> Table:
        """Draw samples by Gibbs sampling, with what is known held fixed.

        Sample ``i`` comes from chain ``i % n_chains``: neighbours are independent. They come as a
        table; ``sample(...).to_frame("polars")`` is a frame of a library's choice, with labels.

        Parameters
        ----------
        n : int
            How many, from all chains together.
        evidence : mapping or row, optional
            What is known, as in `marginals`.
        random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
            The same integer gives the same samples.
        burn_in : int
            Sweeps that each chain makes before its first sample.
        thinning : int
            Sweeps from one sample of a chain to its next.
        n_chains : int
            Independent chains, started in random states.
        n_jobs : int, optional
            Threads. The result does not depend on it.

        Examples
        --------
        >>> schema = Schema([2, 2], names=["rain", "wet"])
        >>> network = MarkovNetwork.from_terms(schema, [([("rain", 1), ("wet", 1)], 2.0)])
        >>> rainy = network.sample(1000, {"rain": 1}, random_state=0).to_numpy()
        >>> rainy.mean(axis=0).round(1).tolist()
        [1.0, 0.9]
        """
        from feldspar.inference import sample

        return sample(
            self,
            n,
            evidence,
            random_state=random_state,
            burn_in=burn_in,
            thinning=thinning,
            n_chains=n_chains,
            n_jobs=n_jobs,
        )

    def explain(
        self, row: object, target: str | int, value: Label = None, *, against: Label = None
    ) -> Explanation:
        """Return which features push a variable which way, given the rest of a row.

        The log-odds of two values given all the other variables are a sum over the features that
        test the variable and whose other tests hold: exact, whatever the size of the network.

        Parameters
        ----------
        row : mapping or row
            What is known, as in `marginals`: at least the target's Markov blanket. The target's own
            value may be there and is not looked at.
        target : str or int
            The variable to explain, by name or index.
        value : label, optional
            The value to explain; the most probable one if left out.
        against : label, optional
            The value to compare it with; the most probable other one if left out.

        Examples
        --------
        >>> schema = Schema([2, 2], names=["rain", "wet"], labels=[["no", "yes"]] * 2)
        >>> network = MarkovNetwork.from_terms(
        ...     schema, [([("wet", "yes")], -1.0), ([("rain", "yes"), ("wet", "yes")], 3.0)]
        ... )
        >>> network.explain({"rain": "yes"}, "wet")
        wet: yes rather than no, log-odds +2.000 (P(yes | rest) = 0.881)
            +3.000  rain=yes & wet=yes
            -1.000  wet=yes
        """
        from feldspar.explanation import explain

        return explain(self, row, target, value, against=against)

    # Its structure

    def edge_strengths(self) -> EdgeStrengths:
        """Return the edges with their strengths, the strongest first.

        The strength of an edge is the root mean square of the log odds ratios between its two
        variables, over their values and over all states of the other variables (see
        :mod:`feldspar.edges`): the absolute weight of the pair in an Ising network. Where both are
        binary, the mean log odds ratio tells its sign. Exact; takes no inference. Milliseconds for
        pairs; seconds for ten thousands of features with many tests.

        Examples
        --------
        >>> schema = Schema([2, 2], names=["rain", "wet"])
        >>> network = MarkovNetwork.from_terms(schema, [([("rain", 0), ("wet", 1)], -2.0)])
        >>> network.edge_strengths()
        1 edge; strength (RMS log odds ratio), mean log odds ratio:
             2.000    +2.000  rain - wet
        """
        from feldspar.edges import edge_strengths

        return edge_strengths(self)

    def plot(self, *, max_edges: int = 50, labels: bool = True, ax: Axes | None = None) -> Axes:
        """Draw the graph: width by strength, blue for edges that go together, red for opposites.

        Edges with a variable of more than two values have no sign and are grey. Of a large network
        the strongest edges are drawn and the title says how many they are. Needs matplotlib
        (the extra ``plot``).

        Parameters
        ----------
        max_edges : int
            Most edges to draw, by `edge_strengths`.
        labels : bool
            Write the names of the variables.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if left out.
        """
        from feldspar.plotting import draw_graph

        count = core_int("max_edges", max_edges)
        if count < 1:
            raise ValueError(f"max_edges: expected at least 1, got {max_edges}")
        edges = self.edge_strengths()
        return draw_graph(
            [(edge.first, edge.second, edge.strength, edge.sign) for edge in edges[:count]],
            n_edges=len(edges),
            names=self.schema.names,
            labels=labels,
            ax=ax,
        )

    def markov_blanket(self, variable: str | int) -> tuple[str, ...]:
        """Return the names of the variables that share a feature of non-zero weight with it."""
        own = self.schema.index(variable)
        begin, variables, _, _ = self.features._arrays
        feature = np.repeat(np.arange(len(self.features)), np.diff(begin))
        is_near = np.zeros(len(self.features), dtype=bool)
        is_near[feature[variables == own]] = True
        is_near &= self.weights != 0
        blanket = np.unique(variables[is_near[feature]])
        return tuple(self.schema.names[v] for v in blanket if v != own)

    def to_networkx(self, *, strengths: bool = True) -> nx.Graph:
        """Return the graph: an edge joins variables that share a feature of non-zero weight.

        Edges carry ``strength`` and ``sign`` (1, -1, or 0 where a variable is not binary), as of
        `edge_strengths`, ``n_features``, and ``max_abs_weight`` over the features they share. Needs
        networkx (the extra ``graph``).

        Parameters
        ----------
        strengths : bool
            Whether to compute strengths and signs, which takes longer than all the rest where
            there are many thousands of long features.
        """
        try:
            import networkx as nx
        except ImportError as error:
            raise ImportError("to_networkx needs networkx: pip install networkx") from error
        graph = nx.Graph()
        graph.add_nodes_from(
            (name, {"cardinality": cardinality})
            for name, cardinality in zip(self.schema.names, self.schema.cardinalities, strict=True)
        )
        for j in np.flatnonzero(self.weights):
            scope = [self.schema.names[v] for v in self.features.variables(int(j))]
            size = abs(float(self.weights[j]))
            for i, one in enumerate(scope):
                for other in scope[i + 1 :]:
                    edge = graph.get_edge_data(one, other, {"n_features": 0, "max_abs_weight": 0.0})
                    graph.add_edge(
                        one,
                        other,
                        n_features=edge["n_features"] + 1,
                        max_abs_weight=max(edge["max_abs_weight"], size),
                    )
        for edge in self.edge_strengths() if strengths else ():
            graph.edges[edge.first, edge.second].update(strength=edge.strength, sign=edge.sign)
        return graph

    def summary(self) -> str:
        """Return a page of text: sizes, feature lengths, training, and the heaviest features."""
        lines = [
            (
                f"Markov network over {len(self.schema)} variables "
                f"(up to {max(self.schema.cardinalities)} values), {len(self.features)} features, "
                f"{int(np.count_nonzero(self.weights))} with non-zero weight"
            )
        ]
        lengths, counts = np.unique(self.features.lengths, return_counts=True)
        lines += [
            f"  {count} features with {length} test{'s' if length > 1 else ''}"
            for length, count in zip(lengths.tolist(), counts.tolist(), strict=True)
        ]
        if self.training_ is not None:
            lines.append(f"Training: {self.training_.describe()}")
        heaviest = np.argsort(-np.abs(self.weights), kind="stable")[:_SHOWN_FEATURES].tolist()
        if heaviest:
            lines.append("Heaviest features:")
        lines += [f"  {self.weights[j]:+8.3f}  {self.features.describe(j)}" for j in heaviest]
        return "\n".join(lines)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a ``.json``, ``.mn`` or ``.uai`` file.

        The file appears whole or not at all.
        """
        from feldspar.io.models import save_network

        save_network(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MarkovNetwork:
        """Read a network from a ``.json``, ``.mn`` or ``.uai`` file."""
        from feldspar.io.models import load_network

        return load_network(path)
