"""The compiled core of feldspar; use the package, not this module.

The strict layer: arrays must be C-contiguous and of exactly the type given here, and nothing has a
default. ``n_threads`` is a number of threads, 0 for as many as OpenMP would use.
"""

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
Status: TypeAlias = Literal[
    "converged", "stalled", "max_iterations", "max_evaluations", "time_limit", "interrupted"
]
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
    def __init__(self, features: FeatureSet, data: Dataset, n_threads: int) -> None: ...
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

def fit_weight_path(
    likelihood: PseudoLikelihood,
    penalties: list[Penalty],
    initial: FloatArray | None,
    options: FitWeightsOptions,
    n_threads: int,
    progress: Progress | None,
) -> list[WeightFit]: ...
