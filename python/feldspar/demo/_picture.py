"""The picture of the demonstration. Needs matplotlib, and touches none of its global state."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from feldspar.demo._completion import Completion
from feldspar.demo._models import Classification
from feldspar.network import MarkovNetwork

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from feldspar.demo._run import DemoResult

_SIDE = 8
_SHOWN = 10
_DPI = 120


def picture_png(result: DemoResult) -> bytes:
    """Return the picture as the content of a PNG file."""
    buffer = io.BytesIO()
    draw_demo(result).savefig(buffer, format="png", dpi=_DPI)
    return buffer.getvalue()


def draw_demo(result: DemoResult) -> Figure:
    """Draw completed digits, mistakes, and what the pixels say of each digit.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("the picture needs matplotlib: pip install matplotlib") from error
    figure = Figure(figsize=(11, 9.8), layout="constrained")
    areas = figure.subfigures(3, 1, height_ratios=[4.2, 1.4, 1.3], squeeze=False)
    _draw_completions(areas[0, 0], result.completion)
    _draw_mistakes(areas[1, 0], result.classification, result.completion.truth)
    _draw_weights(areas[2, 0], _network_with_pairs(result))
    return figure


def digit_weights(network: MarkovNetwork) -> npt.NDArray[np.float64]:
    """Return the weights of ``pixel & digit`` features, digits x pixels, centred over the digits.

    Adding a constant to a pixel's weight for every digit only moves it to the pixel's own feature:
    what these weights say is in the differences between digits.
    """
    label = network.schema.index("digit")
    weights = np.zeros((network.schema.cardinalities[label], len(network.schema) - 1))
    for j in np.flatnonzero(network.features.lengths == 2).tolist():
        (pixel, _), (other, digit) = network.features[j]
        if other == label and isinstance(digit, int):
            weights[digit, pixel] = network.weights[j]
    centred: npt.NDArray[np.float64] = weights - weights.mean(axis=0)
    return centred


def _network_with_pairs(result: DemoResult) -> MarkovNetwork:
    """The network with the largest share of pairs: longer features say part of what pairs do."""
    networks = [model.network for model in result.models.contenders]
    return max(networks, key=lambda network: float((network.features.lengths == 2).mean()))


def _draw_completions(area: SubFigure, completion: Completion) -> None:
    area.suptitle(
        "Lower half and label hidden, then completed "
        f"({completion.pixel_accuracy:.0%} of hidden pixels right; "
        f"majority guess {completion.majority_accuracy:.0%})"
    )
    shown = [int(np.argmax(completion.truth[:, -1] == digit)) for digit in range(_SHOWN)]
    axes = area.subplots(4, _SHOWN, squeeze=False)
    unseen = np.isin(np.arange(_SIDE**2), completion.hidden)
    for column, row in enumerate(shown):
        truth, likely = completion.truth[row], completion.likely[row]
        _draw_digit(axes[0, column], truth[:-1], f"{truth[-1]}")
        _draw_digit(axes[1, column], np.ma.masked_array(truth[:-1], mask=unseen), "?")
        _draw_digit(axes[2, column], completion.darkness[row], f"{completion.completed[row, -1]}")
        _draw_digit(axes[3, column], likely[:-1], f"{likely[-1]}")
        for axis in axes[2:, column]:
            axis.axhline(_SIDE / 2 - 0.5, color="tab:orange", linewidth=1)
    names = ("original", "seen", "probably dark", "likely whole")
    for axis, name in zip(axes[:, 0], names, strict=True):
        axis.set_ylabel(name, fontsize=9)


def _draw_mistakes(
    area: SubFigure, classification: Classification, truth: npt.NDArray[np.int64]
) -> None:
    area.suptitle(
        f"Digits told by P(digit | pixels): {classification.accuracy:.1%} right; "
        "the most confident mistakes"
    )
    axes = area.subplots(1, _SHOWN, squeeze=False)[0]
    for axis in axes:
        axis.set_axis_off()
    for axis, row in zip(axes, classification.mistakes.tolist(), strict=False):
        axis.set_axis_on()
        told = f"{classification.truth[row]}, told {classification.predicted[row]}"
        _draw_digit(axis, truth[row, :-1], f"{told}\np = {classification.probability[row]:.2f}")


def _draw_weights(area: SubFigure, network: MarkovNetwork) -> None:
    area.suptitle("Weights of pixel & digit: dark pixels that speak for (red) and against (blue)")
    weights = digit_weights(network)
    limit = float(np.abs(weights).max()) or 1.0
    axes = area.subplots(1, len(weights), squeeze=False)[0]
    for digit, axis in enumerate(axes):
        image = weights[digit].reshape(_SIDE, _SIDE)
        drawn = axis.imshow(image, cmap="RdBu_r", vmin=-limit, vmax=limit)
        _bare(axis, str(digit))
    area.colorbar(drawn, ax=axes.tolist(), shrink=0.8, pad=0.01)


def _draw_digit(axis: Any, pixels: npt.NDArray[Any], title: str) -> None:
    axis.set_facecolor("lightsteelblue")  # seen where pixels are masked
    axis.imshow(pixels.reshape(_SIDE, _SIDE), cmap="gray_r", vmin=0, vmax=1)
    _bare(axis, title)


def _bare(axis: Any, title: str) -> None:
    axis.set_title(title, fontsize=9)
    axis.set_xticks([])
    axis.set_yticks([])
