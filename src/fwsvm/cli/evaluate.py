"""``fwsvm evaluate``"""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table as Shown
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from ..model_files import TableModel
from . import inputs
from .screen import Command, output_options, quietly, show_json, show_table

_MOST_CLASSES_OF_TABLE = 15


@click.command(cls=Command)
@click.argument("model", type=inputs.MODEL)
@click.argument("data", type=inputs.DATA)
@output_options
@inputs.reading_options
def evaluate(model: str, data: str, **settings: Any) -> None:
    """Compare the predictions of MODEL with the classes in DATA.

    Accuracy, precision and recall of each class, and which classes are taken for which others.
    """
    with quietly(settings["quiet"]), inputs.tables(data, model, settings) as (known, parts):
        truth, predicted = _labels(known, parts, data)
    result = _measured(truth, predicted)
    if settings["as_json"]:
        show_json(result)
    elif settings["quiet"]:
        click.echo(f"{result['accuracy']:.6f}")
    else:
        _show(result)


def _labels(known: TableModel, parts: inputs.Parts, data: str) -> tuple[NDArray[Any], NDArray[Any]]:
    truth, predicted = [], []
    for model, part in parts:
        if part.y is None:
            raise click.UsageError(
                f"{data} does not say what its classes are. Name their column with --target."
            )
        truth.append(part.y)
        predicted.append(model.predict(part))
    if not truth or not sum(map(len, truth)):
        raise ValueError(f"{data}: expected rows to evaluate on, there are none")
    ours, theirs = np.concatenate(predicted), np.concatenate(truth)
    if (ours.dtype.kind in "UO") != (theirs.dtype.kind in "UO"):
        raise ValueError(
            f"the classes of the model are like {known.svc.classes_[0]!r}, those of {data} like "
            f"{theirs[0]!r}: they cannot be compared. Is --target the right column?"
        )
    return theirs, ours


def _measured(truth: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    classes = np.unique(np.concatenate([truth, predicted]))
    per_class = precision_recall_fscore_support(
        truth, predicted, labels=classes, zero_division=np.nan
    )
    names = ("precision", "recall", "f1", "rows")
    return {
        "rows": len(truth),
        "accuracy": float((truth == predicted).mean()),
        "classes": [
            {"class": label, **{name: _number(v) for name, v in zip(names, values, strict=True)}}
            for label, *values in zip(classes.tolist(), *per_class, strict=True)
        ],
        "confusion": confusion_matrix(truth, predicted, labels=classes),
    }


def _number(value: Any) -> Any:
    """None where a share of nothing is asked for."""
    return None if np.isnan(value) else value.item()


def _show(result: dict[str, Any]) -> None:
    click.echo(f"accuracy {result['accuracy']:.2%} of {result['rows']:,} rows\n")
    table = Shown(box=None, padding=(0, 2, 0, 0))
    for name in ("class", "precision", "recall", "f1", "rows"):
        table.add_column(name, justify="left" if name == "class" else "right")
    for row in result["classes"]:
        shares = ["" if row[k] is None else f"{row[k]:.4f}" for k in ("precision", "recall", "f1")]
        table.add_row(str(row["class"]), *shares, f"{row['rows']:,}")
    show_table(table)
    click.echo()
    names = [str(row["class"]) for row in result["classes"]]
    if len(names) <= _MOST_CLASSES_OF_TABLE:
        _show_confusion(names, result["confusion"])
    else:
        _show_largest_confusions(names, result["confusion"])


def _show_confusion(names: list[str], counts: NDArray[np.int64]) -> None:
    click.echo("true class below, predicted as")
    table = Shown(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    for name, row in zip(names, counts, strict=True):
        table.add_row(name, *(f"{count:,}" if count else "." for count in row))
    show_table(table)


def _show_largest_confusions(names: list[str], counts: NDArray[np.int64]) -> None:
    table = Shown(box=None, padding=(0, 2, 0, 0))
    for heading in ("true class", "predicted as", "rows"):
        table.add_column(heading, justify="right" if heading == "rows" else "left")
    wrong = counts - np.diag(np.diag(counts))
    for place in np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CLASSES_OF_TABLE]:
        i, j = np.unravel_index(place, wrong.shape)
        if wrong[i, j]:
            table.add_row(names[i], names[j], f"{wrong[i, j]:,}")
    show_table(table)
