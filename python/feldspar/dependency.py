"""Dependency networks: a conditional distribution for every variable given all the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar._random import RandomState, core_seed
from feldspar._trees import FlatTrees, Node, Split, Tree, coded_nodes, depth_of, nodes_of, tree_of
from feldspar.conditionals import ConditionalModel, check_weight_left
from feldspar.features import Conjunction, FeatureSet, FlatTests, core_codes, core_dataset, core_int
from feldspar.network import MarkovNetwork
from feldspar.schema import Label, Schema, listing
from feldspar.table import Table

if TYPE_CHECKING:
    import os
    from typing import Self

__all__ = ["DependencyModel", "Orders", "Split", "Tree"]

Orders: TypeAlias = Literal["one", "opposite", "rotations", "opposite-rotations"]
Base: TypeAlias = (
    "Literal['marginals', 'mode', 'uniform'] | Sequence[int] | Mapping[str | int, Label] | "
    "npt.NDArray[np.integer[Any]]"
)
Distributions: TypeAlias = Sequence[npt.ArrayLike] | Mapping[str, npt.ArrayLike]

_SHOWN_VARIABLES = 10


class DependencyModel(ConditionalModel):
    """Conditional distributions ``P(X_v | rest)``, one for each variable.

    The conditionals are decision trees or log-linear (logistic regressions, for instance). They
    were found one by one and need not belong to any joint distribution; `to_markov` finds one that
    comes close, in closed form. Make a network with `from_trees`, `from_terms` or `load`, or let
    :class:`feldspar.DependencyNetwork` learn it.

    Attributes
    ----------
    schema : Schema
    kinds : tuple of {"tree", "log-linear"}
        What each variable's conditional is.
    marginals : tuple of arrays, or None
        The distribution of each variable in the training data, where it is known.
    metadata : dict
        How the network came about; kept in ``.json`` files.

    Examples
    --------
    >>> schema = Schema([2, 2], names=["rain", "wet"])
    >>> network = DependencyModel.from_trees(
    ...     schema,
    ...     {
    ...         "rain": Split("wet", 1, yes=[0.2, 0.8], no=[0.6, 0.4]),
    ...         "wet": Split("rain", 1, yes=[1 / 3, 2 / 3], no=[0.75, 0.25]),
    ...     },
    ... )
    >>> network.conditionals([[1, 1]])["wet"].round(3).tolist()
    [[0.333, 0.667]]
    >>> markov = network.to_markov(base="uniform")
    >>> odds = np.exp(markov.log_potential([[0, 0], [0, 1], [1, 0], [1, 1]]))
    >>> (odds / odds.sum()).round(3).tolist()
    [0.3, 0.1, 0.2, 0.4]
    """

    _metadata: dict[str, Any]

    @property
    def metadata(self) -> dict[str, Any]:
        """How the network came about; kept in ``.json`` files."""
        return self._metadata

    def _fill(
        self,
        schema: Schema,
        core: _core.DependencyNetwork,
        marginals: _core.ProductDistribution | None,
        metadata: Mapping[str, Any] | None,
    ) -> None:
        self._schema = schema
        self._compiled = core
        self._marginals = marginals
        self._metadata = dict(metadata or {})

    @classmethod
    def _of_core(
        cls,
        schema: Schema,
        core: _core.DependencyNetwork,
        *,
        marginals: Distributions | _core.ProductDistribution | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a network of a compiled one; ``marginals`` may be compiled already."""
        network = cls()
        known = None if marginals is None else _core_distribution(schema, marginals)
        network._fill(schema, core, known, metadata)
        return network

    @classmethod
    def from_trees(
        cls,
        schema: Schema,
        trees: Mapping[str | int, Tree],
        *,
        marginals: Distributions | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a network of decision trees.

        Parameters
        ----------
        schema : Schema
        trees : mapping from variable to tree
            For every variable, by name or index, a `Split` or, where the variable depends on no
            other, its probabilities.
        marginals : sequence or mapping of arrays, optional
            The distribution of each variable.
        metadata : mapping, optional
        """
        flat = FlatTrees()
        for variable, tree in trees.items():
            target = schema.index(variable)
            flat.append(target, coded_nodes(schema, target, tree))
        core = core_of(schema, flat, FlatTerms(schema))
        return cls._of_core(schema, core, marginals=marginals, metadata=metadata)

    @classmethod
    def from_terms(
        cls,
        schema: Schema,
        terms: Mapping[str | int, Iterable[tuple[Conjunction, float]]],
        *,
        marginals: Distributions | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a network of log-linear conditionals.

        ``P(X_v = a | rest)`` is proportional to the exponential of the summed weights of the terms
        of ``v`` that hold with ``X_v = a``.

        Parameters
        ----------
        schema : Schema
        terms : mapping from variable to (conjunction, weight) pairs
            For every variable, by name or index; conjunctions as for `FeatureSet`. Each tests the
            variable that it is a term of. Equal ones add up.
        marginals : sequence or mapping of arrays, optional
            The distribution of each variable.
        metadata : mapping, optional

        Examples
        --------
        >>> network = DependencyModel.from_terms(
        ...     Schema([2, 2]), {0: [([(0, 1)], -1.0), ([(0, 1), (1, 1)], 2.0)], 1: []}
        ... )
        >>> network.conditionals([[1, 1]])[0].round(3).tolist()
        [[0.269, 0.731]]
        """
        flat = FlatTerms(schema)
        for variable, pairs in terms.items():
            flat.append(schema.index(variable), pairs)
        core = core_of(schema, FlatTrees(), flat)
        return cls._of_core(schema, core, marginals=marginals, metadata=metadata)

    @property
    def _conditional_core(self) -> _core.DependencyNetwork:
        if "_compiled" not in vars(self):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                "this DependencyNetwork has no conditionals yet; expected one that is "
                "fitted, or made with from_trees, from_terms or load"
            )
        return self._compiled

    @property
    def schema(self) -> Schema:
        """The variables."""
        self._conditional_core  # noqa: B018  (refuses a network without conditionals, in words)
        return self._schema

    @property
    def marginals(self) -> tuple[npt.NDArray[np.float64], ...] | None:
        """The distribution of each variable in the training data, where it is known."""
        self._conditional_core  # noqa: B018
        if self._marginals is None:
            return None
        ends = np.cumsum(self._schema.cardinalities)[:-1]
        arrays = tuple(np.split(self._marginals.probabilities, ends))
        for array in arrays:
            array.setflags(write=False)
        return arrays

    @property
    def kinds(self) -> tuple[Literal["tree", "log-linear"], ...]:
        """What each variable's conditional is."""
        trees = set(self._conditional_core.flatten()[0][0].tolist())
        return tuple("tree" if v in trees else "log-linear" for v in range(len(self.schema)))

    def __repr__(self) -> str:
        """Return the sizes."""
        if "_compiled" not in vars(self):
            return "DependencyNetwork(no conditionals)"
        kinds = self.kinds
        counts = [(kinds.count("tree"), "tree"), (kinds.count("log-linear"), "log-linear")]
        parts = [f"{count} {kind}" for count, kind in counts if count]
        return f"DependencyNetwork({len(self.schema)} variables: {', '.join(parts)})"

    def __getstate__(self) -> dict[str, Any]:
        """Return plain parts: what is compiled is rebuilt from them."""
        state = dict(vars(self))
        if "_compiled" in state:
            state["_compiled"] = self._compiled.flatten()
            state["_marginals"] = self._marginals and self._marginals.probabilities
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Rebuild what is compiled."""
        vars(self).update(state)
        if "_compiled" in state:
            cardinalities, marginals = list(self._schema.cardinalities), state["_marginals"]
            self._compiled = _core.DependencyNetwork(cardinalities, *state["_compiled"])
            if marginals is not None:
                self._marginals = _core.ProductDistribution(cardinalities, marginals)

    def with_marginals(self, X: object, *, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Return the same network with the marginals of some data, the training data by preference.

        Examples
        --------
        >>> coins = DependencyModel.from_trees(Schema([2]), {0: [0.5, 0.5]})
        >>> coins.with_marginals([[0], [1], [1], [1]]).marginals
        (array([0.25, 0.75]),)
        """
        table = Table.of(X, schema=self.schema, sample_weight=sample_weight)
        check_weight_left("X", table)
        marginals = _core.ProductDistribution.marginals(core_dataset(table))
        core = self._conditional_core
        return self._of_core(self.schema, core, marginals=marginals, metadata=self.metadata)

    # Its parts

    def tree(self, variable: str | int) -> Tree:
        """Return a variable's decision tree: a `Split`, or its probabilities."""
        v = self.schema.index(variable)
        nodes = self._trees().get(v)
        if nodes is None:
            raise ValueError(
                f"the conditional of {self.schema.names[v]!r} is log-linear; expected a tree: "
                "terms gives any conditional as weighted conjunctions"
            )
        return tree_of(self.schema, nodes)

    def terms(self, variable: str | int) -> MarkovNetwork:
        """Return a variable's conditional, of either kind, as weighted conjunctions.

        A leaf of a tree becomes one for each value of the variable: the tests on its path and that
        value, with the logarithm of the probability as weight.
        """
        core, weights = self._conditional_core.conditional_terms(self.schema.index(variable))
        return MarkovNetwork(FeatureSet._of_core(self.schema, core), weights)

    def markov_blanket(self, variable: str | int) -> tuple[str, ...]:
        """Return the names of the variables that a variable's conditional looks at.

        Unlike in a Markov network this need not be mutual.
        """
        parents = self._conditional_core.parents(self.schema.index(variable))
        return tuple(self.schema.names[v] for v in parents)

    def summary(self) -> str:
        """Return a page of text: the kinds of conditionals, their sizes, and who looks at whom."""
        schema = self.schema
        most = max(schema.cardinalities)
        lines = [f"Dependency network over {len(schema)} variables (up to {most} values)"]
        trees = self._trees()
        if trees:
            n_leaves = sum((len(nodes) + 1) // 2 for nodes in trees.values())
            deepest = max(map(depth_of, trees.values()))
            lines.append(f"  {len(trees)} trees with {n_leaves} leaves, depth up to {deepest}")
        targets, _, _, weights = self._conditional_core.flatten()[1]
        if len(targets):
            lines.append(f"  {len(targets)} log-linear conditionals with {len(weights)} terms")
        blankets = {name: self.markov_blanket(name) for name in schema.names}
        longest = sorted(schema.names, key=lambda name: -len(blankets[name]))[:_SHOWN_VARIABLES]
        lines.append("Largest Markov blankets:")
        lines += [
            f"  {name} ({len(blankets[name])}): {listing(blankets[name]) or 'none'}"
            for name in longest
        ]
        return "\n".join(lines)

    def _trees(self) -> dict[int, list[Node]]:
        return nodes_of(self._conditional_core.flatten()[0], self.schema.cardinalities)

    # What it is good for

    def sample(
        self,
        n: int,
        *,
        random_state: RandomState = None,
        burn_in: int = 100,
        thinning: int = 1,
        n_chains: int = 10,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> Table:
        """Draw samples by Gibbs sampling in the order of the variables.

        Its stationary distribution is that of the network: the joint distribution, if the
        conditionals belong to one. Samples come chain by chain, those of one chain in the order in
        which they were drawn.

        Parameters
        ----------
        n : int
            How many, from all chains together.
        random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
            The same integer gives the same samples.
        burn_in : int
            Sweeps over all variables that each chain makes before its first sample.
        thinning : int
            Sweeps from one sample of a chain to its next.
        n_chains : int
            Independent chains, started in states drawn uniformly.
        n_jobs : int, optional
            Threads. The result does not depend on it.
        verbose : bool
            Show a progress bar on a terminal.

        Examples
        --------
        >>> coins = DependencyModel.from_trees(Schema([2]), {0: [0.1, 0.9]})
        >>> float(coins.sample(1000, random_state=0).to_numpy().mean().round(1))
        0.9
        """
        schema = self.schema
        options = _core.DependencyGibbsOptions()
        options.n_samples = core_int("n", n)
        if options.n_samples < 1:  # the core would call it n_samples
            raise ValueError(f"n must be at least 1, got {n}")
        options.burn_in = core_int("burn_in", burn_in)
        options.thinning = core_int("thinning", thinning)
        options.n_chains = core_int("n_chains", n_chains)
        options.seed = core_seed(random_state)
        with progress_bar("sampling", shown=verbose) as progress:
            codes = self._conditional_core.sample(options, resolve_jobs(n_jobs), progress)
        return Table._of_parts(codes, schema, None)

    def to_markov(
        self,
        *,
        orders: Orders = "opposite-rotations",
        base: Base = "marginals",
        order: Sequence[str | int] | None = None,
        marginals: Distributions | None = None,
    ) -> MarkovNetwork:
        """Convert to a Markov network in closed form (DN2MN, Lowd 2012).

        The probability of a state, relative to that of a base state, is a product of conditionals:
        one variable after the other is changed to its base value. If the conditionals belong to a
        joint distribution, it comes out, for any order of the variables and any base state. If
        not, the result is the geometric mean over the orders and base states asked for; the
        defaults are the most accurate ones in the paper.

        Parameters
        ----------
        orders : {"one", "opposite", "rotations", "opposite-rotations"}
            The base order alone, also its reverse, or all rotations of one or both.
        base : {"marginals", "mode", "uniform"} or a state
            The base states: all of them, weighted by the product of the variables' marginals or
            all alike; or one, which is the state of every variable's most frequent value, or a
            given row of codes or mapping from variable to label.
        order : sequence of variables, optional
            The base order; that of the schema if left out.
        marginals : sequence or mapping of arrays, optional
            The distribution of each variable, for ``base="marginals"`` and ``"mode"``; those that
            the network remembers if left out.

        Returns
        -------
        MarkovNetwork
            Its features are parts of the conjunctions in the conditionals (see `terms`).
        """
        schema = self.schema
        distribution = self._base_distribution(base, marginals)
        positions = [] if order is None else [schema.index(v) for v in order]
        if order is not None and sorted(positions) != list(range(len(schema))):
            raise ValueError(
                f"order: expected each of the {len(schema)} variables once, got {listing(order)}"
            )
        core, weights = self._conditional_core.to_markov(distribution, orders, positions)
        described = base if isinstance(base, str) else "state"
        metadata = {**self.metadata, "method": "dn2mn", "orders": orders, "base": described}
        features = FeatureSet._of_core(schema, core)
        return MarkovNetwork(features, weights, metadata=metadata)

    def _base_distribution(
        self, base: Base, marginals: Distributions | None
    ) -> _core.ProductDistribution:
        schema = self.schema
        cardinalities = list(schema.cardinalities)
        if not isinstance(base, str):
            return _core.ProductDistribution.point(cardinalities, _state(schema, base))
        if base == "uniform":
            return _core.ProductDistribution.uniform(cardinalities)
        if base not in ("marginals", "mode"):
            raise ValueError(
                f"base: expected 'marginals', 'mode', 'uniform' or a state, got {base!r}"
            )
        known = self._marginals if marginals is None else _core_distribution(schema, marginals)
        if known is None:
            raise ValueError(
                f"base={base!r} needs the marginals of the training data, which this network does "
                "not know: give marginals=, use with_marginals(X), or base='uniform'"
            )
        if base == "mode":
            return _core.ProductDistribution.point(cardinalities, known.mode())
        return known

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a ``.json`` or ``.dn`` file.

        The file appears whole or not at all. Only ``.json`` files keep everything: names, labels,
        marginals, metadata, and what is known of the inner nodes of trees.
        """
        from feldspar.io.dependency_models import save_dependency_network

        save_dependency_network(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a network from a ``.json`` or ``.dn`` file."""
        from feldspar.io.dependency_models import load_dependency_network

        model = load_dependency_network(path)
        return cls._of_core(
            model.schema,
            model._conditional_core,
            marginals=model._marginals,
            metadata=model.metadata,
        )


class FlatTerms:
    """Log-linear conditionals on their way into the flat arrays of the core."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._targets: list[int] = []
        self._begin = [0]
        self._tests = FlatTests(schema)
        self._weights: list[float] = []

    def append(self, target: int, terms: Iterable[tuple[Conjunction, float]]) -> None:
        """Add the terms of a variable."""
        for place, (conjunction, weight) in enumerate(terms):
            try:
                self._tests.append(conjunction)
            except (TypeError, ValueError) as error:
                name = self._schema.names[target]
                raise type(error)(f"terms of {name!r}[{place}]: {error}") from error
            self._weights.append(weight)
        self._targets.append(target)
        self._begin.append(len(self._weights))

    def arrays(self) -> _core.FlatTerms:
        """Return what was added."""
        return (
            np.asarray(self._targets, dtype=np.uint32),
            np.asarray(self._begin, dtype=np.int64),
            self._tests.arrays(),
            np.asarray(self._weights, dtype=np.float64),
        )


def core_of(schema: Schema, trees: FlatTrees, terms: FlatTerms) -> _core.DependencyNetwork:
    """Return the compiled network of trees and terms that together name each variable once."""
    return _core.DependencyNetwork(list(schema.cardinalities), trees.arrays(), terms.arrays())


def _core_distribution(
    schema: Schema, distributions: Distributions | _core.ProductDistribution
) -> _core.ProductDistribution:
    """Return the compiled form of one distribution for each variable."""
    if isinstance(distributions, _core.ProductDistribution):
        return distributions
    if isinstance(distributions, Mapping):
        if set(distributions) != set(schema.names):
            raise ValueError(
                f"marginals: expected one for each of {listing(schema.names)}, "
                f"got {listing(list(distributions))}"
            )
        given: list[npt.ArrayLike] = [distributions[name] for name in schema.names]
    else:
        given = list(distributions)
    if len(given) != len(schema):
        raise ValueError(
            f"marginals: expected {len(schema)} distributions, one for each variable, "
            f"got {len(given)}"
        )
    arrays = [np.array(p, dtype=np.float64) for p in given]
    for name, cardinality, p in zip(schema.names, schema.cardinalities, arrays, strict=True):
        if p.shape != (cardinality,):
            raise ValueError(
                f"marginals of {name!r}: expected {cardinality} probabilities, "
                f"got an array of shape {p.shape}"
            )
    return _core.ProductDistribution(list(schema.cardinalities), np.concatenate(arrays))


def _state(schema: Schema, base: Any) -> npt.NDArray[np.int32]:
    """Return the codes of a complete state."""
    if not isinstance(base, Iterable):
        raise TypeError(
            "base: expected 'marginals', 'mode', 'uniform' or a value of each variable, got "
            f"{base!r}"
        )
    if not isinstance(base, Mapping):
        row: npt.NDArray[np.int32] = core_codes(Table.of([list(base)], schema=schema))[0]
        return row
    codes = {schema.index(v): schema.code(v, value) for v, value in base.items()}
    missing = [name for v, name in enumerate(schema.names) if v not in codes]
    if missing:
        raise ValueError(f"base: expected a value of each variable, none of {listing(missing)}")
    return np.array([codes[v] for v in range(len(schema))], dtype=np.int32)
