"""LIBSVM text larger than memory."""

from __future__ import annotations

import io
import os
import re
from contextlib import ExitStack

from numpy.typing import DTypeLike

from ..data import libsvm
from ..data.sources import opened, recognise
from ..data.table import compact
from .source import BYTES_OF_BLOCK, Block, Paths, Settings, Source, checked_dtype

_LINE = re.compile(r"(?<=, line )(\d+)")
BYTES_OF_TEXT = BYTES_OF_BLOCK  # a value takes about as many in CSR


class Libsvm(Source):
    """A file, which may be packed; where its blocks begin is learned when it is first read."""

    def __init__(
        self,
        path: Paths,
        n_features: int | None,
        zero_based: bool,
        dtype: DTypeLike,
        form: str | None,
        settings: Settings,
    ) -> None:
        if path == "-":
            raise ValueError(
                "standard input can be read only once, and rows are read many times: save it to a "
                "file first"
            )
        super().__init__(settings, [path])
        self.path, self.zero_based, self.dtype = os.fspath(path), zero_based, checked_dtype(dtype)
        self.n_features, self.form = n_features, form
        self._begins = [(0, 0)]  # bytes and lines before each block
        self._opened: tuple[ExitStack, io.BufferedReader] | None = None

    def name_of(self, number: int) -> str:
        return f"block {number + 1} of {self.path}"

    def read(self, number: int) -> Block | None:
        begin, lines = self._begins[number]
        text = self._text(begin)
        if not text:
            return None
        if number + 1 == len(self._begins):
            self._begins.append((begin + len(text), lines + text.count(b"\n")))
        try:
            table = next(
                libsvm.blocks(
                    io.BufferedReader(io.BytesIO(text)),
                    self.path,
                    rows_per_block=None,
                    n_features=self.n_features,
                    dtype=self.dtype,
                    zero_based=self.zero_based,
                )
            )
        except ValueError as error:  # the line is that of the block
            shifted = _LINE.sub(lambda m: str(int(m[1]) + lines), str(error), count=1)
            raise ValueError(shifted) from None
        return Block(compact(table.X), table.y)

    def _text(self, begin: int) -> bytes:
        """Whole lines from a place on."""
        stream = self._stream()
        if stream.tell() != begin:
            stream.seek(begin)
        return stream.read(BYTES_OF_TEXT) + stream.readline()

    def _stream(self) -> io.BufferedReader:
        """Stays open during a pass: to begin anew takes long in packed text."""
        if self._opened is None:
            stack = ExitStack()
            stream, name = stack.enter_context(opened(self.path))
            form = recognise(stream, name) if self.form is None else self.form
            if form != "libsvm":
                stack.close()
                raise ValueError(f"expected LIBSVM text, and this is {form}")
            self._opened = stack, stream
        return self._opened[1]

    def close(self) -> None:
        if self._opened is not None:
            self._opened[0].close()
            self._opened = None
