"""Pictures, drawn by matplotlib: an extra."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .solvers import TraceRow

# Of Okabe and Ito, which people with any colour vision tell apart.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"


def require_matplotlib() -> Any:
    """The class Figure, drawn without a screen; an error that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "pictures need matplotlib: pip install fwsvm[plot]", name="matplotlib"
        ) from None
    return Figure


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """As a PNG, whatever the ending."""
    if not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} is not there")
    figure.savefig(path, format="png", dpi=150)


def bare(axes: Any) -> None:
    """Less ink around the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)


# ------------------------------------------------------------------------------------ convergence


def convergence(
    path: str | os.PathLike[str], traces: Sequence[Sequence[TraceRow]], gaps: NDArray[np.float64]
) -> None:
    """Gap and objective of one fit against time; with several problems, of the hardest of them."""
    figure = require_matplotlib()(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    number = max(range(len(traces)), key=lambda k: traces[k][-1].time)
    draw_gap(left, traces[number], gaps[number], color=BLUE)
    draw_objective(right, traces[number], color=BLUE)
    if len(traces) > 1:
        figure.suptitle(f"the longest of {len(traces)} binary problems", fontsize=10)
    left.legend(frameon=False)
    save(figure, path)


def draw_gap(
    axes: Any, trace: Sequence[TraceRow], final: float, *, color: str, label: str = ""
) -> None:
    """The certified gap, and thin the gap on the working set."""
    begin = f"{label}: " if label else ""
    core = [(row.time, row.core_gap) for row in trace if 0 < row.core_gap < 1]
    sure = [(row.time, row.gap) for row in trace if row.gap > 0]
    sure.append((trace[-1].time, max(final, 1e-16)))
    if core:
        axes.plot(
            *zip(*core, strict=True),
            color=color,
            linewidth=0.8,
            alpha=0.6,
            label=f"{begin}on the working set",
        )
    axes.plot(
        *zip(*sure, strict=True),
        color=color,
        marker="o",
        markersize=4,
        linewidth=1.6,
        label=f"{begin}on all rows",
    )
    axes.set(yscale="log", xlabel="seconds", ylabel="relative duality gap")
    bare(axes)


def draw_objective(axes: Any, trace: Sequence[TraceRow], *, color: str, label: str = "") -> None:
    """The dual value 1 / (2 R), which grows to the optimum as more rows are seen."""
    points = [(row.time, 0.5 / row.objective) for row in trace if row.objective > 0]
    axes.plot(*zip(*points, strict=True), color=color, marker=".", linewidth=1.6, label=label)
    axes.set(xlabel="seconds", ylabel="dual objective")
    bare(axes)


# --------------------------------------------------------------------------------------- heat map


def heat_map(
    path: str | os.PathLike[str],
    scores: NDArray[np.float64],
    Cs: Sequence[float],
    gammas: Sequence[float],
    score_name: str,
) -> None:
    """Scores of gammas x Cs, the best one marked; NaN where nothing was measured."""
    width, height = 1.8 + 0.75 * len(Cs), 1.4 + 0.55 * len(gammas)
    figure = require_matplotlib()(figsize=(max(width, 5), max(height, 3)), layout="constrained")
    axes = figure.subplots()
    low, high = np.nanmin(scores), np.nanmax(scores)
    # So that the differences among the better half are seen.
    low = max(low, high - 2 * (high - np.nanmedian(scores)) - 1e-9)
    image = axes.imshow(scores, cmap="viridis", aspect="auto", origin="lower", vmin=low, vmax=high)
    axes.set_xticks(range(len(Cs)), [f"{C:g}" for C in Cs])
    axes.set_yticks(range(len(gammas)), [f"{gamma:.3g}" for gamma in gammas])
    axes.set(xlabel="C", ylabel="gamma")
    for (i, j), score in np.ndenumerate(scores):
        if not math.isnan(score):
            color = "black" if score > (low + high) / 2 else "white"
            axes.text(j, i, f"{score:.3f}", ha="center", va="center", color=color, fontsize=8)
    best = np.unravel_index(np.nanargmax(scores), scores.shape)
    axes.plot(best[1], best[0], "s", markersize=30, fillstyle="none", color=ORANGE, mew=2)
    figure.colorbar(image, label=score_name, extend="min")
    save(figure, path)
