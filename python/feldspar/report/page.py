"""A web page in one file: no script, no font, no image from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources

# Nothing may be loaded from anywhere, and nothing may run: the browser is told so too.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass
class Page:
    """A page that is put together from top to bottom.

    Parameters
    ----------
    title : str
    lead : str
        A sentence or two below the title.

    Examples
    --------
    >>> page = Page("Rain", "Two models.")
    >>> page.heading("Scores")
    >>> page.table(["model", "PLL"], [("a & b", -1.25)])
    >>> "a &amp; b" in page.html()
    True
    """

    title: str
    lead: str = ""
    _parts: list[str] = field(default_factory=list, repr=False)

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def paragraph(self, text: str, *, kind: str = "") -> None:
        """Add a paragraph of plain text."""
        css = f' class="{kind}"' if kind else ""
        self._parts.append(f"<p{css}>{escape(text)}</p>")

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        text: int = 1,
        best: Mapping[int, int] | None = None,
    ) -> None:
        """Add a table: the first ``text`` columns hold text, the others numbers.

        ``best`` marks a row in each of some columns.
        """
        self._parts.append(f'<div class="wide">{table_html(columns, rows, text, best)}</div>')

    def figure(self, drawing: str, caption: str) -> None:
        """Add a drawing (SVG text) with a caption."""
        self._parts.append(_figure(drawing, caption))

    def figures(self, drawings: Iterable[tuple[str, str]], *, kind: str = "row") -> None:
        """Add drawings with their captions side by side, as many as there is room for."""
        inner = "".join(_figure(drawing, caption) for drawing, caption in drawings)
        self._parts.append(f'<div class="{kind}">{inner}</div>')

    def details(
        self, summary: str, columns: Sequence[str], rows: Iterable[Sequence[object]]
    ) -> None:
        """Add a table that is folded away until it is asked for."""
        table = table_html(columns, rows, 1, None)
        self._parts.append(
            f"<details><summary>{escape(summary)}</summary>"
            f'<div class="wide">{table}</div></details>'
        )

    def html(self) -> str:
        """Return the whole page."""
        style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
        lead = f'<p class="lead">{escape(self.lead)}</p>' if self.lead else ""
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<link rel="icon" href="data:,">\n'
            f"<title>{escape(self.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
            f"<main>\n<h1>{escape(self.title)}</h1>\n{lead}\n" + "\n".join(self._parts) + "\n"
            "</main>\n</body>\n</html>\n"
        )


def table_html(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    text: int,
    best: Mapping[int, int] | None,
) -> str:
    """Return the HTML of a table."""
    marked = {(row, column) for column, row in (best or {}).items()}
    kinds = ["" if place < text else ' class="number"' for place in range(len(columns))]
    head = "".join(
        f"<th{kind}>{escape(name)}</th>" for name, kind in zip(columns, kinds, strict=True)
    )
    body = []
    for r, row in enumerate(rows):
        cells = (
            f"<td{kind}>{_cell(cell, strong=(r, c) in marked)}</td>"
            for c, (cell, kind) in enumerate(zip(row, kinds, strict=True))
        )
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _cell(value: object, *, strong: bool) -> str:
    shown = "–" if value is None else escape(str(value))
    return f"<strong>{shown}</strong>" if strong else shown


def _figure(drawing: str, caption: str) -> str:
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{drawing}{below}</figure>"
