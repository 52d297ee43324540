"""How many threads a call may use."""

import functools
import os

import joblib


@functools.cache
def _cpus_of_process(process_id: int) -> int:
    # Affinity and cgroup quota are looked up once per process: it takes a file or two.
    return int(joblib.cpu_count())


def thread_count(n_jobs: int | None) -> int:
    """Threads for ``n_jobs``, read as scikit-learn reads it.

    ``None`` and ``-1`` mean every CPU this process may use: its affinity, its cgroup quota and
    ``OMP_NUM_THREADS`` (which joblib sets in its workers) are respected. ``-2`` leaves one free.
    """
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    if n_jobs == 0:
        raise ValueError(
            "n_jobs must be None, a positive number, or negative to count from the "
            "number of CPUs. Got 0."
        )
    available = _cpus_of_process(os.getpid())
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdecimal() and int(limit) > 0:
        available = min(available, int(limit))
    return max(1, available + 1 + (-1 if n_jobs is None else n_jobs))
