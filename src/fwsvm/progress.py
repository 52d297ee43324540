"""What a fit shows while it runs: a table, scikit-learn's callbacks, and the time it has left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias

from .multiclass import BinaryTask
from .solvers import Report, TraceRow

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """This scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Nothing to call."""
        return method


__all__ = ["CallbackSupportMixin", "Clock", "Glimpse", "Progress", "watched_by", "with_callbacks"]

_HEADER = "  iteration     objective          gap   active  kernel evaluations    seconds"


class Glimpse(NamedTuple):
    """A line of the trace of one of the binary problems of a fit."""

    number: int
    n_problems: int
    n_rows: int
    row: TraceRow


# Called from the threads of a fit; true asks it to stop with the best model so far.
Watcher: TypeAlias = Callable[[Glimpse], bool]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Every fit that begins within tells the watcher how it goes."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


class Clock:
    """Splits what is left of the time among the problems that are left."""

    def __init__(self, max_time: float | None) -> None:
        self.ends = None if max_time is None else time.perf_counter() + max_time

    def share(self, n_left: int) -> float | None:
        """Seconds for the next of so many problems."""
        if self.ends is None:
            return None
        return max(0.0, self.ends - time.perf_counter()) / n_left


class Progress:
    """Reports one fit to the terminal and to callbacks.

    The tasks of the callbacks are the binary problems where there are several, and else the lines
    of the trace. A callback that asks to stop ends the problem, and those that are left.
    """

    def __init__(
        self, estimator: Any, tasks: list[BinaryTask], X: Any, y: Any, sample_weight: Any
    ) -> None:
        self.estimator, self.tasks, self.stopped = estimator, tasks, False
        self._watcher = _watcher.get()
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._fit = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.context = None
        if HAS_CALLBACKS:
            n_tasks = len(tasks) if len(tasks) > 1 else None  # nobody knows how long a trace is
            self.context = estimator._init_callback_context(max_subtasks=n_tasks)
            self.context.call_on_fit_task_begin(**self._fit)

    @property
    def watches_closely(self) -> bool:
        """Whether somebody looks at the problems as they run, so one after the other."""
        return bool(self.estimator.verbose or getattr(self.estimator, "_skl_callbacks", ()))

    @contextmanager
    def binary_problem(self, number: int) -> Iterator[Report]:
        """Yields the function that takes the trace rows of one binary problem."""
        if self.estimator.verbose:
            self._print_header(number)
        if len(self.tasks) > 1:
            with self._task("binary problem"):
                show = self._show
                yield lambda row: row is not None and show(row) | self.glimpsed(number, row)
        else:
            show = self._show_as_task
            yield lambda row: row is not None and show(row) | self.glimpsed(number, row)

    def glimpsed(self, number: int, row: TraceRow) -> bool:
        """Shows a line to the watcher, from any thread; whether to stop."""
        if self._watcher is None:
            return False
        glimpse = Glimpse(number, len(self.tasks), len(self.tasks[number].rows), row)
        return self._watcher(glimpse)

    def end(self) -> None:
        """The estimator is fitted."""
        if self.context:
            self.context.call_on_fit_task_end(**self._fit, reconstruction_attributes={})

    @contextmanager
    def _task(self, name: str) -> Iterator[None]:
        if not self.context:
            yield
            return
        context = self.context.subcontext(task_name=name)
        context.call_on_fit_task_begin(estimator=self.estimator)
        yield
        self.stopped |= context.call_on_fit_task_end(estimator=self.estimator)

    def _show(self, row: TraceRow) -> bool:
        if self.estimator.verbose:
            self._print(row)
        return self.stopped

    def _show_as_task(self, row: TraceRow) -> bool:
        with self._task("line of the trace"):
            self._show(row)
        return self.stopped

    def _print_header(self, number: int) -> None:
        names = self.estimator.classes_
        positive, negative = self.tasks[number].classes
        against = "the rest" if negative < 0 else f"{names[negative]}"
        print(f"{names[positive]} against {against}: {len(self.tasks[number].rows)} rows")
        print(_HEADER)

    @staticmethod
    def _print(row: TraceRow) -> None:
        gap = f"{row.gap:12.3e}" if row.gap == row.gap else " " * 12
        print(
            f"{row.iteration:11d}  {row.objective:12.6e} {gap} {row.active:8d} "
            f"{row.kernel_evaluations:19d} {row.time:10.2f}"
        )
