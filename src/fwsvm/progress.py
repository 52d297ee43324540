"""What a fit shows while it runs: a table, scikit-learn's callbacks, and the time it has left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .multiclass import BinaryTask
from .solvers import TraceRow

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


if TYPE_CHECKING:
    Report = Callable[[TraceRow], None]

__all__ = ["CallbackSupportMixin", "Clock", "Progress", "with_callbacks"]

_HEADER = "  iteration     objective          gap   active  kernel evaluations    seconds"


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
    """Reports the binary problems of one fit to the terminal and to callbacks."""

    def __init__(self, estimator: Any, tasks: list[BinaryTask]) -> None:
        self.estimator, self.tasks = estimator, tasks
        self.context = None
        if HAS_CALLBACKS:
            self.context = estimator._init_callback_context(max_subtasks=len(tasks))
            self.context.call_on_fit_task_begin(estimator=estimator)

    @contextmanager
    def binary_problem(self, number: int) -> Iterator[Report]:
        """Yields the function that takes the trace rows of one binary problem."""
        context = self.context and self.context.subcontext(task_name="binary problem")
        if context:
            context.call_on_fit_task_begin(estimator=self.estimator)
        if self.estimator.verbose:
            self._print_header(number)
        yield self._print if self.estimator.verbose else lambda row: None
        if context:
            context.call_on_fit_task_end(estimator=self.estimator)
        if self.context and number == len(self.tasks) - 1:
            self.context.call_on_fit_task_end(estimator=self.estimator)

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
