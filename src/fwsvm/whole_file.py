"""Files that are there in full or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write to a file that takes the place of ``path`` at the end, unless something fails."""
    if Path(path).exists() and not Path(path).is_file():  # a pipe, or a device such as /dev/null
        with Path(path).open("wb") as file:
            yield file
        return
    place = Path(path).resolve()  # a link stays one
    own = place.with_name(f"{place.name}.{uuid.uuid4().hex}.part")
    try:
        with own.open("wb") as file:
            yield file
        own.replace(place)
    finally:
        own.unlink(missing_ok=True)
