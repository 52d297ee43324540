"""Which data sets there are: one line for each part in registry.tsv."""

from __future__ import annotations

import csv
import difflib
import functools
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..data import Table, read

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Part:
    """The train or test part of a data set.

    Attributes
    ----------
    name, split : str
    file : str
        Name of the file in a data folder, without the ending of its packing.
    rows, features : int
    classes : int or None
        None where targets are numbers.
    paper : str or None
        Name in Table 1 of the paper on Frank-Wolfe methods for SVMs, where it is one of its sets.
    source : str
        Page that describes the set.
    url : str or None
        Public address of the file; None where the set is not published as LIBSVM text.
    checksum : str or None
        SHA-256 of the content, see `content_checksum`; None where no copy was at hand.
    exact : bool
        Whether every copy must have this checksum. It is False where our copy was made from another
        form of the set than the public text, so that last digits or the order of rows may differ;
        then only rows, features and classes are checked.
    licence : str
        As it is generally stated.
    """

    name: str
    split: Split
    file: str
    rows: int
    features: int
    classes: int | None
    paper: str | None
    source: str
    url: str | None
    checksum: str | None
    exact: bool
    licence: str


@functools.cache
def available() -> tuple[Part, ...]:
    """Every part of every data set that has a name here."""
    text = (files(__package__) / "registry.tsv").read_text(encoding="utf-8")
    return tuple(_part(row) for row in csv.DictReader(text.splitlines(), delimiter="\t"))


def _part(row: dict[str, Any]) -> Part:
    return Part(
        name=row["name"],
        split=row["split"],
        file=row["file"],
        rows=int(row["rows"]),
        features=int(row["features"]),
        classes=int(row["classes"]) if row["classes"] else None,
        paper=row["paper"] or None,
        source=row["source"],
        url=row["url"] or None,
        checksum=row["checksum"] or None,
        exact=row["exact"] == "yes",
        licence=row["licence"],
    )


def part_of(name: str, split: str) -> Part:
    """The part with this name."""
    parts = {part.split: part for part in available() if part.name == name}
    if not parts:
        names = sorted({part.name for part in available()})
        near = difflib.get_close_matches(name, names)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(names)}."
        raise ValueError(f"there is no data set {name!r}. {hint}")
    if split not in parts:
        raise ValueError(f"{name} has the parts {', '.join(parts)}. Got {split!r} instead.")
    return parts[split]


def read_checked(part: Part, path: Path) -> Table:
    """Reads a file of that part, whatever its packing, and refuses one that is not it."""
    table = read(path, format="libsvm", n_features=part.features)
    assert table.y is not None  # LIBSVM text has labels
    classes = None if part.classes is None else len(np.unique(table.y))
    if (table.n_rows, classes) != (part.rows, part.classes):
        raise ValueError(
            f"{path} is not the {part.split} part of {part.name}: expected {part.rows} rows and "
            f"{part.classes} classes, got {table.n_rows} and {classes}"
        )
    if part.exact and part.checksum is not None:
        found = content_checksum(table)
        if found != part.checksum:
            raise ValueError(
                f"{path} is not the {part.split} part of {part.name}: its content has the "
                f"checksum {found}, expected {part.checksum}"
            )
    return table


def content_checksum(table: Table) -> str:
    """SHA-256 of what a LIBSVM file says, however it is packed and however numbers are written.

    The checksums of the packed files at the public addresses are not known to us, and their
    packing may change without a change of the data. So this is over the arrays as read in float32:
    shape, targets (float64), row ends (int64), indices from 0 (int32) and values (float32) without
    zeros, all little-endian.
    """
    X = table.X.copy()
    X.eliminate_zeros()
    digest = hashlib.sha256(f"{X.shape[0]} {X.shape[1]}\n".encode())
    for array, kind in ((table.y, "<f8"), (X.indptr, "<i8"), (X.indices, "<i4"), (X.data, "<f4")):
        digest.update(np.ascontiguousarray(array, dtype=kind).data)
    return digest.hexdigest()
