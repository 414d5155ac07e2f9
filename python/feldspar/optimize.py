"""Minimise smooth functions, with an L1 penalty if asked: the optimizers, usable on their own.

Without a penalty the method is L-BFGS with a strong Wolfe line search; with one it is OWL-QN, which
gives exact zeros. Both take a diagonal preconditioner.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar import _core

__all__ = ["OptimizeResult", "Status", "minimize"]

FloatArray: TypeAlias = npt.NDArray[np.float64]
Objective: TypeAlias = Callable[[FloatArray], tuple[float, npt.ArrayLike]]
Callback: TypeAlias = Callable[[int, float], object]
Status: TypeAlias = Literal[
    "converged", "stalled", "max_iterations", "max_evaluations", "time_limit", "interrupted"
]


@dataclass(frozen=True, eq=False)
class OptimizeResult:
    """Where a minimisation ended, and why.

    Attributes
    ----------
    x : ndarray of shape (n,)
        The best point seen, read-only.
    value : float
        The function at `x`, the L1 term included.
    gradient_norm : float
        The largest absolute component of the gradient at `x`; with an L1 term, of the
        pseudo-gradient, which is zero exactly at an optimum.
    iterations, evaluations : int
        Steps taken and calls of the function.
    seconds : float
        Wall time.
    status : str
        ``"converged"``, ``"stalled"`` (no step decreased the value any further),
        ``"max_iterations"``, ``"max_evaluations"``, ``"time_limit"`` or ``"interrupted"`` (the
        callback asked to stop).
    message : str
        The status as a sentence.
    history : structured ndarray
        One entry for the start and one per iteration, with the fields ``iteration``, ``value``,
        ``gradient_norm``, ``step``, ``evaluations`` and ``seconds``; read-only.
    """

    x: FloatArray
    value: float
    gradient_norm: float
    iterations: int
    evaluations: int
    seconds: float
    status: Status
    message: str
    history: npt.NDArray[np.void]

    @property
    def converged(self) -> bool:
        """Whether a tolerance was met."""
        return self.status == "converged"

    def __repr__(self) -> str:
        return (
            f"OptimizeResult(status={self.status!r}, value={self.value:.10g}, "
            f"gradient_norm={self.gradient_norm:.3g}, iterations={self.iterations}, "
            f"evaluations={self.evaluations}, n={self.x.size})"
        )


def minimize(
    fun: Objective,
    x0: npt.ArrayLike,
    *,
    l1: float | npt.ArrayLike = 0.0,
    inverse_diagonal: npt.ArrayLike | None = None,
    max_iterations: int = 1000,
    max_evaluations: int = 10000,
    gradient_tolerance: float = 1e-5,
    relative_decrease: float = 0.0,
    memory: int = 10,
    max_seconds: float = math.inf,
    value_noise: float = 1e-12,
    callback: Callback | None = None,
) -> OptimizeResult:
    """Minimise ``fun(x) + sum(l1 * abs(x))``.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` returns the value and the gradient of the smooth part at `x`, an array of floats.
        The L1 term must be in neither. Where either is not finite, a shorter step is tried.
    x0 : array-like of shape (n,)
        The start.
    l1 : float or array-like of shape (n,)
        Penalty per unit of ``abs(x)``, for all coordinates or for each; 0 means not penalised.
    inverse_diagonal : array-like of shape (n,), optional
        Positive numbers, ideally the inverse of the Hessian's diagonal. Saves many iterations when
        coordinates differ much in scale.
    max_iterations, max_evaluations : int
        Limits on steps and on calls of `fun`.
    gradient_tolerance : float
        Converged when no component of the (pseudo-)gradient is larger in absolute value.
    relative_decrease : float
        Converged when the value fell by less than this, relative to ``max(abs(value), 1)``, over
        five iterations; 0 turns the test off.
    memory : int
        Number of past steps that approximate the Hessian.
    max_seconds : float
        Limit on the wall time.
    value_noise : float
        Relative rounding error of the values; raise it if `fun` computes in single precision.
    callback : callable, optional
        ``callback(iteration, value)`` is called at the start (iteration 0) and after each
        iteration; a true answer ends the run with status ``"interrupted"``.

    Returns
    -------
    OptimizeResult
        The best point seen. Not converging is no error: see its ``status``.

    Raises
    ------
    ValueError
        A parameter is out of its range or an array has the wrong shape.
    TypeError
        A parameter has the wrong type, or `fun` returns no pair.
    ArithmeticError
        `fun` is not finite at `x0`.

    Notes
    -----
    Exceptions raised by `fun` or `callback`, ``KeyboardInterrupt`` among them, pass through.

    Examples
    --------
    A quadratic, with and without a penalty that holds the second coordinate at zero:

    >>> import numpy as np
    >>> from feldspar.optimize import minimize
    >>> target = np.array([3.0, -0.5])
    >>> def distance(x):
    ...     return 0.5 * np.sum((x - target) ** 2), x - target
    >>> result = minimize(distance, [0.0, 0.0])
    >>> result.status, result.x.round(6).tolist()
    ('converged', [3.0, -0.5])
    >>> minimize(distance, [0.0, 0.0], l1=1.0).x.round(6).tolist()
    [2.0, 0.0]
    """
    start = _vector("x0", x0)
    options = _options(
        max_iterations=max_iterations,
        max_evaluations=max_evaluations,
        gradient_tolerance=gradient_tolerance,
        relative_decrease=relative_decrease,
        memory=memory,
        max_seconds=max_seconds,
        value_noise=value_noise,
    )
    result = _core.minimize(
        _checked(fun, start.size),
        start,
        np.full(start.size, l1, dtype=np.float64) if np.ndim(l1) == 0 else _vector("l1", l1),
        np.empty(0) if inverse_diagonal is None else _vector("inverse_diagonal", inverse_diagonal),
        options,
        callback,
    )
    return OptimizeResult(
        x=result.x,
        value=result.value,
        gradient_norm=result.gradient_norm,
        iterations=result.iterations,
        evaluations=result.evaluations,
        seconds=result.seconds,
        status=result.status,
        message=result.message,
        history=result.history,
    )


def _vector(name: str, values: npt.ArrayLike) -> FloatArray:
    """`values` as the core wants them; it checks the length and the entries."""
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of numbers: {error}") from None
    if np.ndim(values) != 1:
        raise ValueError(f"{name} must have one dimension, got shape {np.shape(values)}")
    return array


def _options(**values: float) -> _core.OptimizeOptions:
    """The core's options; it checks the ranges when they are used."""
    options = _core.OptimizeOptions()
    for name, value in values.items():
        expected = type(getattr(options, name)).__name__
        try:
            setattr(options, name, value)
        except TypeError:
            raise TypeError(f"{name} must be of type {expected}, got {value!r}") from None
    return options


def _checked(fun: Objective, dimension: int) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    """`fun` with its result converted for the core, and explained where that cannot be done."""

    def evaluate(x: FloatArray) -> tuple[float, FloatArray]:
        result: Any = fun(x)
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise TypeError(f"fun must return a pair (value, gradient), got {result!r}")
        value, gradient = result
        if np.ndim(value) != 0:
            raise TypeError(f"fun's value must be a number, got shape {np.shape(value)}")
        array = _vector("fun's gradient", gradient)
        if array.size != dimension:
            raise ValueError(f"fun's gradient must have {dimension} entries, got {array.size}")
        return float(value), array

    return evaluate
