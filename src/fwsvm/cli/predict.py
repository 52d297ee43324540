"""``fwsvm predict``"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click
import numpy as np

from ..data import Table
from ..model_files import TableModel
from . import inputs
from .screen import Command, option, output_options, quietly, show_json


@click.command(cls=Command)
@click.argument("model", type=inputs.MODEL)
@click.argument("data", type=inputs.DATA)
@option("--output", "-o", type=click.Path(dir_okay=False), help="File; by default standard output.")
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
        if settings["as_json"]:
            _as_json(known, parts, settings)
            return
        with _written(settings["output"]) as out:
            _as_text(known, parts, settings["scores"], out)


def _as_text(model: TableModel, parts: Iterator[Table], scores: bool, out: TextIO) -> None:
    if scores:
        out.write(",".join(["label", *_names_of_scores(model)]) + "\n")
    for part in parts:
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


def _as_json(model: TableModel, parts: Iterator[Table], settings: dict[str, Any]) -> None:
    labels, scores = [], []
    for part in parts:
        labels += model.predict(part).tolist()
        if settings["scores"]:
            scores.append(model.decision_function(part))
    result: dict[str, Any] = {"labels": labels}
    if settings["scores"]:
        result["scores"] = np.concatenate(scores) if scores else []
        result["names_of_scores"] = _names_of_scores(model)
    if settings["output"] is None:
        show_json(result)
        return
    with _written(settings["output"]) as out, _redirected(out):
        show_json(result)


@contextmanager
def _redirected(out: TextIO) -> Iterator[None]:
    before, sys.stdout = sys.stdout, out
    try:
        yield
    finally:
        sys.stdout = before


@contextmanager
def _written(path: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that is there in full or not at all."""
    if path is None:
        yield sys.stdout
        return
    own = Path(f"{path}.{uuid.uuid4().hex}.part")
    try:
        with own.open("w", encoding="utf-8") as out:
            yield out
        os.replace(own, path)
    finally:
        own.unlink(missing_ok=True)
