"""How commands read data and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar

import click
import numpy as np
import scipy.sparse

from ..data import Preparation, Table, read, read_blocks
from ..data.sources import FORMATS, opened, recognise
from ..estimators import SVC
from ..kernels import Precomputed
from ..model_files import TableModel, load_model
from .screen import option

F = TypeVar("F", bound=Callable[..., Any])
Parts: TypeAlias = Iterator[tuple[TableModel, Table]]
_SECTION = "Reading"
_ROWS_OF_BLOCK = 20_000
_ENDINGS = {".gz", ".bz2", ".xz", ".libsvm", ".svmlight", ".svm", ".csv", ".tsv", ".tab", ".txt"}
_ENDINGS |= {".parquet", ".arrow", ".feather", ".npz"}

DATA = click.Path(exists=True, dir_okay=False, allow_dash=True)
MODEL = click.Path(exists=True, dir_okay=False)


class Column(click.ParamType):  # type: ignore[type-arg]  # of click before 8.2
    """A column by name, or by number from 0, from the end if negative."""

    name = "column"

    def convert(self, value: Any, param: Any, ctx: Any) -> str | int:
        try:
            return int(value)
        except ValueError:
            return str(value)


def reading_options(command: F) -> F:
    """How to read the file."""
    for decorate in (
        option(
            "--zero-based",
            is_flag=True,
            section=_SECTION,
            help="Indices of LIBSVM text begin at 0 instead of 1.",
        ),
        option(
            "--format",
            "form",
            type=click.Choice(FORMATS),
            section=_SECTION,
            help="Of the data, instead of telling by content and ending.",
        ),
        option(
            "--target",
            type=Column(),
            section=_SECTION,
            help="Column of the classes: a name, or a number from 0 (-1 is the last). LIBSVM text "
            "and NPZ files do not need it.",
        ),
    ):
        command = decorate(command)
    return command


def training_options(command: F) -> F:
    """How to read a file to train on."""
    for decorate in (
        option(
            "--scale",
            type=click.Choice(["standard", "minmax", "none"]),
            default="none",
            show_default=True,
            section=_SECTION,
            help="standard: mean 0 and variance 1; minmax: 0 to 1. Sparse rows are only divided. "
            "Kept in the model and done to all later data.",
        ),
        option(
            "--n-features",
            type=click.IntRange(min=1),
            section=_SECTION,
            help="Of LIBSVM text, where the file lacks the last ones.",
        ),
        option(
            "--categorical",
            type=Column(),
            multiple=True,
            section=_SECTION,
            help="A column of categories although its values look like numbers; may be repeated.",
        ),
        option(
            "--double",
            is_flag=True,
            section=_SECTION,
            help="Keep the features in double precision.",
        ),
    ):
        command = decorate(command)
    return reading_options(command)


def training_table(source: str, settings: dict[str, Any]) -> Table:
    """A table with targets, to train on."""
    table = read(
        source,
        target=settings["target"],
        format=settings["form"],
        n_features=settings["n_features"],
        dtype=np.float64 if settings["double"] else np.float32,
        zero_based=settings["zero_based"],
        categorical=settings["categorical"],
    )
    if table.y is None:
        names = "" if table.feature_names is None else f": {', '.join(table.feature_names[:12])}"
        raise click.UsageError(
            f"{source} does not say what its classes are. Name their column with --target{names}"
        )
    return table


@contextmanager
def tables(
    source: str, model_path: str, settings: dict[str, Any]
) -> Iterator[tuple[TableModel, Parts]]:
    """A model, and the data to use it on: piece by piece where that is possible."""
    model = load_model(model_path)
    with opened(source) as (stream, name):
        form = settings["form"] or recognise(stream, name)
        if isinstance(model, TableModel):
            yield model, _pieces(stream, form, model, settings)
        elif form == "libsvm" and not isinstance(model._kernel, Precomputed):
            known = _as_table_model(model)
            yield known, _pieces(stream, form, known, settings)
        else:  # a text model does not say how many columns there are
            table = _whole(stream, form, None, settings)
            known = _as_table_model(load_model(model_path, n_features=table.n_columns))
            yield known, iter([(known, table)])


def _pieces(stream: BinaryIO, form: str, model: TableModel, settings: dict[str, Any]) -> Parts:
    """Each with the model that is as wide."""
    if form != "libsvm":
        yield model, _whole(stream, form, model, settings)
        return
    for table in read_blocks(
        stream,
        _ROWS_OF_BLOCK,
        format=form,
        zero_based=settings["zero_based"],
        dtype=_dtype(model),
    ):
        model = model.as_wide_as(table)
        yield model, table


def _whole(
    stream: BinaryIO, form: str, model: TableModel | None, settings: dict[str, Any]
) -> Table:
    given = settings["target"]
    known = None if model is None else model.target_name
    return read(
        stream,
        target=known if given is None else given,
        target_optional=given is None,
        format=form,
        zero_based=settings["zero_based"],
        categorical=() if model is None else model.preparation.categorical,
        dtype=np.float32 if model is None else _dtype(model),
    )


def _dtype(model: TableModel) -> Any:
    """As precise as the training rows were."""
    vectors = model.svc.support_vectors_
    return vectors.dtype if vectors.size else np.float32


def _as_table_model(svc: SVC | TableModel) -> TableModel:
    """A model without a preparation, such as LIBSVM's, for tables."""
    assert not isinstance(svc, TableModel)
    empty = scipy.sparse.csr_array((1, svc.n_features_in_), dtype=np.float32)
    return TableModel(Preparation().fit(Table(empty, None)), svc)


def name_without_endings(source: str) -> str:
    """``data/a9a.libsvm.xz`` is a9a."""
    name = Path(source).name
    while (ending := Path(name).suffix) in _ENDINGS:
        name = name.removesuffix(ending)
    return name
