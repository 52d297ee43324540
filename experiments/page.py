"""A part of the report - text, tables, pictures - as HTML, Markdown and CSV."""

from __future__ import annotations

import base64
import csv
import html
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WIDE, NARROW = 9.0, 4.4  # inches of a picture on a screen and on a telephone
DPI = 110


@dataclass(frozen=True)
class Table:
    """``columns`` gives the format of each: as of `format`, "3" for significant digits, None for
    what only the CSV has. A value may be a pair with a mark, as (3.2, "*").
    """

    name: str  # of the CSV file
    columns: Mapping[str, str | None]
    rows: Sequence[Mapping[str, Any]]
    caption: str = ""

    def cells(self) -> list[list[str]]:
        """What is shown, without the heading."""
        shown = {c: form for c, form in self.columns.items() if form is not None}
        return [[_shown(row.get(c), form) for c, form in shown.items()] for row in self.rows]

    def heading(self) -> list[str]:
        return [column for column, form in self.columns.items() if form is not None]

    def csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        for row in self.rows:
            writer.writerow([_plain(row.get(column)) for column in self.columns])
        return text.getvalue()


@dataclass(frozen=True)
class Picture:
    """``draw`` makes a matplotlib figure of a width in inches."""

    name: str  # of the PNG file
    draw: Callable[[float], Any]
    caption: str

    def png(self, width: float) -> bytes:
        data = io.BytesIO()
        # No name of the program in it: equal pictures are equal files.
        self.draw(width).savefig(data, format="png", dpi=DPI, metadata={"Software": None})
        return data.getvalue()


@dataclass(frozen=True)
class Part:
    """A section: paragraphs, tables and pictures in their order."""

    title: str
    blocks: Sequence[str | Table | Picture] = field(default_factory=tuple)

    @property
    def anchor(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.title.lower())


def _shown(value: Any, form: str) -> str:
    if isinstance(value, tuple):
        return _shown(value[0], form) + value[1]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if form.isdecimal():
        return _significant(value, int(form))
    return format(value, form) if form else str(value)


def _significant(value: float, digits: int) -> str:
    """Without an exponent unless the number is tiny."""
    if value == 0 or abs(value) < 1e-4 or math.isinf(value):
        return f"{value:.{digits}g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, places):,.{max(0, places)}f}"


def _plain(value: Any) -> Any:
    value = value[0] if isinstance(value, tuple) else value
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else value


# -------------------------------------------------------------------------------------- Markdown


def markdown(parts: Sequence[Part], title: str) -> str:
    """The whole page; pictures are files beside it."""
    blocks = [f"# {title}"]
    for part in parts:
        blocks += [f"## {part.title}", *(_markdown_of(block) for block in part.blocks)]
    return "\n\n".join(blocks) + "\n"


def _markdown_of(block: str | Table | Picture) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Picture):
        return f"![{block.caption}]({block.name}.png)\n\n{block.caption}"
    heading = block.heading()
    lines = [heading, ["---"] * len(heading), *block.cells()]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{text}\n\n{block.caption}".strip()


# ------------------------------------------------------------------------------------------ HTML

_STYLE = """
:root { color-scheme: light }
body { font: 16px/1.55 system-ui, sans-serif; color: #1d2327; background: #f6f7f5; margin: 0 }
main { max-width: 78rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .6rem }
h2 { margin: 0 0 .8rem; line-height: 1.25 }
nav { font-size: .95rem; columns: 18rem } nav a { display: block; padding: .15rem 0 }
a { color: #0059a0 }
section { background: white; border: 1px solid #e2e5e0; border-radius: 10px; padding: 1.4rem;
          margin: 1.4rem 0 }
section p { max-width: 52rem } picture, img { width: 100%; height: auto; display: block }
figure { margin: 1.2rem 0 } figcaption, .caption { color: #5b666d; font-size: .9rem }
.scroll { overflow-x: auto; margin: 1rem 0 .3rem }
table { border-collapse: collapse; font-size: .88rem }
th, td { padding: .32rem .5rem; text-align: right; font-variant-numeric: tabular-nums;
         white-space: nowrap; border-bottom: 1px solid #eceeea }
th { color: #47525a; font-weight: 600; border-bottom: 2px solid #d5d9d3; vertical-align: bottom }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: white }
td.text { text-align: left; white-space: normal; min-width: 14rem }
.texts td, .texts th { vertical-align: top; text-align: left }
td.holds { color: #00694c; font-weight: 600 } td.partly { color: #8a5a00; font-weight: 600 }
td.not { color: #a8320a; font-weight: 600 }
@media (max-width: 600px) { main { padding: 1rem .6rem } section { padding: .9rem; }
  h1 { font-size: 1.45rem } h2 { font-size: 1.2rem }
  .texts tr:first-child { display: none } .texts td:empty { display: none }
  .texts td, .texts td:first-child { display: block; text-align: left; white-space: normal;
    border: 0; padding: .1rem 0 } .texts td:first-child { font-weight: 600 }
  .texts tr { display: block; border-bottom: 1px solid #d5d9d3; padding: .6rem 0 } }
"""
_VERDICTS = {"holds": "holds", "holds partly": "partly", "does not hold": "not"}
_LONG = 40  # characters from which a cell is a text that wraps


def page(parts: Sequence[Part], title: str) -> str:
    """The whole page in one file, without anything from elsewhere."""
    links = "".join(f'<a href="#{p.anchor}">{html.escape(p.title)}</a>' for p in parts)
    sections = "".join(
        f'<section id="{part.anchor}"><h2>{html.escape(part.title)}</h2>'
        + "\n".join(_html_of(block) for block in part.blocks)
        + "</section>\n"
        for part in parts
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>{html.escape(title)}</h1><nav>{links}</nav>\n{sections}</main></body></html>\n"
    )


def _html_of(block: str | Table | Picture) -> str:
    if isinstance(block, str):
        return _html_of_text(block)
    if isinstance(block, Picture):
        wide, narrow = (_embedded(block.png(width)) for width in (WIDE, NARROW))
        return (
            f'<figure><picture><source media="(max-width: 600px)" srcset="{narrow}">'
            f'<img alt="{html.escape(block.caption)}" src="{wide}"></picture>'
            f"<figcaption>{html.escape(block.caption)}</figcaption></figure>"
        )
    head = "".join(f"<th>{html.escape(column)}</th>" for column in block.heading())
    rows = block.cells()
    body = "".join(f"<tr>{''.join(map(_html_of_cell, row))}</tr>\n" for row in rows)
    kind = ' class="texts"' if any(len(cell) > _LONG for row in rows for cell in row) else ""
    caption = f'<p class="caption">{html.escape(block.caption)}</p>' if block.caption else ""
    return f'<div class="scroll"><table{kind}><tr>{head}</tr>\n{body}</table></div>{caption}'


def _html_of_text(text: str) -> str:
    """A paragraph, with a list of the lines that begin with "- "."""
    paragraph, *items = html.escape(text).split("\n- ")
    listed = "".join(f"<li>{item}</li>" for item in items)
    return f"<p>{paragraph}</p>" + (f"<ul>{listed}</ul>" if items else "")


def _html_of_cell(text: str) -> str:
    kind = _VERDICTS.get(text, "text" if len(text) > _LONG else "")
    return (
        f'<td class="{kind}">{html.escape(text)}</td>' if kind else f"<td>{html.escape(text)}</td>"
    )


def _embedded(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()


# ----------------------------------------------------------------------------------------- files


def write(parts: Sequence[Part], title: str, folder: Path) -> Path:
    """index.html, index.md, and a file for each table and picture; where the first one is."""
    folder.mkdir(parents=True, exist_ok=True)
    for block in (block for part in parts for block in part.blocks):
        if isinstance(block, Table):
            (folder / f"{block.name}.csv").write_text(block.csv())
        elif isinstance(block, Picture):
            (folder / f"{block.name}.png").write_bytes(block.png(WIDE))
    (folder / "index.md").write_text(markdown(parts, title))
    (folder / "index.html").write_text(page(parts, title))
    return folder / "index.html"
