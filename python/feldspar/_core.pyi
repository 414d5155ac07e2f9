"""The compiled core of feldspar; use the package, not this module.

The strict layer: arrays must be C-contiguous and of exactly the type given here, and nothing has a
default. ``n_threads`` is a number of threads, 0 for as many as OpenMP would use.
"""

import enum
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

__version__: str

FloatArray: TypeAlias = npt.NDArray[np.float64]
CodeArray: TypeAlias = npt.NDArray[np.int32]  # rows x variables
OffsetArray: TypeAlias = npt.NDArray[np.int64]
VariableArray: TypeAlias = npt.NDArray[np.uint32]
ValueArray: TypeAlias = npt.NDArray[np.uint16]
# Conjunction i has the tests begin[i] ... begin[i + 1]; test t names variables[t] and admits
# values[value_begin[t]] ... values[value_begin[t + 1]]: (begin, variables, value_begin, values).
FlatConjunctions: TypeAlias = tuple[OffsetArray, VariableArray, OffsetArray, ValueArray]
Conversion: TypeAlias = Literal["default", "prune", "prune-10", "prune-5", "nonzero"]
# Tree i predicts targets[i] and has the nodes node_begin[i] ... node_begin[i + 1] in preorder:
# (targets, node_begin, variables, values, yes, no, gains, log_probabilities). Children count from
# the tree's root and are 0 at a leaf; log_probabilities has, for each node, one for each value.
FlatTrees: TypeAlias = tuple[
    VariableArray,
    OffsetArray,
    VariableArray,
    ValueArray,
    VariableArray,
    VariableArray,
    FloatArray,
    FloatArray,
]
# Log-linear conditional i predicts targets[i] and has the terms begin[i] ... begin[i + 1]:
# (targets, begin, conjunctions, weights).
FlatTerms: TypeAlias = tuple[VariableArray, OffsetArray, FlatConjunctions, FloatArray]
Status: TypeAlias = Literal[
    "converged", "stalled", "max_iterations", "max_evaluations", "time_limit", "interrupted"
]
GraftingStop: TypeAlias = Literal[
    "optimum", "max_features", "inference", "time_limit", "interrupted"
]
SamplingStatus: TypeAlias = Literal["finished", "time_limit", "interrupted"]
RowStatus: TypeAlias = Literal["not_done", "time_limit", "max_iterations", "converged"]
Schedule: TypeAlias = Literal["synchronous", "residual"]
MostProbableMethod: TypeAlias = Literal["automatic", "junction_tree", "max_product", "icm"]
# stage, steps done, steps in all (0: unknown), figure of merit so far
Progress: TypeAlias = Callable[[str, float, float, float], None]

def parse_integers(text: bytes, delimiter: str) -> tuple[CodeArray, FloatArray | None]: ...

class Dataset:
    @staticmethod
    def merge(
        cardinalities: list[int], codes: CodeArray, weights: FloatArray | None
    ) -> Dataset: ...

class FeatureSet:
    @staticmethod
    def build(
        cardinalities: list[int],
        begin: OffsetArray,
        variables: VariableArray,
        value_begin: OffsetArray,
        values: ValueArray,
    ) -> tuple[FeatureSet, OffsetArray]: ...
    @staticmethod
    def conjunctions(
        data: Dataset, order: int, min_support: float, supported_from: int
    ) -> FeatureSet: ...
    def flatten(self) -> FlatConjunctions: ...
    def __len__(self) -> int: ...

class MarkovNetwork:
    def __init__(self, features: FeatureSet, weights: FloatArray) -> None: ...
    def log_conditionals(self, codes: CodeArray, n_threads: int) -> FloatArray: ...
    def observed_log_conditionals(self, codes: CodeArray, n_threads: int) -> FloatArray: ...
    def log_potentials(self, codes: CodeArray, n_threads: int) -> FloatArray: ...

class ProductDistribution:
    def __init__(self, cardinalities: list[int], probabilities: FloatArray) -> None: ...
    @staticmethod
    def uniform(cardinalities: list[int]) -> ProductDistribution: ...
    @staticmethod
    def point(cardinalities: list[int], state: CodeArray) -> ProductDistribution: ...
    @staticmethod
    def marginals(data: Dataset) -> ProductDistribution: ...
    @property
    def probabilities(self) -> FloatArray: ...
    def mode(self) -> CodeArray: ...

class DependencyGibbsOptions:
    def __init__(self) -> None: ...
    n_samples: int
    burn_in: int
    thinning: int
    n_chains: int
    seed: int

class DependencyNetwork:
    def __init__(self, cardinalities: list[int], trees: FlatTrees, terms: FlatTerms) -> None: ...
    def flatten(self) -> tuple[FlatTrees, FlatTerms]: ...
    def log_conditionals(self, codes: CodeArray, n_threads: int) -> FloatArray: ...
    def observed_log_conditionals(self, codes: CodeArray, n_threads: int) -> FloatArray: ...
    def conditional_terms(self, variable: int) -> tuple[FeatureSet, FloatArray]: ...
    def parents(self, variable: int) -> list[int]: ...
    def sample(
        self, options: DependencyGibbsOptions, n_threads: int, progress: Progress | None
    ) -> CodeArray: ...
    def to_markov(
        self, base: ProductDistribution, orders: str, base_order: list[int]
    ) -> tuple[FeatureSet, FloatArray]: ...

class Marginals:
    @property
    def probabilities(self) -> FloatArray: ...
    @property
    def log_partitions(self) -> FloatArray: ...
    @property
    def log_partition_kind(self) -> Literal["exact", "bethe", "lower_bound"]: ...
    @property
    def statuses(self) -> list[RowStatus]: ...
    @property
    def iterations(self) -> npt.NDArray[np.int32]: ...
    @property
    def residuals(self) -> FloatArray: ...

class MostProbable:
    @property
    def states(self) -> CodeArray: ...
    @property
    def log_potentials(self) -> FloatArray: ...
    @property
    def methods(self) -> list[MostProbableMethod]: ...
    @property
    def proven(self) -> list[bool]: ...
    @property
    def statuses(self) -> list[RowStatus]: ...
    @property
    def iterations(self) -> npt.NDArray[np.int32]: ...

class EnumerationOptions:
    def __init__(self) -> None: ...
    max_states: float

class JunctionTreeOptions:
    def __init__(self) -> None: ...
    max_table_entries: float
    max_seconds: float

class BeliefPropagationOptions:
    def __init__(self) -> None: ...
    schedule: Schedule
    damping: float
    max_iterations: int
    tolerance: float
    max_seconds: float

class MeanFieldOptions:
    def __init__(self) -> None: ...
    max_iterations: int
    tolerance: float
    n_starts: int
    seed: int
    max_seconds: float

class MostProbableOptions:
    def __init__(self) -> None: ...
    method: MostProbableMethod
    max_table_entries: float
    schedule: Schedule
    damping: float
    max_iterations: int
    tolerance: float
    n_starts: int
    seed: int
    max_seconds: float

def enumerate_marginals(
    network: MarkovNetwork,
    codes: CodeArray,
    log_likelihoods: FloatArray | None,
    options: EnumerationOptions,
    n_threads: int,
    progress: Progress | None,
) -> Marginals: ...
def junction_tree_marginals(
    network: MarkovNetwork,
    codes: CodeArray,
    log_likelihoods: FloatArray | None,
    options: JunctionTreeOptions,
    n_threads: int,
    progress: Progress | None,
) -> Marginals: ...
def belief_propagation_marginals(
    network: MarkovNetwork,
    codes: CodeArray,
    log_likelihoods: FloatArray | None,
    options: BeliefPropagationOptions,
    n_threads: int,
    progress: Progress | None,
) -> Marginals: ...
def mean_field_marginals(
    network: MarkovNetwork,
    codes: CodeArray,
    log_likelihoods: FloatArray | None,
    options: MeanFieldOptions,
    n_threads: int,
    progress: Progress | None,
) -> Marginals: ...
def most_probable(
    network: MarkovNetwork,
    codes: CodeArray,
    log_likelihoods: FloatArray | None,
    options: MostProbableOptions,
    n_threads: int,
    progress: Progress | None,
) -> MostProbable: ...

class EliminationCost:
    @property
    def width(self) -> int: ...
    @property
    def table_entries(self) -> float: ...
    @property
    def complete(self) -> bool: ...

def elimination_costs(
    network: MarkovNetwork, codes: CodeArray, max_table_entries: float, n_threads: int
) -> list[EliminationCost]: ...
def junction_tree_samples(
    network: MarkovNetwork,
    codes: CodeArray,
    log_likelihoods: FloatArray | None,
    n_samples: int,
    seed: int,
    options: JunctionTreeOptions,
    n_threads: int,
    progress: Progress | None,
) -> npt.NDArray[np.int32]: ...

class OptimizeOptions:
    def __init__(self) -> None: ...
    max_iterations: int
    max_evaluations: int
    gradient_tolerance: float
    relative_decrease: float
    memory: int
    max_seconds: float
    value_noise: float

class OptimizeResult:
    @property
    def x(self) -> FloatArray: ...
    @property
    def value(self) -> float: ...
    @property
    def gradient_norm(self) -> float: ...
    @property
    def iterations(self) -> int: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def status(self) -> Status: ...
    @property
    def message(self) -> str: ...
    @property
    def history(self) -> npt.NDArray[np.void]: ...

def minimize(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    x0: FloatArray,
    l1: FloatArray,
    inverse_diagonal: FloatArray,
    options: OptimizeOptions,
    callback: Callable[[int, float], object] | None,
) -> OptimizeResult: ...

class Trees:
    @staticmethod
    def grow(
        data: Dataset,
        kappa: float,
        min_leaf_weight: float,
        leaf_prior: float,
        n_threads: int,
        progress: Progress | None,
    ) -> Trees: ...
    def pruned(self, kappa: float) -> Trees: ...
    def features(self, conversion: Conversion, zero_values: ValueArray | None) -> FeatureSet: ...
    def log_likelihoods(
        self,
        codes: CodeArray,
        weights: FloatArray | None,
        kappas: FloatArray,
        n_threads: int,
    ) -> FloatArray: ...
    def to_dependency_network(self) -> DependencyNetwork: ...
    @property
    def n_leaves(self) -> int: ...

class IndexStatistics:
    @property
    def n_contexts(self) -> int: ...
    @property
    def n_wide_contexts(self) -> int: ...
    @property
    def n_wide_variables(self) -> int: ...
    @property
    def n_wide_lookups(self) -> int: ...
    @property
    def n_tiles(self) -> int: ...
    @property
    def n_narrow_lookups(self) -> int: ...
    @property
    def n_narrow_patterns(self) -> int: ...
    @property
    def bytes(self) -> int: ...

class PseudoLikelihood:
    def __init__(
        self, features: FeatureSet, data: Dataset, for_scoring: bool, n_threads: int
    ) -> None: ...
    @staticmethod
    def by_variable(
        features: FeatureSet, data_of_variable: list[Dataset | None], n_threads: int
    ) -> PseudoLikelihood: ...
    def value_and_gradient(
        self, weights: FloatArray, n_threads: int
    ) -> tuple[float, FloatArray]: ...
    @property
    def total_weight(self) -> float: ...
    @property
    def statistics(self) -> IndexStatistics: ...

class Penalty:
    def __init__(self, prior_sd: float, l1: float) -> None: ...
    @property
    def prior_sd(self) -> float: ...
    @property
    def l1(self) -> float: ...

class FitWeightsOptions:
    def __init__(self) -> None: ...
    max_iterations: int
    tolerance: float
    memory: int
    max_seconds: float

class WeightFit:
    @property
    def penalty(self) -> Penalty: ...
    @property
    def weights(self) -> FloatArray: ...
    @property
    def objective(self) -> float: ...
    @property
    def gradient_norm(self) -> float: ...
    @property
    def status(self) -> Status: ...
    @property
    def message(self) -> str: ...
    @property
    def iterations(self) -> int: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def history(self) -> list[tuple[int, float, float]]: ...

class WeightRun:
    def __init__(
        self, likelihood: PseudoLikelihood, penalty: Penalty, initial: FloatArray | None
    ) -> None: ...
    def advance(
        self, options: FitWeightsOptions, n_threads: int, progress: Progress | None
    ) -> WeightFit: ...

def fit_weight_path(
    likelihood: PseudoLikelihood,
    penalties: list[Penalty],
    initial: FloatArray | None,
    options: FitWeightsOptions,
    n_threads: int,
    progress: Progress | None,
) -> list[WeightFit]: ...

class ExpectationOptions:
    def __init__(self) -> None: ...
    method: str
    max_table_entries: float
    automatic_table_entries: float
    bp: BeliefPropagationOptions
    n_states: int
    seed: int

class Likelihood:
    def __init__(
        self, features: FeatureSet, data: Dataset, options: ExpectationOptions, n_threads: int
    ) -> None: ...
    def value_and_gradient(
        self, weights: FloatArray, n_threads: int
    ) -> tuple[float, FloatArray]: ...
    @property
    def total_weight(self) -> float: ...
    @property
    def method(self) -> str: ...
    @property
    def n_inferences(self) -> int: ...
    @property
    def n_failures(self) -> int: ...

def fit_likelihood_path(
    likelihood: Likelihood,
    penalties: list[Penalty],
    initial: FloatArray | None,
    options: FitWeightsOptions,
    n_threads: int,
    progress: Progress | None,
) -> list[WeightFit]: ...

class GraftingOptions:
    def __init__(self) -> None: ...
    scheme: str
    n_add: int
    anneal: float
    min_gradient: float
    max_features: int
    weights: FitWeightsOptions
    inference: ExpectationOptions

class GraftingFit:
    @property
    def features(self) -> FeatureSet: ...
    @property
    def fit(self) -> WeightFit: ...
    @property
    def stop(self) -> GraftingStop: ...
    @property
    def message(self) -> str: ...
    @property
    def threshold(self) -> float: ...
    @property
    def largest_gradient(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def n_inactive(self) -> int: ...
    @property
    def method(self) -> str: ...
    @property
    def n_rounds(self) -> int: ...
    @property
    def n_inferences(self) -> int: ...

# Each with the place of its penalty.
def learn_by_grafting(
    data: Dataset,
    pool: FeatureSet,
    penalties: list[Penalty],
    options: GraftingOptions,
    n_threads: int,
    progress: Progress | None,
) -> list[tuple[int, GraftingFit]]: ...

class DistanceKind(enum.Enum):
    value_difference = ...
    hamming = ...

class BottomUpOptions:
    def __init__(self) -> None: ...
    alpha: float
    neighbors: list[float]
    distance: DistanceKind
    power: int
    relearn_every: int
    prior_sd: float

class BottomUpState:
    def __init__(
        self,
        features: FeatureSet,
        weights: FloatArray,
        n_fixed: int,
        next: int,
        changed: bool,
        round: int,
        n_changes: int,
    ) -> None: ...
    @staticmethod
    def start(features: FeatureSet, weights: FloatArray | None) -> BottomUpState: ...
    @property
    def features(self) -> FeatureSet: ...
    @property
    def weights(self) -> FloatArray: ...
    @property
    def n_fixed(self) -> int: ...
    @property
    def next(self) -> int: ...
    @property
    def changed(self) -> bool: ...
    @property
    def round(self) -> int: ...
    @property
    def n_changes(self) -> int: ...

SearchStatus: TypeAlias = Literal["advanced", "finished", "time_limit", "interrupted"]

class BottomUpSearch:
    def __init__(
        self, data: Dataset, start: BottomUpState, options: BottomUpOptions, n_threads: int
    ) -> None: ...
    def learn_weights(
        self, max_sweeps: int, max_seconds: float, n_threads: int, progress: Progress | None
    ) -> SearchStatus: ...
    def advance(
        self, max_seconds: float, n_threads: int, progress: Progress | None
    ) -> SearchStatus: ...
    def state(self) -> BottomUpState: ...
    def score(self) -> float: ...

def example_features(data: Dataset, positive: bool) -> FeatureSet: ...

class TopDownOptions:
    def __init__(self) -> None: ...
    alpha: float
    additions: int
    positive: bool
    prior_sd: float
    weights: FitWeightsOptions

class TopDownSearch:
    def __init__(self, data: Dataset, options: TopDownOptions) -> None: ...
    def advance(
        self, max_seconds: float, n_threads: int, progress: Progress | None
    ) -> SearchStatus: ...
    @property
    def features(self) -> FeatureSet: ...
    @property
    def weights(self) -> FloatArray: ...
    @property
    def n_rounds(self) -> int: ...

# By size, then by threshold.
def generate_features(
    data: Dataset,
    positive: bool,
    sizes: list[int],
    thresholds: list[int],
    seed: int,
    progress: Progress | None,
) -> list[list[FeatureSet]]: ...

# BUSL: the blanket of each variable; the conjunctions of a graph's cliques; what to add to a
# network (numbers of candidates, weights, gains).
def grow_shrink(
    data: Dataset,
    alpha: float,
    test: str,
    min_weight_per_degree: float,
    max_blanket: int,
    n_threads: int,
    progress: Progress | None,
) -> list[list[int]]: ...
def consistent_edges(
    blankets: list[list[int]], rule: str
) -> tuple[VariableArray, VariableArray]: ...
def clique_conjunctions(
    data: Dataset,
    first: VariableArray,
    second: VariableArray,
    max_length: int,
    min_support: float,
) -> FeatureSet: ...
def best_additions(
    data: Dataset,
    network: MarkovNetwork,
    candidates: FeatureSet,
    prior_sd: float,
    min_gain: float,
    most: int,
    n_threads: int,
    progress: Progress | None,
) -> tuple[OffsetArray, FloatArray, FloatArray]: ...

class ChainOptions:
    def __init__(self) -> None: ...
    n_chains: int
    burn_in: int
    n_samples: int
    thinning: int
    rao_blackwell: bool
    standard_errors: bool
    seed: int
    max_seconds: float

class GibbsOptions:
    def __init__(self) -> None: ...
    chains: ChainOptions
    max_table_bits: int

class SampleSatOptions:
    def __init__(self) -> None: ...
    walk_probability: float
    walk_noise: float
    temperature: float
    max_moves: int
    max_enumerated: int

class McSatOptions:
    def __init__(self) -> None: ...
    chains: ChainOptions
    sat: SampleSatOptions

class SampleOptions:
    def __init__(self) -> None: ...
    n_chains: int
    burn_in: int
    thinning: int
    seed: int
    max_table_bits: int

class SampledMarginals:
    @property
    def probabilities(self) -> FloatArray: ...
    @property
    def standard_errors(self) -> FloatArray | None: ...
    @property
    def r_hat(self) -> FloatArray: ...
    @property
    def effective_size(self) -> FloatArray: ...
    @property
    def n_samples(self) -> OffsetArray: ...
    @property
    def is_done(self) -> npt.NDArray[np.uint8]: ...
    @property
    def status(self) -> SamplingStatus: ...
    @property
    def seconds(self) -> float: ...

# In `codes` -1 is unknown; `log_likelihoods` are soft evidence, rows x values.
def gibbs_marginals(
    network: MarkovNetwork,
    codes: CodeArray,
    log_likelihoods: FloatArray | None,
    options: GibbsOptions,
    n_threads: int,
    progress: Progress | None,
) -> SampledMarginals: ...
def mcsat_marginals(
    network: MarkovNetwork,
    codes: CodeArray,
    log_likelihoods: FloatArray | None,
    options: McSatOptions,
    n_threads: int,
    progress: Progress | None,
) -> SampledMarginals: ...

# Of one row of evidence, as is annealed_log_partition.
def sample(
    network: MarkovNetwork,
    codes: CodeArray,
    log_likelihoods: FloatArray | None,
    n: int,
    options: SampleOptions,
    n_threads: int,
) -> CodeArray: ...

class AnnealingBase(enum.Enum):
    independent = 0
    uniform = 1

class AnnealingSchedule(enum.Enum):
    linear = 0
    geometric = 1
    sigmoid = 2

class AnnealingOptions:
    def __init__(self) -> None: ...
    n_chains: int
    n_temperatures: int
    n_sweeps: int
    base: AnnealingBase
    schedule: AnnealingSchedule
    reverse: bool
    reverse_burn_in: int
    seed: int
    max_seconds: float

class AnnealedEstimate:
    @property
    def log_partition(self) -> float: ...
    @property
    def standard_error(self) -> float: ...
    @property
    def effective_size(self) -> float: ...
    @property
    def n_chains(self) -> int: ...

class AnnealedPartition:
    @property
    def forward(self) -> AnnealedEstimate: ...
    @property
    def reverse(self) -> AnnealedEstimate: ...
    @property
    def status(self) -> SamplingStatus: ...
    @property
    def seconds(self) -> float: ...

def annealed_log_partition(
    network: MarkovNetwork,
    codes: CodeArray,
    log_likelihoods: FloatArray | None,
    options: AnnealingOptions,
    n_threads: int,
) -> AnnealedPartition: ...

class L1Options:
    def __init__(self) -> None: ...
    solver: Literal["coordinate", "owlqn"]
    tolerance: float
    max_iterations: int
    penalize_intercept: bool

class L1Path:
    @staticmethod
    def fit(
        data: Dataset,
        c_values: FloatArray,
        options: L1Options,
        n_threads: int,
        progress: Progress | None,
        before: L1Path | None = None,
    ) -> L1Path: ...
    @staticmethod
    def default_c_values() -> FloatArray: ...
    @property
    def n_values(self) -> int: ...
    @property
    def c_values(self) -> FloatArray: ...
    # by value of the target
    def intercepts(self, target: int, c_index: int) -> FloatArray: ...
    # the non-zero ones: predictors, their values, values of the target, weights
    def weights(
        self, target: int, c_index: int
    ) -> tuple[VariableArray, ValueArray, ValueArray, FloatArray]: ...
    def objective(self, target: int, c_index: int) -> float: ...
    def status(self, target: int, c_index: int) -> Status: ...
    # targets x C
    @property
    def objectives(self) -> FloatArray: ...
    @property
    def training_log_likelihoods(self) -> FloatArray: ...
    @property
    def violations(self) -> FloatArray: ...
    @property
    def seconds(self) -> FloatArray: ...
    @property
    def n_nonzeros(self) -> OffsetArray: ...
    @property
    def iterations(self) -> OffsetArray: ...
    def ebic(self, gamma: float) -> FloatArray: ...
    # a choice is a c_index for each target
    def choose_by_ebic(self, gamma: float) -> list[int]: ...
    def edges(
        self, choice: list[int], rule: Literal["and", "or"]
    ) -> tuple[VariableArray, VariableArray]: ...
    def features(self, c_index: int, rule: Literal["and", "or"]) -> FeatureSet: ...
    def features_by_choice(self, choice: list[int], rule: Literal["and", "or"]) -> FeatureSet: ...
    def to_dependency_network(self, choice: list[int]) -> DependencyNetwork: ...
    # by C, summed over rows and variables
    def log_likelihoods(
        self, codes: CodeArray, weights: FloatArray | None, n_threads: int
    ) -> FloatArray: ...
