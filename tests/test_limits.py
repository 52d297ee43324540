"""max_time, Ctrl-C and bounds of memory of the default solver, in real processes."""

import os
import time

import numpy as np
import pytest
from processes import run_python
from reference import rbf
from sklearn.exceptions import ConvergenceWarning
from svc import make_data
from test_svc_certificates import recomputed_gap

from fwsvm import SVC

posix = pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")


@pytest.mark.parametrize("part", [1e-6, 0.05, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_end_of_time_leaves_a_model_with_a_true_gap(part, dtype, whole_time):
    X, y, K, seconds = whole_time[dtype]
    limit = part * seconds
    began = time.perf_counter()
    model = SVC(C=20.0, gamma=0.2, tol=1e-6, random_state=0, max_time=limit)
    try:
        with pytest.warns(ConvergenceWarning, match="max_time was reached"):
            model.fit(X, y)
    except pytest.fail.Exception:
        assert model.converged_  # faster than before
    assert time.perf_counter() - began < limit + 0.5
    assert model.converged_ == (model.gap_[0] <= 1e-6)
    coefficients = np.zeros(len(y))
    coefficients[model.support_] = model.dual_coef_[0]
    signs = np.where(y == 1, 1.0, -1.0)
    gap = recomputed_gap(K, signs, 20.0, coefficients, model.intercept_[0])
    assert model.gap_[0] == pytest.approx(gap, abs=1e-9)
    assert 0 <= gap <= 1
    assert np.isfinite(model.decision_function(X[:10])).all()


@pytest.fixture(scope="module")
def whole_time():
    """Data, and how long a fit of them takes that nobody ends."""
    found = {}
    for dtype in (np.float32, np.float64):
        X, y = make_data(4000, n_features=6)
        X = X.astype(dtype)
        began = time.perf_counter()
        SVC(C=20.0, gamma=0.2, tol=1e-6, random_state=0).fit(X, y)
        found[dtype] = X, y, rbf(X, X, 0.2), time.perf_counter() - began
    return found


@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_few_iterations_leave_a_model_with_a_true_gap(max_iter):
    X, y = make_data(3000, n_features=6)
    with pytest.warns(ConvergenceWarning, match="max_iter was reached"):
        model = SVC(C=100.0, gamma=0.2, tol=1e-9, max_iter=max_iter, random_state=0).fit(X, y)
    assert model.n_iter_[0] == max_iter
    assert not model.converged_
    coefficients = np.zeros(len(y))
    coefficients[model.support_] = model.dual_coef_[0]
    signs = np.where(y == 1, 1.0, -1.0)
    gap = recomputed_gap(rbf(X, X, 0.2), signs, 100.0, coefficients, model.intercept_[0])
    assert model.gap_[0] == pytest.approx(gap, abs=1e-9)


# ------------------------------------------------------------------------------------------- Ctrl-C

INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from fwsvm import SVC

rng = np.random.default_rng(0)
n = {n}
centres = rng.standard_normal(({n_classes}, 20))
y = rng.integers({n_classes}, size=n)
X = (centres[y] + 1.5 * rng.standard_normal((n, 20))).astype(np.float32)
small = X[:500], y[:500]
sent = []

def press(seconds):
    time.sleep(seconds)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

for seconds in {moments}:
    thread = threading.Thread(target=press, args=(seconds,))
    thread.start()
    try:
        SVC({options}).fit(X, y)
        print("finished", flush=True)
        time.sleep(60)  # until the signal comes
    except KeyboardInterrupt:
        print(time.perf_counter() - sent[-1])
    thread.join()
    assert SVC().fit(*small).converged_  # the process stays usable
"""


def delays(n, n_classes, options, moments):
    """Seconds from each Ctrl-C until the fit ended with KeyboardInterrupt."""
    code = INTERRUPTED.format(n=n, n_classes=n_classes, options=options, moments=list(moments))
    out = run_python(code)
    assert "finished" not in out
    return [float(line) for line in out.split()]


@posix
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_fit_at_any_moment(n_jobs):
    moments = np.random.default_rng(n_jobs).uniform(0.0, 2.5, 3).round(3)
    found = delays(200_000, 2, f"n_jobs={n_jobs}", [float(m) for m in moments])
    assert len(found) == 3
    assert max(found) < 0.5


@posix
def test_ctrl_c_ends_pairs_that_run_side_by_side():
    moments = np.random.default_rng(0).uniform(0.3, 1.5, 3).round(3)
    found = delays(60_000, 3, "n_jobs=2, C=10.0", [float(m) for m in moments])
    assert len(found) == 3
    assert max(found) < 0.5
