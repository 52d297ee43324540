"""The page ``report.html``: one file, without anything from elsewhere."""

from __future__ import annotations

import html
import platform
import time
from importlib.metadata import version
from itertools import groupby

from .._config import show_config
from .comparison import GROWTH_OF_TIME, SECONDS_FOR_PEER, Line
from .pictures import Picture
from .problems import FLIPPED, Problem

HEADINGS = ("set", "program", "rows", "fit", "test accuracy", "support vectors", "certified gap")
SECONDS_OF_OTHER_SOLVERS = 3.0

_STYLE = """
:root { color-scheme: light }
body { font: 16px/1.55 system-ui, sans-serif; color: #1d2327; background: #f6f7f5; margin: 0 }
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem } h2 { margin: 0 0 .6rem }
.lead { font-size: 1.1rem; color: #47525a; max-width: 46rem; margin: 0 0 1.6rem }
section { background: white; border: 1px solid #e2e5e0; border-radius: 10px; padding: 1.5rem;
          margin: 1.4rem 0 }
section p { max-width: 50rem } img { width: 100%; height: auto; display: block }
.facts { display: flex; flex-wrap: wrap; gap: 1rem }
.facts div { flex: 1 1 12rem; background: white; border: 1px solid #e2e5e0; border-radius: 10px;
             padding: 1rem 1.2rem }
.facts b { display: block; font-size: 1.7rem; color: #0072b2 } .facts span { color: #47525a }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
            gap: 1.2rem; align-items: end }
figure { margin: 0 } figcaption { color: #47525a; font-size: .9rem; text-align: center }
table { border-collapse: collapse; width: 100%; font-size: .95rem }
th, td { padding: .35rem .7rem; text-align: right; font-variant-numeric: tabular-nums }
th { color: #47525a; font-weight: 600; vertical-align: bottom }
th:first-child, td:first-child { text-align: left }
tr.set th { border-top: 2px solid #d5d9d3; color: #1d2327; padding-top: .6rem }
tr.set span { font-weight: 400; color: #47525a } tr.fwsvm td { font-weight: 600 }
.notes, footer { color: #5b666d; font-size: .9rem }
@media (max-width: 40rem) { main { padding: 1.2rem .6rem } section { padding: 1rem .8rem }
  table { font-size: .74rem } th, td { padding: .3rem .15rem } }
"""

_CHOICE = """
How the sets were chosen: mushrooms and dna.scale are real sets that are small enough to come with
the package. The other two are generated, so that the best possible accuracy is known. Clusters is
an easy large set: its classes hardly overlap, a quarter of the rows become support vectors, and it
was made such that the fits take seconds. The noisy spiral is a hard one: {flipped:.0%} of its
labels are wrong, also those of the test rows, and nearly every row becomes a support vector of the
squared hinge. C and gamma are round numbers that suit both programs; they were not tuned for
either. Larger real sets and other programs: make bench-peers.
"""
_BOUNDARY = """
The noisy spiral: {rows} rows spread over a disk, in two classes that wind around each other, with
{flipped:.0%} of the labels flipped. The model was learnt from all of them with an rbf kernel. It
agrees with {accuracy} of {fresh} fresh labels, of which {best} are right.
"""
_CONVERGENCE = """
The clusters. The gap says how far a solution can be from the optimum, in parts of its objective;
it is computed from a primal and a dual value on all rows, so it is a proof and not an estimate.
The dashed line is the default tolerance. The default solver solves on more and more of the rows
(thin), and closes the gap on all rows at the end (dots). The steps of the papers' solvers move
one row at a time; they were cut off after {seconds:g} seconds.
"""
_BALL = """
An L2-SVM is the smallest ball around the images of the rows in feature space. First, 60 rows in
the plane. The other pictures show the ball as Modified Frank-Wolfe finds it: each row is drawn at
the true distance of its image from the centre of the ball, in the direction in which it lies in
the first picture. Each step moves the centre towards the farthest image, or away from one that
should not hold it. At the optimum no image lies outside, and the support vectors, ringed, are
those on the surface.
"""


def cells(line: Line) -> tuple[str, ...]:
    """A line of the table."""
    return (
        line.problem.name,
        line.program,
        f"{line.n_rows:,}{' *' if line.is_subset else ''}",
        f"{line.seconds:.{3 if line.seconds < 1 else 2}f}\N{NO-BREAK SPACE}s",
        f"{line.accuracy:.2%}",
        f"{line.n_support:,}",
        "not known" if line.gap is None else f"{line.gap:.0e}",
    )


def notes(lines: list[Line]) -> list[str]:
    """What has to be said about the table."""
    said = [
        f"* scikit-learn was trained on {line.n_rows:,} of the {len(line.problem.y):,} rows of "
        f"{line.problem.name}: twice as many would take it over {SECONDS_FOR_PEER:.0f} s, if that "
        f"takes {GROWTH_OF_TIME:g} times as long."
        for line in lines
        if line.is_subset
    ]
    said.append(
        "Same C and gamma for both. fwsvm minimises the squared hinge loss, scikit-learn's SVC "
        "the hinge loss, so accuracies differ a little and support vectors are more. Quick fits "
        "are the fastest of up to five."
    )
    return said


def page(lines: list[Line], figures: dict[str, list[Picture]]) -> str:
    """The whole page; ``figures`` are pictures of ball, boundary and convergence."""
    *_, spiral, _, large, theirs = lines
    boundary = _BOUNDARY.format(
        rows=f"{spiral.n_rows:,}",
        flipped=FLIPPED,
        accuracy=f"{spiral.accuracy:.2%}",
        fresh=f"{len(spiral.problem.y_test):,}",
        best=f"{spiral.problem.best:.2%}",
    )
    convergence = _CONVERGENCE.format(seconds=SECONDS_OF_OTHER_SOLVERS)
    said = [*notes(lines), _CHOICE.format(flipped=FLIPPED)]
    sections = [
        _section("Next to scikit-learn", _html_table(lines) + _paragraphs(said)),
        _section("What was learnt", _text(boundary) + _images(figures["boundary"])),
        _section("How it converges", _text(convergence) + _images(figures["convergence"])),
        _section("Why Frank-Wolfe: the ball", _text(_BALL) + _images(figures["ball"])),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>fwsvm demo</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<main><h1>fwsvm: kernel SVMs with a certificate</h1>{_lead()}{_facts(large, theirs)}"
        f"{''.join(sections)}{_footer()}</main></body></html>\n"
    )


def _lead() -> str:
    return (
        '<p class="lead">Support vector classification solved as an enclosing-ball problem by '
        "methods of the Frank-Wolfe family. Everything on this page was measured and drawn by "
        "<code>fwsvm demo</code> on this machine.</p>"
    )


def _facts(large: Line, theirs: Line) -> str:
    part = " of these" if theirs.is_subset else ""
    best = "" if large.problem.best is None else f"; {large.problem.best:.2%} is possible"
    facts = [
        (f"{large.seconds:.2f} s", f"to train on {large.n_rows:,} rows ({large.problem.name})"),
        (f"{theirs.seconds:.1f} s", f"scikit-learn's SVC on {theirs.n_rows:,}{part}"),
        (f"{large.accuracy:.2%}", f"right on fresh rows{best}"),
        (f"{large.gap:.2%}", "from the optimum at most, certified"),
    ]
    blocks = (f"<div><b>{_escaped(a)}</b><span>{_escaped(b)}</span></div>" for a, b in facts)
    return f'<div class="facts">{"".join(blocks)}</div>'


def _section(title: str, body: str) -> str:
    return f"<section><h2>{_escaped(title)}</h2>{body}</section>"


def _text(text: str) -> str:
    return f"<p>{_escaped(text.strip())}</p>"


def _paragraphs(texts: list[str]) -> str:
    return "".join(f'<p class="notes">{_escaped(text.strip())}</p>' for text in texts)


def _images(pictures: list[Picture]) -> str:
    figures = (
        f'<figure><img src="{url}" alt="{_escaped(caption)}">'
        f"<figcaption>{_escaped(caption)}</figcaption></figure>"
        for caption, url in pictures
    )
    return f'<div class="pictures">{"".join(figures)}</div>'


def _html_table(lines: list[Line]) -> str:
    """The lines of each set below a heading that says what it is."""
    head = "".join(f"<th>{_escaped(name)}</th>" for name in HEADINGS[1:])
    table = f"<tr>{head}</tr>"
    for _, group in groupby(lines, key=lambda line: line.problem.name):
        some = list(group)
        heading = _described(some[0].problem)
        table += f'<tr class="set"><th colspan="{len(HEADINGS) - 1}">{heading}</th></tr>'
        for line in some:
            values = "".join(f"<td>{_escaped(cell)}</td>" for cell in cells(line)[1:])
            table += f'<tr class="{_escaped(line.program)}">{values}</tr>'
    return f"<table>{table}</table>"


def _described(problem: Problem) -> str:
    n_rows, n_features = problem.X.shape
    size = f"{n_rows:,} rows of {n_features} features, C = {problem.C:g}, gamma = {problem.gamma:g}"
    return f"{_escaped(problem.name)} <span>{size}</span>"


def _footer() -> str:
    config = show_config(mode="dicts") or {}
    facts = [
        time.strftime("%Y-%m-%d %H:%M"),
        f"fwsvm {config['fwsvm']}, scikit-learn {version('scikit-learn')}",
        f"{config['threads']} threads, {config['instruction set']}",
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "mushrooms and dna.scale: UCI Machine Learning Repository, CC BY 4.0",
    ]
    return f"<footer>{_escaped(' · '.join(facts))}</footer>"


def _escaped(text: str) -> str:
    return html.escape(text)
