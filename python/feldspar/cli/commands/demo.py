"""``feldspar demo``: what a Markov network is good for, in a few seconds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from feldspar import demo as demonstration
from feldspar.cli.flags import common_flags
from feldspar.cli.output import emit, note, print_table, progress
from feldspar.demo import Classification, Completion, DemoResult
from feldspar.io.files import atomic_write

PICTURE = "feldspar-demo.png"

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
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help=f"Where to write the picture, {PICTURE}; the current folder if left out.",
)
@common_flags
def demo(output: Path) -> None:
    """Show what networks of handwritten digits can do.

    Learns networks, tells digits by the best of them, completes half-hidden ones and draws a
    picture (with matplotlib). The digits come with scikit-learn; nothing is downloaded.
    """
    output.mkdir(parents=True, exist_ok=True)
    with progress() as report:
        result = demonstration.run_demo(report=report)
        report("drawing")
        picture = _write_picture(result, output / PICTURE)
    plain = result.to_dict() | {"picture": None if picture is None else str(picture)}
    emit(plain, lambda: _show(result, picture))


def _write_picture(result: DemoResult, path: Path) -> Path | None:
    try:
        content = demonstration.picture_png(result)
    except ImportError as error:
        note(f"no picture was written; {error}")
        return None
    atomic_write(path, content)
    return path


def _show(result: DemoResult, picture: Path | None) -> None:
    data = result.data
    click.echo(
        f"{len(data.train)} handwritten digits to learn from, {len(data.valid)} to choose priors "
        f"by, {len(data.test)} to test on.\n"
        "Variables: 8 x 8 pixels, dark or not, and the digit.\n"
    )
    _show_models(result)
    _show_mistakes(result.classification, result.completion.truth)
    _show_completion(result.completion)
    if picture is not None:
        click.echo(f"Picture: {picture}")


def _show_models(result: DemoResult) -> None:
    click.echo("Mean pseudo-log-likelihood (PLL) per digit, higher is better:")
    rows = [
        (
            model.name,
            f"{model.n_features:,}",
            "none" if model.prior_sd is None else f"{model.prior_sd:g}",
            f"{model.valid_pll:.3f}",
            f"{model.test_pll:.3f}",
            f"{model.accuracy:.1%}",
            f"{model.seconds:.2f}",
        )
        for model in result.models
    ]
    columns = ("model", "features", "prior sd", "valid PLL", "test PLL", "digits right", "seconds")
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
        f"Lower half and label hidden, then completed by iterated conditional modes, the best "
        f"of several starts\n(a local mode, not always the most probable completion): "
        f"{completion.pixel_accuracy:.1%} of hidden pixels right,\nwhere each pixel's most "
        f"frequent value gets {completion.majority_accuracy:.1%}; "
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
