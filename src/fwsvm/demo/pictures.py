"""The figures of the report."""

from __future__ import annotations

import base64
import io
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import plots
from ..estimators import SVC
from ..kernels import RBF
from ..rows import Rows
from .problems import Problem, small_problem

_C, _GAMMA = 20.0, 1.0  # of the small problem
_STEPS = (3, 30)  # of the unfinished balls
_NEAREST, _FARTHEST, _TICKS = 0.88, 1.08, (0.9, 0.95, 1.0, 1.05)  # in radii
_COLORS = {1: plots.ORANGE, -1: plots.BLUE}
_SHADES = ["#b9d6ea", "#dcebf5", "#fbe3d6", "#f3bf9f"]


def new_figure(width: float, height: float) -> Any:
    """A figure of this size in inches."""
    return plots.require_matplotlib()(figsize=(width, height), layout="constrained")


def as_data_url(figure: Any) -> str:
    """The picture as part of a page."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150, facecolor="white")
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()


# ------------------------------------------------------------------------------ the large problem


def rows_and_boundary(problem: Problem, svc: SVC) -> Any:
    """Some rows as they come, and what was learnt of all of them."""
    figure = new_figure(10.4, 5.2)
    left, right = figure.subplots(1, 2)
    some = slice(0, 8000)
    for label, color in _COLORS.items():
        rows = problem.X[some][problem.y[some] == label]
        left.scatter(*rows.T, s=3, color=color, alpha=0.55, linewidths=0)
    left.set_title(f"8,000 of the {len(problem.y):,} rows", fontsize=11)
    _draw_values(right, svc, (-1.05, 1.05, -1.05, 1.05), 420)
    right.set_title("the decision function; margins dashed", fontsize=11)
    for axes in (left, right):
        axes.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal", xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    from matplotlib.patches import Circle

    right.add_patch(Circle((0, 0), 1.0, fill=False, color=plots.GREY, linewidth=0.8))
    return figure


def convergence(runs: dict[str, SVC]) -> Any:
    """Gap and objective of several solvers on the same problem."""
    figure = new_figure(10.4, 4.0)
    left, right = figure.subplots(1, 2)
    colors = (plots.BLUE, plots.ORANGE, plots.GREEN)
    for (name, svc), color in zip(runs.items(), colors, strict=True):
        plots.draw_gap(left, svc.trace_[0], svc.gap_[0], color=color, label=name)
        plots.draw_objective(right, svc.trace_[0], color=color, label=name)
    left.axhline(1e-3, color=plots.GREY, linestyle="--", linewidth=0.8)
    left.set_title("certified gap (thick), gap on the working set (thin)", fontsize=11)
    right.set_title("dual objective", fontsize=11)
    for axes in (left, right):
        axes.set_xscale("log")
    right.legend(frameon=False)
    return figure


def _draw_values(axes: Any, svc: SVC, window: tuple[float, float, float, float], n: int) -> None:
    """Shades of the decision function, its zero line and its margins."""
    left, right, bottom, top = window
    x, y = np.linspace(left, right, n), np.linspace(bottom, top, n)
    places = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    values = svc.decision_function(places).reshape(n, n)
    axes.contourf(x, y, values, levels=[-np.inf, -1, 0, 1, np.inf], colors=_SHADES)
    axes.contour(x, y, values, levels=[0], colors="black", linewidths=1.3)
    axes.contour(x, y, values, levels=[-1, 1], colors="black", linewidths=0.6, linestyles="--")


# ------------------------------------------------------------------------------------ the ball


def ball() -> Any:
    """The small problem in the plane, and how far its images are from the centre of their ball."""
    X, y = small_problem()
    settings: dict[str, Any] = {
        "C": _C,
        "gamma": _GAMMA,
        "solver": "mfw",
        "start": "pair",
        "random_state": 0,
    }
    figure = new_figure(11.4, 8.6)
    plane, *others = [
        figure.add_subplot(2, 2, place + 1, projection="polar" if place else None)
        for place in range(4)
    ]
    optimum = SVC(tol=1e-6, **settings).fit(X, y)
    _draw_plane(plane, optimum, X, y)
    for axes, n_steps in zip(others, _STEPS, strict=False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it ends early is what is to be seen
            svc = SVC(max_iter=n_steps, **settings).fit(X, y)
        _draw_ball(axes, svc, X, y, f"after {n_steps} steps")
    _draw_ball(others[-1], optimum, X, y, f"after {int(optimum.n_iter_[0]):,} steps, gap 1e-6")
    return figure


def _draw_plane(axes: Any, svc: SVC, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    _draw_values(axes, svc, (low[0], high[0], low[1], high[1]), 240)
    for label, color in _COLORS.items():
        axes.scatter(*X[y == label].T, s=26, color=color, edgecolors="white", linewidths=0.6)
    axes.scatter(*X[svc.support_].T, s=72, facecolors="none", edgecolors="black", linewidths=0.9)
    axes.set_title("rows, boundary, margins; support vectors ringed", fontsize=11)
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(False)


def _draw_ball(
    axes: Any, svc: SVC, X: NDArray[np.float64], y: NDArray[np.int64], title: str
) -> None:
    """Each row at the true distance of its image from the centre, in radii of the ball, and in the
    direction in which it lies in the plane.
    """
    gradient, objective, delta2 = _ball_of(svc, X, y)
    radius = np.sqrt(delta2 - objective)
    distance = np.sqrt(delta2 + objective - 2 * gradient) / radius
    angle = np.arctan2(*(X - X.mean(axis=0)).T[::-1])
    nearest, farthest = min(_NEAREST, distance.min() - 0.01), max(_FARTHEST, distance.max() + 0.01)
    full = np.linspace(0, 2 * np.pi, 200)
    axes.fill_between(full, nearest, 1.0, color="#eef3e6", zorder=0)
    axes.plot(full, np.ones(200), color=plots.GREEN, linewidth=1.8, zorder=1)
    ringed = np.zeros(len(y), dtype=bool)
    ringed[svc.support_] = True
    for label, color in _COLORS.items():
        some = y == label
        axes.scatter(
            angle[some],
            distance[some],
            s=22,
            color=color,
            edgecolors="white",
            linewidths=0.5,
            zorder=3,
        )
    axes.scatter(
        angle[ringed],
        distance[ringed],
        s=60,
        facecolors="none",
        edgecolors="black",
        linewidths=0.8,
        zorder=4,
    )
    outside = int(np.count_nonzero(distance > 1 + 1e-3))
    said = f"{outside} rows outside" if outside else "every row inside"
    axes.set_title(f"{title}: {said}, r = {radius:.4f}", fontsize=11)
    axes.set(ylim=(nearest, farthest), xticks=[], yticks=_TICKS)
    axes.set_yticklabels([f"{tick:g} r" for tick in _TICKS], fontsize=8, color=plots.GREY)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[:].set_visible(False)


def _ball_of(
    svc: SVC, X: NDArray[np.float64], y: NDArray[np.int64]
) -> tuple[NDArray[np.float64], float, float]:
    """(Kt a)_i of every row, R = a' Kt a, and Delta^2, computed from the definitions."""
    weights = np.zeros(len(y))
    weights[svc.support_] = svc.dual_coef_.ravel() * y[svc.support_]
    weights /= weights.sum()
    K = RBF(_GAMMA).block(Rows(X))
    Kt = np.outer(y, y) * (K + 1.0) + np.eye(len(y)) / _C
    gradient = Kt @ weights
    return gradient, float(weights @ gradient), float(Kt[0, 0])
