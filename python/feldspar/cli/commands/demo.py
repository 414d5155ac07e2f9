"""``feldspar demo``: what a Markov network is good for, in a few seconds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import numpy.typing as npt

from feldspar.cli.flags import common_flags
from feldspar.cli.output import emit, note, print_table, progress
from feldspar.io.files import atomic_write

if TYPE_CHECKING:
    from feldspar.demo import Classification, Completion, DemoResult

PICTURE = "feldspar-demo.png"
PAGE = "feldspar-demo.html"

_SHOWN = 5
_SIDE = 8
_GAP = "    "
_EPILOG = """\b
Example:
  feldspar demo --output pictures
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--output",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    default=Path(),
    metavar="DIR",
    help=f"Where to write {PICTURE} and {PAGE}; the current folder if left out.",
)
@common_flags
def demo(output: Path) -> None:
    """Show what networks of handwritten digits can do.

    Learns networks in several ways, tells digits by the best of them, completes half-hidden ones,
    and writes a picture (with matplotlib) and a page. The digits come with scikit-learn; nothing is
    downloaded.
    """
    # Learners bring scikit-learn along, which the other commands need not wait for.
    from feldspar import demo as demonstration

    output.mkdir(parents=True, exist_ok=True)
    with progress() as report:
        result = demonstration.run_demo(report=report)
        report("drawing")
        picture = _write_picture(result, output / PICTURE)
        page = output / PAGE
        atomic_write(page, demonstration.demo_page(result))
    written = {"picture": None if picture is None else str(picture), "page": str(page)}
    emit(result.to_dict() | written, lambda: _show(result, picture, page))


def _write_picture(result: DemoResult, path: Path) -> Path | None:
    from feldspar.demo import picture_png

    try:
        content = picture_png(result)
    except ImportError as error:
        note(f"no picture was written; {error}")
        return None
    atomic_write(path, content)
    return path


def _show(result: DemoResult, picture: Path | None, page: Path) -> None:
    data = result.data
    click.echo(
        f"{len(data.train)} handwritten digits to learn from, {len(data.valid)} to tune by, "
        f"{len(data.test)} to test on.\n"
        "Variables: 8 x 8 pixels, dark or not, and the digit.\n"
    )
    _show_models(result)
    _show_mistakes(result.classification, result.completion.truth)
    _show_completion(result.completion)
    if picture is not None:
        click.echo(f"Picture: {picture}")
    click.echo(f"Page: {page}")


def _show_models(result: DemoResult) -> None:
    click.echo("Mean pseudo-log-likelihood (PLL) per digit, higher is better:")
    rows = [
        (
            one.name,
            f"{len(one.network.features):,}",
            f"{one.pll['valid'].mean:.3f}",
            f"{one.pll['test'].mean:.3f}",
            f"{result.accuracies[one.name]:.1%}",
            f"{one.seconds:.2f}",
        )
        for one in result.models.contenders
    ]
    columns = ("learner", "features", "valid PLL", "test PLL", "digits right", "seconds")
    print_table(columns, rows)
    click.echo(f"The best on validation data goes on: {result.best.name}.\n")


def _show_mistakes(classification: Classification, truth: npt.NDArray[np.int64]) -> None:
    mistakes = classification.mistakes
    click.echo(
        "Digits told by P(digit | pixels), exact since all pixels are seen: "
        f"{classification.accuracy:.1%} of {len(classification.truth)} right."
    )
    if mistakes.size:
        click.echo(f"The most confident of {len(mistakes)} mistakes:\n")
    shown = mistakes[:_SHOWN].tolist()
    titles = [f"{classification.truth[row]}, told {classification.predicted[row]}" for row in shown]
    _print_side_by_side(titles, [_drawing(truth[row, :-1], ()) for row in shown])


def _show_completion(completion: Completion) -> None:
    click.echo(
        "Lower half and label hidden, then completed by the marginals of Gibbs sampling:\n"
        f"{completion.pixel_accuracy:.1%} of hidden pixels right, where each pixel's most frequent "
        f"value gets {completion.majority_accuracy:.1%};\n"
        f"{completion.label_accuracy:.1%} of the digits told from their upper half.\n"
    )
    for row in (int(np.argmax(completion.truth[:, -1] == digit)) for digit in (0, 3, 5)):
        truth, completed = completion.truth[row], completion.completed[row]
        _print_side_by_side(
            [f"a {truth[-1]}", "seen", f"completed: {completed[-1]}"],
            [
                _drawing(truth[:-1], ()),
                _drawing(truth[:-1], completion.hidden),
                _drawing(completed[:-1], ()),
            ],
        )


def _drawing(pixels: npt.NDArray[np.int64], hidden: Iterable[int]) -> list[str]:
    """Return an image as lines of text: two characters a pixel, which is about square."""
    texts = np.where(pixels == 1, "##", " .")
    texts[list(hidden)[:-1]] = " ?"
    return ["".join(line) for line in texts.reshape(_SIDE, _SIDE)]


def _print_side_by_side(titles: list[str], drawings: list[list[str]]) -> None:
    if not drawings:
        return
    click.echo(_GAP.join(f"{title:<{2 * _SIDE}}" for title in titles).rstrip())
    for lines in zip(*drawings, strict=True):
        click.echo(_GAP.join(lines).rstrip())
    click.echo()
