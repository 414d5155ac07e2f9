"""The demonstration as one page of HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from feldspar._machine import machine, versions
from feldspar.demo._completion import Completion
from feldspar.demo._models import Classification
from feldspar.demo._run import DemoResult
from feldspar.report import Page
from feldspar.report.comparison import network_figure, score_figures
from feldspar.report.svg import pixels

_SIDE = 8
_MISTAKES = 10


def demo_page(result: DemoResult) -> str:
    """Return the page: scores, digits told and completed, the network. It needs nothing else."""
    data, completion = result.data, result.completion
    page = Page(
        "Networks of handwritten digits",
        f"{len(data.train):,} images to learn from, {len(data.valid)} to tune by, "
        f"{len(data.test)} to test on. Variables: 8 x 8 pixels, dark or not, and the digit.",
    )
    page.heading("Learners")
    columns, rows = result.models.table()
    rows = [
        [*row, f"{result.accuracies[one.name]:.1%}"]
        for row, one in zip(rows, result.models.contenders, strict=True)
    ]
    best = result.models.contenders.index(result.best)
    page.table([*columns, "digits right"], rows, best={columns.index("valid PLL"): best})
    page.paragraph(
        "PLL is the mean pseudo-log-likelihood per image, higher is better. The best on validation "
        f"images goes on: {result.best.name}.",
        kind="note",
    )
    page.figures(score_figures(result.models.contenders, "test"))
    page.heading("Telling digits")
    told = result.classification
    page.paragraph(
        f"P(digit | pixels) tells {told.accuracy:.1%} of {len(told.truth)} digits right. The most "
        f"confident of {len(told.mistakes)} mistakes:"
    )
    page.figures(_mistakes(told, completion.truth), kind="strip")
    page.heading("Completing digits")
    page.paragraph(
        f"Lower half and label hidden: {completion.pixel_accuracy:.1%} of the hidden pixels are "
        f"filled in right (each pixel's most frequent value: {completion.majority_accuracy:.1%}), "
        f"and {completion.label_accuracy:.1%} of the digits are told from their upper half. From "
        "left to right: the image, what is seen, the probability that each hidden pixel is dark, "
        "and an image that is likely as a whole."
    )
    page.figures(_completions(completion), kind="strip")
    page.heading("The network")
    drawing, caption = network_figure(result.best)
    page.figure(drawing, f"{caption}. p34 is the pixel in row 3, column 4.")
    page.heading("How this was made")
    page.table(["", ""], [("seed", 0), *versions().items(), *machine().items()], text=2)
    return page.html()


def shown_digits(completion: Completion) -> list[int]:
    """Return the first test image of each digit."""
    return [int(np.argmax(completion.truth[:, -1] == digit)) for digit in range(10)]


def _mistakes(told: Classification, truth: npt.NDArray[np.int64]) -> Iterator[tuple[str, str]]:
    for row in told.mistakes[:_MISTAKES].tolist():
        caption = f"{told.truth[row]}, told {told.predicted[row]}"
        yield _image(truth[row, :-1], caption), f"{caption} (p = {told.probability[row]:.2f})"


def _completions(completion: Completion) -> Iterator[tuple[str, str]]:
    unseen = np.isin(np.arange(_SIDE**2), completion.hidden).reshape(_SIDE, _SIDE)
    for row in shown_digits(completion):
        truth = completion.truth[row]
        images: Sequence[str] = (
            _image(truth[:-1], f"a {truth[-1]}"),
            pixels(_square(truth[:-1]), title="what is seen", unknown=unseen),
            _image(completion.darkness[row], "how probably dark"),
            _image(completion.likely[row, :-1], "likely as a whole"),
        )
        caption = f"a {truth[-1]}, told {completion.completed[row, -1]} from the upper half"
        yield f'<div class="images">{"".join(images)}</div>', caption


def _image(values: npt.NDArray[np.generic], title: str) -> str:
    return pixels(_square(values), title=title)


def _square(values: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
    return values.astype(np.float64).reshape(_SIDE, _SIDE)
