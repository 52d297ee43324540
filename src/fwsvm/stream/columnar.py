"""Parquet and Arrow (Feather) data sets: one file, a folder of files, or a list of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ..data.table import cast, column_name, integers_where_possible
from .source import (
    Block,
    Paths,
    Settings,
    Source,
    changed,
    checked_dtype,
    files_of,
    rows_of_block,
)


class Span(NamedTuple):
    """A block: row groups of a file, or some rows of one."""

    file: Path
    groups: tuple[int, ...]
    begin: int  # row within the groups
    end: int


class Columnar(Source):
    """Columns of numbers, and one of classes."""

    suffixes: tuple[str, ...]
    group = "row group"

    def __init__(
        self,
        path: Paths | Sequence[Paths],
        target: str | int,
        weight: str | int | None,
        columns: Sequence[str | int] | None,
        dtype: DTypeLike,
        settings: Settings,
    ) -> None:
        try:
            import pyarrow
        except ImportError:
            raise ImportError(
                "fwsvm.stream.parquet and arrow need pyarrow: pip install fwsvm[parquet]",
                name="pyarrow",
            ) from None
        self.files = files_of(path, self.suffixes)
        super().__init__(settings, self.files)
        self.dtype = checked_dtype(dtype)
        try:
            described = [self.describe(file) for file in self.files]
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(
                f"{path}: damaged, cut short, or not what it should be: {error}"
            ) from (error)
        self._schema = described[0][0]
        for file, (schema, _) in zip(self.files, described, strict=True):
            if schema.names != self._schema.names:
                raise ValueError(f"{file} has other columns than {self.files[0]}.")
        self._choose(target, weight, columns)
        width = self.dtype.itemsize * len(self.features)
        self._spans = [
            span
            for file, (_, sizes) in zip(self.files, described, strict=True)
            for span in spans(file, sizes, rows_of_block(width))
        ]
        self._cursor: tuple[Span, Generator[Any, None, None]] | None = None

    def _choose(
        self, target: str | int, weight: str | int | None, columns: Sequence[str | int] | None
    ) -> None:
        names = list(self._schema.names)
        where = f"{self.files[0]}: "
        try:
            self.target = column_name(names, target)
            self.weight = None if weight is None else column_name(names, weight)
            wanted = names if columns is None else [column_name(names, c) for c in columns]
        except ValueError as error:
            raise ValueError(f"{where}{error}") from None
        self.features = [name for name in wanted if name not in (self.target, self.weight)]
        if not self.features:
            raise ValueError(f"{where}expected at least one column besides the target")
        for name in [*self.features, *([self.weight] if self.weight else [])]:
            _check_numeric(where, name, self._schema.field(name).type)
        self.feature_names, self.n_features = self.features, len(self.features)

    @abstractmethod
    def describe(self, file: Path) -> tuple[Any, list[int]]:
        """The schema, and how many rows each group has."""

    @abstractmethod
    def tables(self, span: Span, names: list[str]) -> Generator[Any, None, None]:
        """The rows of the groups of a span, in parts of as many rows as it has."""

    def name_of(self, number: int) -> str:
        span = self._spans[number]
        groups = f"{self.group} {span.groups[0]}"
        if len(span.groups) > 1:
            groups = f"{self.group}s {span.groups[0]} to {span.groups[-1]}"
        return f"{span.file}, {groups}, rows {span.begin + 1} to {span.end} of it"

    def read(self, number: int) -> Block | None:
        import pyarrow

        if number >= len(self._spans):
            return None
        try:
            table = self._table(self._spans[number])
            table.validate(full=True)
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"damaged or cut short: {error}") from error
        X = np.empty((table.num_rows, len(self.features)), dtype=self.dtype)
        for place, name in enumerate(self.features):
            X[:, place] = cast(_numbers(table[name], name), self.dtype, f"column {name!r}")
        y = _targets(table[self.target], self.target)
        weight = None if self.weight is None else _numbers(table[self.weight], self.weight)
        return Block(X, y, weight)

    def _table(self, span: Span) -> Any:
        """Goes on where it is in a group that is read in parts, else begins it anew."""
        last, parts = self._cursor or (None, None)
        follows = last and last[:2] == span[:2] and last.end == span.begin
        if parts is None or not follows:
            self.close()
            names = [*self.features, self.target, *([self.weight] if self.weight else [])]
            length = self._spans_of(span)[0].end
            parts = self.tables(span._replace(begin=0, end=length), names)
            for _ in range(span.begin // length):
                next(parts)
        self._cursor = (span, parts)
        table = next(parts, None)
        if table is None or table.num_rows != span.end - span.begin:
            raise changed(str(span.file))
        return table

    def close(self) -> None:
        if self._cursor is not None:
            self._cursor[1].close()  # and so its file
            self._cursor = None

    def _spans_of(self, span: Span) -> list[Span]:
        return [other for other in self._spans if other[:2] == span[:2]]


class Parquet(Columnar):
    suffixes = (".parquet", ".pq")

    def describe(self, file: Path) -> tuple[Any, list[int]]:
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(file) as opened:
            meta = opened.metadata
            return opened.schema_arrow, [
                meta.row_group(g).num_rows for g in range(meta.num_row_groups)
            ]

    def tables(self, span: Span, names: list[str]) -> Generator[Any, None, None]:
        import pyarrow
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(span.file, pre_buffer=False) as file:
            if len(span.groups) > 1:
                yield file.read_row_groups(list(span.groups), columns=names, use_threads=False)
                return
            batches = file.iter_batches(
                span.end, row_groups=list(span.groups), columns=names, use_threads=False
            )
            for batch in batches:
                yield pyarrow.Table.from_batches([batch])


class Arrow(Columnar):
    suffixes = (".arrow", ".feather")
    group = "record batch"

    def describe(self, file: Path) -> tuple[Any, list[int]]:
        import pyarrow

        with pyarrow.memory_map(str(file)) as mapped, pyarrow.ipc.open_file(mapped) as opened:
            batches = range(opened.num_record_batches)
            return opened.schema, [opened.get_batch(b).num_rows for b in batches]

    def tables(self, span: Span, names: list[str]) -> Generator[Any, None, None]:
        import pyarrow

        with pyarrow.memory_map(str(span.file)) as mapped, pyarrow.ipc.open_file(mapped) as file:
            batches = [file.get_batch(group) for group in span.groups]
            table = pyarrow.Table.from_batches(batches).select(names)
            for begin in range(0, table.num_rows, span.end):
                yield table.slice(begin, span.end)


def spans(file: Path, sizes: list[int], most: int) -> Iterator[Span]:
    """Small groups together, large ones in parts."""
    together: list[int] = []
    for group, size in enumerate(sizes):
        if together and sum(sizes[g] for g in together) + size > most:
            yield Span(file, tuple(together), 0, sum(sizes[g] for g in together))
            together = []
        if size > most:
            for begin in range(0, size, most):
                yield Span(file, (group,), begin, min(begin + most, size))
        elif size:
            together.append(group)
    if together:
        yield Span(file, tuple(together), 0, sum(sizes[g] for g in together))


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def _check_numeric(where: str, name: str, kind: Any) -> None:
    if not _is_number(kind):
        raise ValueError(
            f"{where}column {name!r} must hold numbers to be read in blocks, got {kind}. Encode "
            "it, or leave it out with columns=[...]."
        )


def _numbers(column: Any, name: str) -> Any:
    import pyarrow

    _check_complete(column, name)
    if pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    return column.to_numpy()


def _targets(column: Any, name: str) -> Any:
    import pyarrow

    _check_complete(column, name)
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_number(column.type):
        return integers_where_possible(_numbers(column, name))
    if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
        return column.to_numpy().astype(str)
    raise ValueError(f"column {name!r} must hold numbers or strings, got {column.type}.")


def _check_complete(column: Any, name: str) -> None:
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise ValueError(
            f"row {row + 1}, column {name!r}: expected a value (fill in what is missing, or drop "
            "the row), got null"
        )
