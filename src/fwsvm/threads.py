"""How many threads a call may use."""

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

# A slip of the keyboard must not start a million threads.
MOST_THREADS = 1024


@functools.cache
def _cpus_of_process(process_id: int) -> int:
    # Affinity and cgroup quota are looked up once per process: it takes a file or two.
    return int(joblib.cpu_count())


def thread_count(n_jobs: int | None) -> int:
    """Threads for ``n_jobs``, read as scikit-learn reads it.

    ``None`` and ``-1`` mean every CPU this process may use: its affinity, its cgroup quota and
    ``OMP_NUM_THREADS`` (which joblib sets in its workers) are respected. ``-2`` leaves one free.
    """
    if n_jobs == 0 or not isinstance(n_jobs, Integral | None):
        raise ValueError(
            "n_jobs must be None, a positive integer, or a negative one to count from the "
            f"number of CPUs. Got {n_jobs!r} instead."
        )
    if n_jobs is not None and n_jobs > 0:
        return min(int(n_jobs), MOST_THREADS)
    available = _cpus_of_process(os.getpid())
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdecimal() and int(limit) > 0:
        available = min(available, int(limit))
    return max(1, available + 1 + (-1 if n_jobs is None else n_jobs))


class _SingleThreadedBlas:
    """How many callers need it, and what ends it."""

    lock = threading.Lock()
    users = 0
    limit: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """BLAS on one thread: its sums would depend on the number of threads.

    The setting is the whole process's, so the first caller makes it and the last one ends it.
    """
    state = _SingleThreadedBlas
    with state.lock:
        if state.users == 0:
            state.limit = ThreadpoolController().limit(limits=1, user_api="blas")
            state.limit.__enter__()
        state.users += 1
    try:
        yield
    finally:
        with state.lock:
            state.users -= 1
            if state.users == 0:
                state.limit.__exit__(None, None, None)
