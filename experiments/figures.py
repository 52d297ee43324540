"""The paper's figures: grouped bars for sets, curves over C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fwsvm.plots import BLUE, GREEN, GREY, ORANGE, bare, require_matplotlib

from .cells import SOLVERS, Results
from .page import NARROW, Part, Picture
from .sets import SETS, names_of_group
from .significance import accuracies_of_paper, seconds_of_paper
from .summary import Summaries, Summary, speed_up, summaries

COLOURS = dict(zip(SOLVERS, (GREY, BLUE, ORANGE, "#CC79A7", "#E69F00", GREEN), strict=True))
NAMES = {
    "cvm": "CVM",
    "fw": "FW",
    "mfw": "MFW",
    "swap": "swap",
    "blended": "blended",
    "auto": "auto",
}
BARS = 0.84  # the part of a group that is bars
Values = Mapping[tuple[str, str], float | None]  # by set and solver


def part_of_group(results: Results, group: str, title: str) -> Part:
    """The section of a figure with four rows."""
    found = summaries(results, "tables")
    names = [name for name in names_of_group(group) if any(n == name for n, _ in found)]
    if not names:
        return Part(title, ["Nothing was run yet."])
    caption = (
        f"{title}: accuracies, speed-ups over CVM, times, sizes of training and support vector "
        "sets. Black dashes are the paper's values."
    )
    picture = Picture(f"figure_{group.lower()}", partial(four_rows, found, names), caption)
    return Part(title, [picture])


def four_rows(found: Summaries, names: Sequence[str], width: float) -> Any:
    """Accuracy, speed-up over CVM, time, and sizes: a figure of the paper."""
    height = 2.3 if width <= NARROW else 2.6
    figure = require_matplotlib()(figsize=(width, 4 * height + 0.3), layout="constrained")
    accuracy, speed, time, size = figure.subplots(4, 1)
    present = {(n, s): each for (n, s), each in found.items() if n in names}
    papers = accuracies_of_paper()
    _bars(accuracy, names, SOLVERS, {key: each.accuracy for key, each in present.items()}, found)
    _dashes(
        accuracy,
        names,
        SOLVERS,
        {(n, s): papers[s][n] for s in papers if s in SOLVERS for n in names},
    )
    _zoom(accuracy, [each.accuracy for each in present.values()])
    accuracy.set_title("test accuracy (%)")
    _speed_ups(speed, names, found)
    _bars(time, names, SOLVERS, {key: each.seconds for key, each in present.items()}, found)
    time.set_title("training time (CPU seconds)")
    _logarithmic(time)
    _bars(size, names, SOLVERS, {key: each.n_support for key, each in present.items()}, found)
    rows = {(name, SOLVERS[0]): float(each.n_train) for (name, _), each in present.items()}
    _lines_over_groups(size, names, rows)
    size.set(title="support vectors (black: training rows)")
    _logarithmic(size)
    _finish(figure, width)
    return figure


def _speed_ups(axes: Any, names: Sequence[str], found: Summaries) -> None:
    solvers = SOLVERS[1:]
    ours: Values = {(n, s): speed_up(found, n, s) for n in names for s in solvers}
    times = seconds_of_paper()
    papers = {(n, s): times["cvm"][n] / times[s][n] for s in ("fw", "mfw") for n in names}
    _bars(axes, names, solvers, ours, found)
    _dashes(axes, names, solvers, papers)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set(title="speed-up over CVM (black dashes: the paper's)")
    _logarithmic(axes)


def _place(number: int, solvers: Sequence[str], solver: str) -> float:
    return number + BARS * ((solvers.index(solver) + 0.5) / len(solvers) - 0.5)


def _logarithmic(axes: Any) -> None:
    from matplotlib.ticker import NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _bars(
    axes: Any, names: Sequence[str], solvers: Sequence[str], values: Values, found: Summaries
) -> None:
    """Bars in groups; hatched where the limit of time ended a fit."""
    for solver in solvers:
        for number, name in enumerate(names):
            value = values.get((name, solver))
            if value is not None:
                axes.bar(
                    _place(number, solvers, solver),
                    value,
                    BARS / len(solvers),
                    color=COLOURS[solver],
                    hatch="////" if found[name, solver].is_stopped else None,
                    edgecolor="white",
                    linewidth=0.3,
                )
    bare(axes)
    axes.grid(False, axis="x")
    steep = len(names) > 8
    axes.set_xticks(
        range(len(names)), names, rotation=40 if steep else 0, ha="right" if steep else "center"
    )
    axes.set_xlim(-0.5, len(names) - 0.5)


def _dashes(axes: Any, names: Sequence[str], solvers: Sequence[str], values: Values) -> None:
    """The paper's values."""
    half = 0.45 * BARS / len(solvers)
    for (name, solver), value in values.items():
        centre = _place(names.index(name), solvers, solver)
        axes.hlines(value, centre - half, centre + half, color="black", linewidth=1.6)


def _lines_over_groups(axes: Any, names: Sequence[str], values: Values) -> None:
    for (name, _), value in values.items():
        centre = names.index(name)
        axes.hlines(value, centre - BARS / 2, centre + BARS / 2, color="black", linewidth=1.6)


def _zoom(axes: Any, values: Sequence[float]) -> None:
    """Accuracies differ in the last few percent."""
    if values:
        low = np.floor(min(values)) - 1
        axes.set_ylim(max(0.0, low), min(100.0, np.ceil(max(values)) + 0.5))


def _finish(figure: Any, width: float) -> None:
    """Titles that fit, and the legend."""
    from matplotlib.patches import Patch

    for axes in figure.axes:
        axes.title.set_fontsize(9 if width <= NARROW else 11)
    handles = [Patch(color=COLOURS[solver], label=NAMES[solver]) for solver in SOLVERS]
    handles.append(Patch(facecolor="white", edgecolor="black", hatch="////", label="stopped"))
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=4 if width <= NARROW else 7,
        frameon=False,
        fontsize=9,
    )


# ---------------------------------------------------------------------------------------------- C


def effect_of_c(of_sets: Mapping[str, Mapping[tuple[str, float], Summary]], width: float) -> Any:
    """Accuracies and times over C, a row for each set."""
    is_narrow, n_sets = width <= NARROW, len(of_sets)
    rows, columns = (2 * n_sets, 1) if is_narrow else (n_sets, 2)
    figure = require_matplotlib()(figsize=(width, 2.4 * rows + 0.3), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    values: tuple[tuple[str, Callable[[Summary], float]], ...] = (
        ("test accuracy (%)", lambda each: each.accuracy),
        ("training time (CPU seconds)", lambda each: each.seconds),
    )
    for place, (name, found) in enumerate(of_sets.items()):
        for axes, (title, value) in zip(panels[2 * place :], values, strict=False):
            _curves(axes, found, value)
            axes.set(title=f"{SETS[name].listed}: {title}", xscale="log", xlabel="C")
            axes.set_xscale("log", base=2)
        _logarithmic(panels[2 * place + 1])
    _finish(figure, width)
    return figure


def _curves(
    axes: Any,
    found: Mapping[tuple[str, float], Summary],
    value: Callable[[Summary], float],
) -> None:
    for solver in SOLVERS:
        curve = [each for (s, _), each in found.items() if s == solver]
        C, values = [each.C for each in curve], [value(each) for each in curve]
        axes.plot(C, values, color=COLOURS[solver], linewidth=1.6, marker="o", markersize=3)
        stopped = [(each.C, value(each)) for each in curve if each.is_stopped]
        if stopped:
            axes.plot(*zip(*stopped, strict=True), "x", color=COLOURS[solver], markersize=7)
    bare(axes)
