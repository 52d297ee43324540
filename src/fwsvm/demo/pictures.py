"""The figures of the report."""

from __future__ import annotations

import base64
import io
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import plots
from ..estimators import SVC
from ..kernels import RBF
from ..rows import Rows
from .problems import Problem, small_problem

_WIDTH = 4.6  # of a picture, in inches
_ROWS_SHOWN = 8000
_C, _GAMMA = 20.0, 1.0  # of the small problem
_STEPS = (3, 30)  # of the unfinished balls
_NEAREST, _FARTHEST, _TICKS = 0.88, 1.08, (0.9, 0.95, 1.0, 1.05)  # in radii
_COLORS = {1: plots.ORANGE, -1: plots.BLUE}
_SHADES = ["#b9d6ea", "#dcebf5", "#fbe3d6", "#f3bf9f"]


class Picture(NamedTuple):
    """A picture as part of a page, and the words below it."""

    caption: str
    url: str


def new_axes(height: float, projection: str | None = None) -> Any:
    """Axes of a figure of their own: half a page wide, so that they also fit on a telephone."""
    figure = plots.require_matplotlib()(figsize=(_WIDTH, height), layout="constrained")
    return figure.add_subplot(projection=projection)


def picture(caption: str, axes: Any) -> Picture:
    """What was drawn, with its caption."""
    content = io.BytesIO()
    axes.figure.savefig(content, format="png", dpi=170, facecolor="white")
    url = "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
    return Picture(caption, url)


# ------------------------------------------------------------------------------ the large problems


def rows_and_boundary(problem: Problem, svc: SVC) -> list[Picture]:
    """Some rows as they come, and what was learnt of all of them."""
    from matplotlib.patches import Circle

    left, right = new_axes(_WIDTH), new_axes(_WIDTH)
    for label, color in _COLORS.items():
        rows = problem.X[:_ROWS_SHOWN][problem.y[:_ROWS_SHOWN] == label]
        left.scatter(*rows.T, s=4, color=color, alpha=0.6, linewidths=0)
    _draw_values(right, svc, (-1.05, 1.05, -1.05, 1.05), 420)
    right.add_patch(Circle((0, 0), 1.0, fill=False, color=plots.GREY, linewidth=0.8))
    for axes in (left, right):
        axes.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal", xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    return [
        picture(f"{_ROWS_SHOWN:,} of the {len(problem.y):,} rows, as they come", left),
        picture("The decision function: zero on the black line, margins dashed", right),
    ]


def convergence(runs: dict[str, SVC]) -> list[Picture]:
    """Gap and objective of several solvers on the same problem."""
    left, right = new_axes(3.6), new_axes(3.6)
    colors = (plots.BLUE, plots.ORANGE, plots.GREEN)
    for (name, svc), color in zip(runs.items(), colors, strict=True):
        plots.draw_gap(left, svc.trace_[0], svc.gap_[0], color=color, label=name)
        plots.draw_objective(right, svc.trace_[0], color=color, label=name)
    left.axhline(1e-3, color="black", linestyle="--", linewidth=1)
    for axes in (left, right):
        axes.set_xscale("log")
    right.legend(frameon=False)
    return [
        picture("Certified gap (dots), gap on the working set (thin), tolerance (dashed)", left),
        picture("The dual objective", right),
    ]


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


def ball() -> list[Picture]:
    """The small problem in the plane, and how far its images are from the centre of their ball."""
    X, y = small_problem()
    settings: dict[str, Any] = {
        "C": _C,
        "gamma": _GAMMA,
        "solver": "mfw",
        "start": "pair",
        "random_state": 0,
    }
    optimum = SVC(tol=1e-6, **settings).fit(X, y)
    pictures = [_plane(optimum, X, y)]
    for n_steps in _STEPS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it ends early is what is to be seen
            svc = SVC(max_iter=n_steps, **settings).fit(X, y)
        pictures.append(_ball(svc, X, y, f"After {n_steps} steps"))
    name = f"After {int(optimum.n_iter_[0]):,} steps, gap 1e-6"
    return [*pictures, _ball(optimum, X, y, name)]


def _plane(svc: SVC, X: NDArray[np.float64], y: NDArray[np.int64]) -> Picture:
    axes = new_axes(3.4)
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    _draw_values(axes, svc, (low[0], high[0], low[1], high[1]), 240)
    _draw_rows(axes, X, y, svc.support_)
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(False)
    return picture("The rows, the boundary and its margins; support vectors are ringed", axes)


def _ball(svc: SVC, X: NDArray[np.float64], y: NDArray[np.int64], name: str) -> Picture:
    """Each row at the true distance of its image from the centre, in radii of the ball, and in the
    direction in which it lies in the plane.
    """
    gradient, objective, delta2 = _ball_of(svc, X, y)
    radius = np.sqrt(delta2 - objective)
    distance = np.sqrt(delta2 + objective - 2 * gradient) / radius
    angle = np.arctan2(*(X - X.mean(axis=0)).T[::-1])
    nearest, farthest = min(_NEAREST, distance.min() - 0.01), max(_FARTHEST, distance.max() + 0.01)
    full = np.linspace(0, 2 * np.pi, 200)
    axes = new_axes(_WIDTH, "polar")
    axes.fill_between(full, nearest, 1.0, color="#eef3e6", zorder=0)
    axes.plot(full, np.ones(200), color=plots.GREEN, linewidth=1.8, zorder=1)
    _draw_rows(axes, np.column_stack([angle, distance]), y, svc.support_)
    outside = int(np.count_nonzero(distance > 1 + 1e-3))
    said = f"{outside} rows outside" if outside else "every row inside"
    axes.set(ylim=(nearest, farthest), xticks=[], yticks=_TICKS)
    axes.set_yticklabels([f"{tick:g} r" for tick in _TICKS], color="#555555")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[:].set_visible(False)
    return picture(f"{name}: {said}, r = {radius:.4f}", axes)


def _draw_rows(axes: Any, places: NDArray[Any], y: NDArray[Any], ringed: NDArray[Any]) -> None:
    for label, color in _COLORS.items():
        some = places[y == label]
        axes.scatter(*some.T, s=26, color=color, edgecolors="white", linewidths=0.6, zorder=3)
    rings = {"facecolors": "none", "edgecolors": "black", "linewidths": 0.9}
    axes.scatter(*places[ringed].T, s=70, zorder=4, **rings)


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
