"""CSV and TSV. Columns are numbers or categories; nothing in between is guessed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import arrow_text
from .table import Columns, Table, Wanted, table_of_columns

_ROWS_OF_PIECE = 8192
_Record: TypeAlias = tuple[int, list[str]]  # line number and cells
_DELIMITERS = {"csv": ",", "tsv": "\t"}


@dataclass(frozen=True)
class _Layout:
    """What the first line says."""

    names: list[str]
    target: str | None
    as_categories: set[str]
    header_lines: int


def read(stream: io.BufferedReader, form: str, wanted: Wanted) -> Table:
    """The table of a file whose first line is a header unless it holds a number."""

    def begun(text: io.TextIOWrapper) -> tuple[_Layout, Iterator[_Record]]:
        records = _records(text, _DELIMITERS[form])
        line, first = next(records, (0, list[str]()))
        if not first:
            raise ValueError("expected at least one row, the file is empty")
        has_header = not any(map(_is_number, first))
        names = _checked_names(first) if has_header else _numbered(first)
        layout = _Layout(names, *wanted.among(names), line if has_header else 0)
        return layout, records if has_header else chain([(line, first)], records)

    columns = None
    if stream.seekable():
        begin = stream.tell()
        with _decoded(stream) as text:
            layout, _ = begun(text)
        stream.seek(begin)
        columns = arrow_text.columns(
            stream,
            delimiter=_DELIMITERS[form],
            names=layout.names,
            skipped_lines=layout.header_lines,
            as_categories=layout.as_categories,
        )
        stream.seek(begin)
    if columns is None:
        with _decoded(stream) as text:
            layout, records = begun(text)
            columns = _columns(layout, records)
    if layout.target is not None:
        _check_integers(columns[layout.target], layout.target)
    return table_of_columns(columns, target=layout.target, dtype=wanted.dtype)


@contextmanager
def _decoded(stream: io.BufferedReader) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        yield text
    except UnicodeDecodeError as error:
        raise ValueError(f"expected UTF-8 text: {error}") from None
    finally:
        text.detach()


def _columns(layout: _Layout, records: Iterator[_Record]) -> Columns:
    """The careful way: each cell is looked at, and what is wrong with it said."""
    columns = [_Column(name, name in layout.as_categories) for name in layout.names]
    while piece := list(islice(records, _ROWS_OF_PIECE)):
        _add(columns, piece)
    if not columns[0].parts:
        raise ValueError("expected rows below the header, there are none")
    return {column.name: np.concatenate(column.parts) for column in columns}


def _check_integers(targets: NDArray[Any], name: str) -> None:
    """Text was read as float64, which does not hold every large integer."""
    if targets.dtype != object and (np.abs(targets) >= 2**53).any():
        raise ValueError(
            f"column {name!r}: targets from 2^53 on are not held exactly. If they are names of "
            f"classes, read them as such: categorical=[{name!r}], or --categorical in the shell."
        )


def _records(text: io.TextIOWrapper, delimiter: str) -> Iterator[_Record]:
    """Each record; lines without anything are left out."""
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None


def _checked_names(cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    seen: set[str] = set()
    for k, name in enumerate(names):
        if not name:
            raise ValueError(
                f"column {k + 1} has no name in the header. Name it, or leave it out (pandas "
                "writes the index so: use to_csv(..., index=False))."
            )
        if name in seen:
            raise ValueError(f"the name {name!r} comes twice in the header")
        seen.add(name)
    return names


def _numbered(cells: list[str]) -> list[str]:
    return [f"column {k + 1}" for k in range(len(cells))]


def _add(columns: list[_Column], records: list[_Record]) -> None:
    for line, cells in records:
        if len(cells) != len(columns):
            raise ValueError(
                f"line {line}: expected {len(columns)} cells, got {len(cells)}: "
                f"{','.join(cells)[:60]!r}"
            )
    lines = [line for line, _ in records]
    by_column = zip(*(cells for _, cells in records), strict=True)
    for column, values in zip(columns, by_column, strict=True):
        column.add(lines, values)


class _Column:
    """One column, growing piece by piece."""

    def __init__(self, name: str, is_category: bool) -> None:
        self.name = name
        self.is_category = is_category
        self.parts: list[NDArray[Any]] = []
        self.first_seen: tuple[int, str] | None = None
        self.known: dict[str, str] = {}  # one object for each category

    def add(self, lines: list[int], cells: Sequence[str]) -> None:
        numbers = None if self.is_category else _numbers(cells)
        if numbers is not None and not self.known:
            if not np.isfinite(numbers).all():
                place = int(np.flatnonzero(~np.isfinite(numbers))[0])
                raise self._error(lines[place], cells[place], "a finite number")
            self.parts.append(numbers)
            self.first_seen = self.first_seen or (lines[0], cells[0])
            return
        stripped = [cell.strip() for cell in cells]
        for line, cell in zip(lines, stripped, strict=True):
            if not cell:
                raise self._error(line, cell, "a value (fill in what is missing, or drop the row)")
            if not self.is_category:
                self._check_kind(line, cell)
        self.parts.append(
            np.array([self.known.setdefault(cell, cell) for cell in stripped], dtype=object)
        )

    def _check_kind(self, line: int, cell: str) -> None:
        """Numbers and other text do not mix, unless the column was said to hold categories."""
        if self.first_seen is None:
            self.first_seen = (line, cell)
        first_line, first = self.first_seen
        if cell not in self.known and _is_number(cell) != _is_number(first):
            raise ValueError(
                f"column {self.name!r} holds both numbers and other text: {first!r} in line "
                f"{first_line}, {cell!r} in line {line}. Correct the cells, or read the column as "
                f"categories: categorical=[{self.name!r}], or --categorical in the shell."
            )

    def _error(self, line: int, cell: str, expected: str) -> ValueError:
        return ValueError(f"line {line}, column {self.name!r}: expected {expected}, got {cell!r}")


def _numbers(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """The cells as numbers if all of them are."""
    if any("_" in cell for cell in cells):  # float() reads 1_000
        return None
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return None


def _is_number(cell: str) -> bool:
    return _numbers([cell]) is not None
