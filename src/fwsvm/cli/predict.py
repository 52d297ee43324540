"""``fwsvm predict``"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click
import numpy as np

from ..model_files import TableModel
from ..whole_file import whole_file
from . import inputs
from .screen import OUTPUT, Command, as_json, option, output_options, quietly


@click.command(cls=Command)
@click.argument("model", type=inputs.MODEL)
@click.argument("data", type=inputs.DATA)
@option("--output", "-o", type=OUTPUT, help="File; by default standard output.")
@option(
    "--scores",
    is_flag=True,
    help="Also the values of the decision function: CSV with a header. For two classes there is "
    "one, positive for the second class.",
)
@output_options
@inputs.reading_options
def predict(model: str, data: str, **settings: Any) -> None:
    """Print the class of each row of DATA, one a line.

    LIBSVM text of any size is read and answered piece by piece. MODEL may also be a text model of
    LIBSVM. Targets in DATA are not looked at.
    """
    with quietly(settings["quiet"]), inputs.tables(data, model, settings) as (known, parts):
        write = _as_json if settings["as_json"] else _as_text
        with _written(settings["output"]) as out:
            write(known, parts, settings["scores"], out)


def _as_text(known: TableModel, parts: inputs.Parts, scores: bool, out: TextIO) -> None:
    if scores:
        out.write(",".join(["label", *_names_of_scores(known)]) + "\n")
    for model, part in parts:
        labels = model.predict(part).tolist()
        if not scores:
            out.writelines(f"{label}\n" for label in labels)
            continue
        values = model.decision_function(part).reshape(len(labels), -1).tolist()
        for label, row in zip(labels, values, strict=True):
            out.write(",".join([str(label), *map(repr, row)]) + "\n")


def _names_of_scores(model: TableModel) -> list[str]:
    classes = model.svc.classes_.tolist()
    if len(classes) == 2:
        return ["score"]
    if model.svc.decision_function_shape == "ovo":
        pairs = [(a, b) for k, a in enumerate(classes) for b in classes[k + 1 :]]
        return [f"{a} against {b}" for a, b in pairs]
    return [str(name) for name in classes]


def _as_json(known: TableModel, parts: inputs.Parts, scores: bool, out: TextIO) -> None:
    labels, values = [], []
    for model, part in parts:
        labels += model.predict(part).tolist()
        if scores:
            values.append(model.decision_function(part))
    result: dict[str, Any] = {"labels": labels}
    if scores:
        result["scores"] = np.concatenate(values) if values else []
        result["names_of_scores"] = _names_of_scores(known)
    out.write(as_json(result) + "\n")


@contextmanager
def _written(path: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that is there in full or not at all."""
    if path is None:
        yield sys.stdout
        return
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8")
        yield text
        text.detach()  # with all that was written, and the file left open
