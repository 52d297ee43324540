"""The line that shows a running fit, and Ctrl-C: once to finish early, twice to stop."""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

from rich.live import Live
from rich.text import Text

from ..progress import Glimpse, watched_by
from .screen import errors_console, notice, seconds


class Watch:
    """Knows where a fit stands, and whether the user wants it to end."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.stopped = False
        self.latest: Glimpse | None = None
        self.gap = math.nan
        self.seen: set[int] = set()  # binary problems
        self.text: str | None = None  # shown instead of the latest line

    def glimpse(self, glimpse: Glimpse) -> bool:
        """A line of the trace; whether to stop."""
        row = glimpse.row
        fresh = self.latest is None or self.latest.number != glimpse.number
        gap = row.core_gap if math.isnan(row.gap) else row.gap
        if fresh or not math.isnan(gap):
            self.gap = gap
        self.seen.add(glimpse.number)
        self.latest = glimpse
        return self.stopped

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-C."""
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        notice("\nFinishing with the best so far; Ctrl-C again stops at once.")

    def __rich__(self) -> Text:
        elapsed = f"{seconds(round(time.perf_counter() - self.began, 1))}"
        if self.latest is None or self.text is not None:
            return Text(f"{self.text or 'starting'}  {elapsed}", overflow="ellipsis", no_wrap=True)
        glimpse = self.latest
        row, parts = glimpse.row, []
        if glimpse.n_problems > 1:
            parts.append(f"problem {len(self.seen)} of {glimpse.n_problems}")
        parts.append(f"rows seen {row.rows_seen or glimpse.n_rows:,} of {glimpse.n_rows:,}")
        parts.append(f"working set {row.working_set or row.active:,}")
        parts.append(f"support vectors {row.active:,}")
        if not math.isnan(self.gap):
            parts.append(f"gap {self.gap:.1e}")
        parts.append(elapsed)
        return Text("  ".join(parts), overflow="ellipsis", no_wrap=True)


@contextmanager
def watching(*, quiet: bool) -> Iterator[Watch]:
    """Shows the fits within on the terminal, if standard error is one."""
    watch = Watch()
    shown: Any = nullcontext()
    if sys.stderr.isatty() and not quiet:
        shown = Live(
            watch,
            console=errors_console(),
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
    before = signal.signal(signal.SIGINT, watch.interrupt)
    try:
        with shown, watched_by(watch.glimpse):
            yield watch
    finally:
        signal.signal(signal.SIGINT, before)
