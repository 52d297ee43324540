"""Threads, fork, joblib, interrupts: the engine behaves in real processes."""

import os
import signal
import sys
import threading
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
from processes import run_python

from fwsvm import Rows
from fwsvm.kernels import RBF, Laplacian, Linear, Polynomial, add_rows
from fwsvm.threads import MOST_THREADS, thread_count

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals or fork")
# The ways in which a call is cut into pieces: many rows, few rows and many columns, sparse.
SHAPES = [(3000, 700), (3, 6000), (700, 3)]


def problem(n_rows=2000, n_columns=900, storage="dense", dtype=np.float32):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 12)).astype(dtype)
    Z = rng.standard_normal((n_columns, 12)).astype(dtype)
    return Rows(X, storage=storage), Rows(Z, storage=storage), rng.standard_normal(n_columns)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [RBF(0.1), Laplacian(0.1), Polynomial(2), Linear()])
def test_results_do_not_depend_on_the_number_of_threads(shape, storage, dtype, kernel):
    A, B, c = problem(*shape, storage, dtype)
    C = np.column_stack([c, c[::-1], -c])
    for n_jobs in (2, 3, 7):
        for coefficients in (c, C):
            one = kernel.product(A, B, coefficients, n_jobs=1)
            np.testing.assert_array_equal(one, kernel.product(A, B, coefficients, n_jobs=n_jobs))
        np.testing.assert_array_equal(
            kernel.block(A, B, n_jobs=1), kernel.block(A, B, n_jobs=n_jobs)
        )
    if shape == SHAPES[0]:
        np.testing.assert_array_equal(kernel.block(B, n_jobs=1), kernel.block(B, n_jobs=5))


def test_updates_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    stored, weights = rng.standard_normal((9, 20_000), dtype=np.float32), rng.standard_normal(9)
    results = []
    for n_jobs in (1, 2, 7):
        gradient = np.zeros(20_000)
        add_rows(gradient, stored, weights, n_jobs=n_jobs)
        results.append(gradient)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_two_python_threads_at_once():
    A, B, c = problem()
    expected = RBF(0.1).product(A, B, c)
    different = []

    def work():
        for _ in range(30):
            if not np.array_equal(RBF(0.1).product(A, B, c, n_jobs=2), expected):
                different.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not different


def _product(n_jobs):
    A, B, c = problem()
    return RBF(0.1).product(A, B, c, n_jobs=n_jobs)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_inside_joblib(backend):
    expected = _product(2)
    results = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(_product)(n_jobs) for n_jobs in (None, 2, 1, 3)
    )
    for result in results:
        np.testing.assert_array_equal(result, expected)


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="NumPy's BLAS is not safe after fork on macOS")
def test_after_fork():
    out = run_python(
        """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forking with threads
import threading
import numpy as np
from fwsvm import Rows
from fwsvm.kernels import RBF
X = np.random.default_rng(0).standard_normal((3000, 12), dtype=np.float32)
A = Rows(X)
c = np.ones(len(X))
expected = RBF(0.1).product(A, A, c, n_jobs=2)
stop = threading.Event()
def busy():
    while not stop.is_set():
        RBF(0.1).product(A, A, c, n_jobs=2)
thread = threading.Thread(target=busy)
thread.start()
for _ in range(5):  # while the pool is at work in another thread
    child = os.fork()
    if child == 0:
        same = np.array_equal(RBF(0.1).product(A, A, c, n_jobs=2), expected)
        os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
stop.set()
thread.join()
assert np.array_equal(RBF(0.1).product(A, A, c, n_jobs=2), expected)
print("ok")
"""
    )
    assert out == "ok\n"


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from fwsvm import Rows, _native
from fwsvm.kernels import RBF, add_rows

def zeros(*shape):  # memory that is not there until written to
    return np.zeros(shape, dtype=np.float32)

def rows(n_rows, n_features):
    return Rows(zeros(n_rows, n_features), storage="dense")

kernel, n_jobs = RBF(1e-3), {n_jobs}
{prepare}
sent = []
def interrupt():
    time.sleep(0.1)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0])
else:
    raise SystemExit("finished before the interrupt: make it longer")
X = np.random.default_rng(0).standard_normal((100, 4))
assert np.isfinite(kernel.product(Rows(X), None, np.ones(100), n_jobs=n_jobs)).all()
"""
ACTIVE = """
A = rows(40_000, {n_features})
side, _, centre = kernel.sides(A, A, A.dtype, 1)
values = _native.ActiveValuesFloat(A.native, kernel.parameters, side, centre, 2**30)
for i in range(2000):
    values.enter(i)
"""
LONG_CALLS = {
    "product": (
        "A = rows(100_000, 20); B = A.take(np.arange(10**6) % 100_000)",
        "kernel.product(A, B, np.ones(10**6), n_jobs=n_jobs)",
    ),
    "product of few rows": (
        "A = rows(3, 100_000); B = A.take(np.arange(180_000) % 3)",
        "kernel.product(A, B, np.ones(180_000), n_jobs=n_jobs)",
    ),
    "product of sparse rows": (
        "X = np.random.default_rng(0).standard_normal((20_000, 60), dtype=np.float32)\n"
        "A = Rows(X, storage='csr'); B = A.take(np.arange(10**6) % 20_000)",
        "kernel.product(A, B, np.ones(10**6), n_jobs=n_jobs)",
    ),
    "product with many columns": (
        "A = rows(200_000, 20); B = A.take(np.arange(10_000))",
        "kernel.product(A, B, np.ones((10_000, 200)), n_jobs=n_jobs)",
    ),
    "symmetric product": (
        "A = rows(300_000, 20)",
        "kernel.product(A, None, np.ones(300_000), n_jobs=n_jobs)",
    ),
    "block": (
        "A = rows(10_000, 10_000); B = A.take(np.arange(5000)); out = zeros(10_000, 5000)",
        "kernel.block(A, B, out=out, n_jobs=n_jobs)",
    ),
    "symmetric block": (
        "A = rows(10_000, 10_000); out = zeros(10_000, 10_000)",
        "kernel.block(A, out=out, n_jobs=n_jobs)",
    ),
    "norms": ("A = rows(400, 3_000_000)", "A.stored_norms(2, n_jobs=n_jobs)"),
    "equal rows": ("A = rows(2000, 1_000_000)", "A.first_equal(n_jobs=n_jobs)"),
    "update from stored rows": (
        "stored = zeros(300_000, 10_000); gradient = np.zeros(10_000)",
        "add_rows(gradient, stored, np.ones(300_000), n_jobs=n_jobs)",
    ),
    "active values": (
        ACTIVE.format(n_features=500),
        "values.products(np.arange(40_000), np.ones(2000), np.empty(40_000))",
    ),
    "active values of many features": (
        ACTIVE.format(n_features=3000),
        "values.products(np.arange(40_000), np.ones(2000), np.empty(40_000))",
    ),
    "pairs of a small face": (
        "K = np.random.default_rng(0).standard_normal((3000, 3000)); K = K @ K.T\n"
        "weights = np.zeros(3000); weights[0] = 1; gradient = K[:, 0].copy()",
        "_native.minimise_on_simplex(K, weights, gradient, 1e-15)",
    ),
}


@posix
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", LONG_CALLS)
def test_interrupt_ends_a_long_call(name, n_jobs):
    prepare, call = LONG_CALLS[name]
    code = INTERRUPTED.format(n_jobs=n_jobs, prepare=prepare, call=call)
    # again where something else had the CPU at that moment
    assert any(float(run_python(code)) < 0.2 for _ in range(3))


@contextmanager
def signals_every_10_ms(handler):
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@posix
def test_a_handler_that_does_not_raise_lets_the_call_finish():
    A, B, c = problem(20_000, 20_000)
    expected = RBF(0.1).product(A, B, c)
    received = []
    with signals_every_10_ms(lambda *_: received.append(1)):
        result = RBF(0.1).product(A, B, c)
    assert received
    np.testing.assert_array_equal(result, expected)


@posix
def test_a_handler_may_use_the_engine():
    A, B, c = problem(30_000, 20_000)
    small = A.take(np.arange(50))
    expected, of_small = RBF(0.1).product(A, B, c), RBF(0.1).block(small)
    received = []

    def handler(*_):
        received.append(np.array_equal(RBF(0.1).block(small), of_small))

    with signals_every_10_ms(handler):
        result = RBF(0.1).product(A, B, c)
    assert received
    assert all(received)
    np.testing.assert_array_equal(result, expected)


@posix
def test_other_threads_run_during_a_call():
    A, B, c = problem(20_000, 20_000)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    before = len(ticks)
    RBF(0.1).product(A, B, c, n_jobs=1)
    during = len(ticks) - before
    stop.set()
    thread.join()
    assert during > 5


def test_thread_count(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    available = joblib.cpu_count()
    assert thread_count(None) == thread_count(-1) == available
    assert thread_count(3) == 3
    assert thread_count(-1000) == 1
    assert thread_count(-2) == max(1, available - 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_count(None) == 1
    assert thread_count(2) == 2
    assert thread_count(10**12) == MOST_THREADS
    for bad in (0, 2.5, "all"):
        with pytest.raises(ValueError, match=f"n_jobs must be .* Got {bad!r} instead"):
            thread_count(bad)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs CPU affinity")
def test_affinity_is_respected():
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from fwsvm.threads import MOST_THREADS, thread_count
print(thread_count(None))
"""
    assert run_python(code) == "1\n"


@posix
def test_product_needs_memory_for_rows_not_for_pairs():
    # 30,000 x 30,000 float32 values would be 3.6 GB
    code = """
import resource
import numpy as np
from fwsvm import Rows
from fwsvm.kernels import RBF
X = np.random.default_rng(0).standard_normal((30_000, 8), dtype=np.float32)
A = Rows(X)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak()
RBF(0.1).product(A, A, np.ones(len(X)))
RBF(0.1).product(A, A, np.ones((len(X), 5)))
print(peak() - before)
"""
    assert float(run_python(code)) < 60
