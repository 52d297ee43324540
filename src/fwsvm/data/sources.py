"""Opens files and streams, unpacks them, and recognises their format by content and ending."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import Any, BinaryIO, TypeAlias

Source: TypeAlias = str | os.PathLike[str] | BinaryIO

FORMATS = ("libsvm", "csv", "tsv", "parquet", "arrow", "npz")
_ENDINGS = {
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npz": "npz",
}
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream of record batches
    b"PK\x03\x04": "npz",
}
_PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_PACKED_ENDINGS = (".gz", ".bz2", ".xz")
_PEEKED = 1 << 16
_LIBSVM_LINE = re.compile(rb"[^\s,:]+([ \t]+(\d+|qid):[^\s:,]+)+[ \t]*")


@contextmanager
def opened(source: Source) -> Iterator[tuple[io.BufferedReader, str]]:
    """The bytes of a source, unpacked, and the name that errors give it."""
    raw: Any
    with ExitStack() as stack:
        if isinstance(source, str) and source == "-":
            raw, name = sys.stdin.buffer, "standard input"
        elif isinstance(source, str | os.PathLike):
            raw, name = stack.enter_context(Path(source).open("rb")), os.fspath(source)
        else:
            raw, name = source, str(getattr(source, "name", "stream"))
        try:
            can_seek = bool(hasattr(raw, "seekable") and raw.seekable())
            stream = _buffered(raw, name, can_seek)
            head = stream.peek(6)
            unpack = next((u for magic, u in _PACKED.items() if head.startswith(magic)), None)
            if unpack is not None:
                unpacked = stack.enter_context(unpack(stream))
                stream = _buffered(unpacked, name, can_seek)  # it says it can without the other
            yield stream, name
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            if getattr(error, "errno", None) is not None:
                raise  # of the machine, not of the packed data
            raise ValueError(f"{name} is damaged or cut short: {error}") from error


def _buffered(raw: Any, name: str, can_seek: bool) -> io.BufferedReader:
    return io.BufferedReader(_Borrowed(raw, name, can_seek), _PEEKED)


class _Borrowed(io.RawIOBase):
    """Anything that has ``read``, as a raw stream; closing it leaves the other open."""

    def __init__(self, stream: Any, name: str, can_seek: bool) -> None:
        self.stream, self.name, self.can_seek = stream, name, can_seek

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer unless the end comes: a look at the begin of a pipe sees enough."""
        filled = 0
        while filled < len(buffer):
            piece = self.stream.read(len(buffer) - filled)
            if not isinstance(piece, bytes | bytearray):
                raise TypeError(
                    f"{self.name} must be a binary stream. Got one whose read() returns "
                    f"{type(piece).__name__} instead; open files with mode 'rb'."
                )
            if not piece:
                break
            buffer[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def seekable(self) -> bool:
        return self.can_seek

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self.stream.seek(offset, whence))

    def tell(self) -> int:
        return int(self.stream.tell())


def recognise(stream: io.BufferedReader, name: str) -> str:
    """One of FORMATS, by the first bytes, the ending of the name, or the first lines."""
    head = stream.peek(_PEEKED)
    for magic, binary in _MAGIC.items():
        if head.startswith(magic):
            return binary
    ending = _ending(name)
    if ending in ("parquet", "arrow", "npz"):
        raise ValueError(f"{name} ends like {ending} data but does not begin like it")
    kind = ending or _format_of_text(head)
    if kind is None:
        raise ValueError(
            f"{name}: the format cannot be told from its ending or its first lines. "
            f"Say which it is by format=, or --format in the shell: {', '.join(FORMATS)}."
        )
    return kind


def _ending(name: str) -> str | None:
    path = PurePath(name.lower())
    if path.suffix in _PACKED_ENDINGS:
        path = path.with_suffix("")
    return _ENDINGS.get(path.suffix)


def _format_of_text(head: bytes) -> str | None:
    lines = [line.split(b"#")[0].strip(b" \r") for line in head.split(b"\n")]
    if len(lines) > 1 and len(head) >= _PEEKED:
        lines.pop()  # it may be cut
    lines = [line for line in lines if line]
    if any(_LIBSVM_LINE.fullmatch(line) for line in lines[:100]):
        return "libsvm"
    if lines and b"\t" in lines[0]:
        return "tsv"
    if lines and b"," in lines[0]:
        return "csv"
    return None
