"""``fwsvm tune``"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from rich.table import Table as Shown
from rich.text import Text
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

from .. import plots
from ..data import Preparation, Table
from ..estimators import SVC, gamma_of
from ..model_files import TableModel, save_model
from ..rows import Rows
from ..tuning import Grid, search
from . import inputs, parameters
from .live import watching
from .screen import (
    OUTPUT,
    Command,
    notice,
    option,
    output_options,
    quietly,
    seconds,
    show_facts,
    show_json,
    show_table,
)

_SCORES: dict[str, Callable[..., float]] = {
    "accuracy": accuracy_score,
    "balanced-accuracy": balanced_accuracy_score,
    "f1-macro": lambda truth, predicted: f1_score(truth, predicted, average="macro"),
}
_KERNELS_WITH_GAMMA = ("rbf", "poly", "sigmoid", "laplacian")
_MULTIPLES_OF_SCALE = tuple(4.0**k for k in range(-4, 3))
_SECTION = "Grid"
_EXAMPLES = """\b
Examples:
  fwsvm tune heart_scale --plot heat.png
  fwsvm tune wine.csv --target quality --scale standard -o wine.fwsvm
  fwsvm tune a9a -C 0.1:1000 --gamma 0.01,0.03,0.1 --folds 3
"""


class Values(click.ParamType):  # type: ignore[type-arg]  # of click before 8.2
    """``0.1,1,10``, or ``0.1:1000`` in powers of ten, or ``1:64:2`` in powers of two."""

    name = "values"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """As in the help."""
        return "VALUES"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[float, ...]:
        """Ascending positive numbers."""
        if isinstance(value, tuple):
            return value
        try:
            values = self._range(value) if ":" in value else [float(v) for v in value.split(",")]
        except ValueError:
            self.fail(
                f"expected numbers such as 0.1,1,10 or a range such as 0.1:1000. Got {value!r}."
            )
        if not values or not all(0 < v < np.inf for v in values):
            self.fail(f"expected positive numbers. Got {value!r}.")
        return tuple(sorted(set(values)))

    @staticmethod
    def _range(text: str) -> list[float]:
        low, high, factor = map(float, f"{text}:10".split(":")[:3])
        if not (0 < low <= high < np.inf and 1 < factor < np.inf):
            raise ValueError(text)
        count = int(np.log(high / low) / np.log(factor) + 1e-9) + 1
        return [float(f"{low * factor**k:.12g}") for k in range(count)]


@click.command(cls=Command, epilog=_EXAMPLES)
@click.argument("data", type=inputs.DATA)
@option(
    "--C",
    "-C",
    "Cs",
    type=Values(),
    default="0.01:1000",
    show_default=True,
    section=_SECTION,
    help="Values of C: 0.1,1,10, or a range LOW:HIGH in powers of ten, or LOW:HIGH:FACTOR.",
)
@option(
    "--gamma",
    "gammas",
    type=Values(),
    section=_SECTION,
    help='Values of gamma; by default "scale" times 4^-4 to 4^2.',
)
@option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    section=_SECTION,
    help="Parts of the data; each is predicted by a model of the others.",
)
@option(
    "--score",
    type=click.Choice(list(_SCORES)),
    default="accuracy",
    show_default=True,
    section=_SECTION,
    help="What to maximise.",
)
@option(
    "--output",
    "-o",
    type=OUTPUT,
    help="Train on all rows with the best values, and write this model file.",
)
@option("--plot", type=OUTPUT, help="Draw a heat map of the scores (PNG).")
@output_options
@inputs.training_options
@parameters.parameter_options(
    without=("C", "gamma", "warm_start", "verbose"),
    notes={"kernel": "The kernels without gamma are tuned in C only."},
)
def tune(data: str, **settings: Any) -> None:
    """Find C and gamma by cross-validation.

    Scaling is learnt in each fold from its own training rows. Ctrl-C once ends with what has been
    measured; twice stops.
    """
    began = time.perf_counter()
    svc = parameters.checked(parameters.chosen(settings))
    if svc.kernel == "precomputed":
        raise click.UsageError(
            "--kernel precomputed has nothing to tune but C: compare models by train."
        )
    if settings["plot"]:
        plots.require_matplotlib()
    with quietly(settings["quiet"]):
        table = inputs.training_table(data, settings)
        svc = parameters.with_classes_of(svc, table.y)
        grid = _search(table, svc, settings)
        row, column = grid.best
        svc.set_params(C=grid.Cs[column], gamma=grid.gammas[row])
        if settings["plot"]:
            plots.heat_map(settings["plot"], grid.scores, grid.Cs, grid.gammas, settings["score"])
        if settings["output"]:
            _keep(table, svc, settings)
    if settings["as_json"]:
        show_json(_summary(grid, settings, time.perf_counter() - began))
    else:
        _show(grid, settings, time.perf_counter() - began)


def _search(table: Table, svc: SVC, settings: dict[str, Any]) -> Grid:
    gammas = settings["gammas"] or _gammas(table, svc, settings["scale"])
    with watching(quiet=settings["quiet"]) as watch:

        def progress(done: int, total: int) -> bool:
            watch.text = f"fit {done} of {total}"
            return watch.stopped

        return search(
            table,
            svc,
            settings["Cs"],
            gammas,
            scale=settings["scale"],
            n_folds=settings["folds"],
            score=_SCORES[settings["score"]],
            seed=settings["random_state"] or 0,
            progress=progress,
        )


def _gammas(table: Table, svc: SVC, scale: Any) -> tuple[float, ...]:
    if svc.kernel not in _KERNELS_WITH_GAMMA:
        return (1.0,)
    rows = Rows(Preparation(scale).fit(table).apply(table))
    base = gamma_of("scale", rows, np.ones(len(rows)))
    return tuple(float(f"{base * factor:.4g}") for factor in _MULTIPLES_OF_SCALE)


def _keep(table: Table, svc: SVC, settings: dict[str, Any]) -> None:
    preparation = Preparation(settings["scale"]).fit(table)
    with watching(quiet=settings["quiet"]):
        svc.fit(preparation.apply(table), table.y)
    save_model(TableModel(preparation, svc, table.target_name), settings["output"])
    if not settings["quiet"]:
        notice(f"wrote {settings['output']}")


def _summary(grid: Grid, settings: dict[str, Any], elapsed: float) -> dict[str, Any]:
    row, column = grid.best
    scores = grid.scores
    return {
        "C": grid.Cs[column],
        "gamma": grid.gammas[row],
        settings["score"]: float(scores[row, column]),
        "grid": {
            "C": grid.Cs,
            "gamma": grid.gammas,
            "scores": [[None if np.isnan(s) else s for s in line] for line in scores.tolist()],
        },
        "folds": settings["folds"],
        "fits": grid.n_measured,
        "stopped": grid.n_measured < grid.folds.size,
        "model": settings["output"],
        "seconds": elapsed,
    }


def _show(grid: Grid, settings: dict[str, Any], elapsed: float) -> None:
    row, column = grid.best
    found = f"-C {grid.Cs[column]:g} --gamma {grid.gammas[row]:g}"
    if settings["quiet"]:
        click.echo(found)
        return
    scores = grid.scores
    table = Shown(
        box=None,
        padding=(0, 2, 0, 0),
        title=f"{settings['score']} of {settings['folds']} folds",
        title_justify="left",
    )
    table.add_column("gamma \\ C", justify="right", style="dim")
    for C in grid.Cs:
        table.add_column(f"{C:g}", justify="right")
    for i, gamma in enumerate(grid.gammas):
        cells = ["" if np.isnan(s) else f"{s:.4f}" for s in scores[i]]
        if i == row:
            styled = [Text(c, style="bold" if j == column else "") for j, c in enumerate(cells)]
            table.add_row(f"{gamma:g}", *styled)
        else:
            table.add_row(f"{gamma:g}", *cells)
    show_table(table)
    facts = [
        ("best", f"{found}   {settings['score']} {scores[row, column]:.4f}"),
        ("stopped", _stopped(grid)),
        ("time", seconds(elapsed)),
        ("plot", settings["plot"]),
    ]
    show_facts("", facts)


def _stopped(grid: Grid) -> str | None:
    """What Ctrl-C left out."""
    if grid.n_measured == grid.folds.size:
        return None
    return f"after {grid.n_measured} of {grid.folds.size} fits; the scores are of whole folds"
