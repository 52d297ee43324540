"""``fwsvm train --memory-limit``: a file in blocks instead of a table in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
import numpy as np
import scipy.sparse

from .. import stream
from ..data import Preparation, Table
from ..data.sources import opened, recognise
from ..estimators import SVC
from ..model_files import TableModel
from .screen import option

F = TypeVar("F", bound=Callable[..., Any])
_SECTION = "Larger than memory"
_UNUSED = {
    "scale": "scale the columns first",
    "categorical": "encode the columns first",
    "warm_start": "--resume goes on from a checkpoint",
}


class Bytes(click.ParamType):  # type: ignore[type-arg]  # of click before 8.2
    """Such as 2GB."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        try:
            return stream.bytes_of(value)
        except ValueError:
            self.fail(f"expected a number of bytes, such as 2GB or 500MB. Got {value!r}.")


def streaming_options(command: F) -> F:
    """How to train on a file that is larger than memory."""
    for decorate in (
        option(
            "--resume",
            is_flag=True,
            section=_SECTION,
            help="Go on from the checkpoint, if it is there.",
        ),
        option(
            "--checkpoint",
            type=click.Path(dir_okay=False),
            section=_SECTION,
            help="A file that keeps how far training has come.",
        ),
        option(
            "--memory-limit",
            type=Bytes(),
            section=_SECTION,
            help="Read DATA (Parquet, Arrow or LIBSVM text) in blocks, again and again, and use no "
            "more memory than this, such as 2GB.",
        ),
    ):
        command = decorate(command)
    return command


def check_together(settings: dict[str, Any]) -> None:
    """Options that do not go together are wrong usage."""
    if settings["memory_limit"] is None:
        for name in ("checkpoint", "resume"):
            if settings[name]:
                raise click.UsageError(f"--{name} needs --memory-limit: it is for data in blocks.")
        return
    if settings["resume"] and not settings["checkpoint"]:
        raise click.UsageError("--resume needs --checkpoint, the file to resume from.")
    for name, advice in _UNUSED.items():
        if settings[name] not in (None, False, "none", ()):
            flag = name.replace("_", "-")
            raise click.UsageError(f"--{flag} is not possible with --memory-limit: {advice}.")
    if isinstance(settings["class_weight"], dict):
        raise click.UsageError(
            "--class-weight takes no single classes with --memory-limit, only balanced."
        )


def source_of(data: str, settings: dict[str, Any]) -> stream.Source:
    """The blocks of a file."""
    if data == "-":
        raise click.UsageError("--memory-limit needs a file: its rows are read many times.")
    with opened(data) as (begin, name):
        form = settings["form"] or recognise(begin, name)
    names = ("memory_limit", "checkpoint", "resume")
    common = {name: settings[name] for name in names}
    common["dtype"] = np.float64 if settings["double"] else np.float32
    if form == "libsvm":
        wanted = {name: settings[name] for name in ("n_features", "zero_based")}
        return stream.libsvm(data, format=form, **wanted, **common)
    if form not in ("parquet", "arrow"):
        raise click.UsageError(
            f"--memory-limit reads Parquet, Arrow and LIBSVM text in blocks, and {data} is {form}. "
            "Convert it to Parquet."
        )
    if settings["target"] is None:
        raise click.UsageError(
            f"{data} does not say what its classes are. Name their column with --target"
        )
    kind = stream.parquet if form == "parquet" else stream.arrow
    return kind(data, settings["target"], **common)


def table_model(svc: SVC, source: stream.Source) -> TableModel:
    """The model, for tables with the columns of the source."""
    names = source.feature_names
    is_sparse = scipy.sparse.issparse(svc.support_vectors_)
    shape = 1, svc.n_features_in_
    X = scipy.sparse.csr_array(shape, dtype=np.float32) if is_sparse else np.ones(shape)
    table = Table(X, None, None if names is None else tuple(names), is_open=names is None)
    if names is not None:
        del svc.feature_names_in_  # the preparation has them
    return TableModel(Preparation().fit(table), svc, getattr(source, "target", None))
