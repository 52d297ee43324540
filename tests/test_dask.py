"""DaskSVC on clusters of real processes: the model of SVC, whatever the blocks and the workers."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from core_sets import dual_of, primal_of, q_of
from processes import run_python
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from svc import make_data

from fwsvm import SVC, Rows
from fwsvm.dual import DualProblem

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from fwsvm.dask import DaskSVC, LostRowsError, NoAnswerError  # noqa: E402
from fwsvm.shards import Gathering  # noqa: E402

N, GAMMA = 3000, 0.2
posix = pytest.mark.skipif(os.name != "posix", reason="kills processes as POSIX does")


def cluster_of(n_workers, **options):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", **options
    )


@pytest.fixture(scope="module")
def client():
    with cluster_of(4) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    X, y = make_data(N, n_features=6)
    return X.astype(np.float32), y


def placed(client, X, y, chunks, n_workers=4):
    """Persisted on some of the workers; the others have no rows."""
    workers = sorted(client.nthreads())[:n_workers]
    X = da.from_array(X, chunks=(chunks, -1)).persist(workers=workers)
    y = da.from_array(y, chunks=(chunks,)).persist(workers=workers)
    distributed.wait([X, y])
    return X, y


def check_like_serial(model, X, y, **options):
    """The gap is true and within tol, and the decisions are those of the serial run."""
    serial = SVC(gamma=GAMMA, random_state=0, **options).fit(X, y)
    assert model.converged_
    assert (model.gap_ <= model.tol).all()
    np.testing.assert_array_equal(model.classes_, serial.classes_)
    local = model.to_local()
    expected, found = serial.decision_function(X), local.decision_function(X)
    np.testing.assert_allclose(found, expected, atol=0.2)
    assert (local.predict(X) == serial.predict(X)).mean() > 0.995
    return serial


def true_gap(model, X, y, C):
    """Recomputed from all rows."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    problem = DualProblem(
        Rows(X.astype(np.float64)), signs, np.full(len(y), 1 / C), model.to_local()._kernel
    )
    q, b = q_of(problem), np.zeros(len(y))
    b[model.support_] = model.dual_coef_[0] * signs[model.support_]
    return 1 - dual_of(q, problem.ridge, b) / primal_of(q, problem.ridge, b)


# ----------------------------------------------------------------------------------- the same model


@pytest.mark.parametrize(
    ("n_workers", "chunks"),
    [(1, 1500), (2, 700), (4, (1, 1700, 0, 299, 1000)), (4, N)],
    ids=["1 worker", "2 workers", "uneven and empty", "workers without rows"],
)
def test_the_model_is_that_of_svc(client, data, n_workers, chunks):
    X, y = data
    model = DaskSVC(C=2.0, gamma=GAMMA, client=client, random_state=0)
    assert model.fit(*placed(client, X, y, chunks, n_workers)) is model
    serial = check_like_serial(model, X, y, C=2.0)
    np.testing.assert_array_equal(model.support_, serial.support_)
    np.testing.assert_array_equal(model.support_vectors_, serial.support_vectors_)
    assert true_gap(model, X, y, 2.0) == pytest.approx(model.gap_[0], abs=1e-6)
    assert model.trace_[0][-1].rows_seen == N


@pytest.mark.parametrize(
    "multiclass", ["ovo", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ovr", "ddag"))]
)
def test_several_classes_with_weights(client, multiclass):
    X, y = make_data(900, 4, n_features=6)
    labels = np.array(["d", "b", "c", "a"])[y]
    weights = np.random.default_rng(0).integers(0, 3, 900).astype(float)
    options = {"multiclass": multiclass, "class_weight": "balanced", "gamma": "mean_distance"}
    model = DaskSVC(client=client, random_state=0, n_jobs=2, **options)
    dX, dy = placed(client, X, labels, 250)
    model.fit(dX, dy, da.from_array(weights, chunks=100))
    serial = SVC(random_state=0, **options).fit(X, labels, weights)
    for name in ("classes_", "class_weight_", "support_", "n_support_", "shape_fit_", "status_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(serial, name), name)
    fitted = {name for name in vars(serial) if name.endswith("_")}
    assert fitted | {"traffic_"} == {name for name in vars(model) if name.endswith("_")}
    np.testing.assert_allclose(model.dual_coef_, serial.dual_coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, serial.intercept_, atol=1e-3)
    scores = model.decision_function(dX)
    assert scores.shape == (900, 4)
    np.testing.assert_allclose(scores.compute(), serial.decision_function(X), atol=1e-2)
    assert (model.predict(dX).compute() == serial.predict(X)).mean() > 0.99


def test_delayed_blocks_of_sparse_rows(client, data):
    X, y = data
    X = np.where(np.abs(X) < 1.0, 0.0, X)
    blocks = [slice(0, 1000), slice(1000, 1000), slice(1000, N)]
    dX = [dask.delayed(scipy.sparse.csr_matrix)(X[some]) for some in blocks]
    dy = [dask.delayed(y[some]) for some in blocks]
    model = DaskSVC(gamma=GAMMA, client=client, random_state=0).fit(dX, dy)
    sparse = scipy.sparse.csr_array(X)
    check_like_serial(model, sparse, y)
    assert scipy.sparse.issparse(model.support_vectors_)
    np.testing.assert_array_equal(model.predict(dX).compute(), model.to_local().predict(sparse))


def test_data_frames(client, data):
    dd = pytest.importorskip("dask.dataframe")
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=np.where(y == 1, "yes", "no"))
    lazy = dd.from_pandas(frame, npartitions=3)
    dX, dy = lazy[list("abcdef")], lazy["y"]
    model = DaskSVC(gamma=GAMMA, client=client, random_state=0).fit(dX, dy)
    check_like_serial(model, frame[list("abcdef")], frame["y"])
    assert list(model.feature_names_in_) == list("abcdef")
    predicted = model.predict(dX)
    np.testing.assert_array_equal(predicted.compute(), model.to_local().predict(frame.iloc[:, :6]))
    assert model.score(dX, dy) > 0.7
    with pytest.raises(ValueError, match="feature names"):
        model.predict(dX[list("fedcba")]).compute()


def test_prediction_is_lazy_and_by_chunk(client, data):
    X, y = data
    model = DaskSVC(gamma=GAMMA, client=client).fit(*placed(client, X, y, 1000))
    computed = []

    def block(values):
        computed.append(len(values))
        return values

    lazy = da.from_array(X, chunks=(700, 3)).map_blocks(block, meta=X)
    predicted = model.predict(lazy)
    assert not computed
    assert predicted.chunks == ((700, 700, 700, 700, 200),)
    assert predicted.dtype == y.dtype
    scores = model.decision_function(lazy)
    assert scores.shape == (N,)
    with dask.config.set(scheduler="synchronous"):  # no cluster is needed
        np.testing.assert_array_equal(predicted.compute(), model.predict(X))
        np.testing.assert_allclose(scores.compute(), model.decision_function(X), rtol=1e-12)
    assert computed


def test_the_local_model_needs_no_cluster(client, data):
    X, y = data
    options = {"C": 3.0, "gamma": GAMMA, "random_state": 0, "kernel": "linear"}
    model = DaskSVC(**options, client=client).fit(*placed(client, X, y, 1500))
    local = model.to_local()
    assert type(local) is SVC
    assert {name: local.get_params()[name] for name in options} == options
    np.testing.assert_array_equal(local.coef_, model.coef_)
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.predict(X), local.predict(X))
    with pytest.raises(NotFittedError):
        DaskSVC().to_local()


def test_two_fits_at_once(client, data):
    X, y = data
    given = placed(client, X, y, 500)
    models = [DaskSVC(C=C, gamma=GAMMA, client=client, random_state=0) for C in (1.0, 20.0)]
    with ThreadPoolExecutor(2) as executor:
        list(executor.map(lambda model: model.fit(*given), models))
    for model in models:
        check_like_serial(model, X, y, C=model.C)


def test_nothing_stays_on_the_workers(client, data):
    X, y = data
    given = placed(client, X, y, 1000)
    before = {key for keys in client.has_what().values() for key in keys}
    DaskSVC(gamma=GAMMA, client=client).fit(*given)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        left = {key for keys in client.has_what().values() for key in keys} - before
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(left)


# ----------------------------------------------------------------------------- limits and messages


def test_limits_leave_a_model_with_a_true_gap(client, data):
    X, y = data
    given = placed(client, X, y, 1000)
    for limit in ({"max_iter": 1}, {"max_time": 1e-6}):
        model = DaskSVC(C=2.0, gamma=GAMMA, tol=1e-8, client=client, random_state=0, **limit)
        with pytest.warns(ConvergenceWarning, match=f"{next(iter(limit))} was reached"):
            model.fit(*given)
        assert not model.converged_
        assert model.status_ == list(limit)
        assert true_gap(model, X, y, 2.0) == pytest.approx(model.gap_[0], abs=1e-6)


def test_progress_is_printed_as_that_of_svc(client, data, capsys):
    X, y = data
    model = DaskSVC(gamma=GAMMA, client=client, verbose=1).fit(*placed(client, X, y, 1000))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"1 against 0: {N} rows"
    assert len(printed) == 2 + len(model.trace_[0])
    traffic = model.traffic_[0]
    assert 3 < traffic.rounds < 30
    assert traffic.bytes_received > 0
    assert traffic.bytes_sent > 0
    assert traffic.seconds > 0
    assert traffic.seconds_of_parts > 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X, y: (X.compute(), y), TypeError, "X must be a Dask array.*Got ndarray"),
        (lambda X, y: (X, y[:-1]), ValueError, "the same chunks|as long as"),
        (lambda X, y: (X, da.zeros_like(y)), ValueError, "classes has to be greater than one"),
        (lambda X, y: (X, y + 0.5 * X[:, 0]), ValueError, "Unknown label type: continuous"),
        (lambda X, y: (da.where(X > 2.5, np.nan, X), y), ValueError, "NaN"),
        (lambda X, y: (X[:, 0], y), ValueError, "X must have 2 dimensions"),
        (lambda X, y: (X, da.stack([y, y], axis=1)), ValueError, "y must have 1 dimension"),
        (lambda X, y: (X[:0], y[:0]), ValueError, "X has no rows"),
    ],
)
def test_messages_about_data(client, data, change, error, message):
    X, y = (da.from_array(a, chunks=(1000, *a.shape[1:])) for a in data)
    with pytest.raises(error, match=message):
        DaskSVC(client=client).fit(*change(X, y))


def test_messages_about_parameters(client, data, monkeypatch):
    X, y = (da.from_array(a, chunks=(1000, *a.shape[1:])) for a in data)
    with pytest.raises(ValueError, match="Got a precomputed one"):
        DaskSVC(client=client, kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="needs checkpoint"):
        DaskSVC(client=client, resume=True).fit(X, y)
    with pytest.raises(ValueError, match="timeout"):
        DaskSVC(client=client, timeout=0).fit(X, y)

    def nobody():
        raise ValueError("No clients found")

    monkeypatch.setattr("fwsvm.dask.estimator.get_client", nobody)
    with pytest.raises(ValueError, match="needs a cluster"):
        DaskSVC().fit(X, y)


def test_without_dask_the_message_says_what_to_install():
    code = """
import sys
sys.modules["distributed"] = None
try:
    import fwsvm.dask
except ImportError as error:
    print(error)
"""
    assert "pip install fwsvm[dask]" in run_python(code)


# ------------------------------------------------------------------------------------------ faults


def at_round(monkeypatch, wanted, act):
    """Calls a function while the workers are busy with a round."""
    rounds, original = [], Gathering.look

    def look(*arguments):
        rounds.append(1)
        if len(rounds) == wanted:
            threading.Timer(0.005, act).start()
        return original(*arguments)

    monkeypatch.setattr(Gathering, "look", look)
    return rounds


def killer(client, victims):
    """Kills these workers."""
    processes = client.run(os.getpid, workers=victims).values()
    return lambda: [os.kill(process, signal.SIGKILL) for process in processes]


def load(begin, end):
    X, y = make_data(N, n_features=6)
    return X[begin:end].astype(np.float32), y[begin:end]


def rows_from_tasks():
    blocks = [dask.delayed(load, nout=2, pure=True)(k, k + 600) for k in range(0, N, 600)]
    return [X for X, y in blocks], [y for X, y in blocks]


@contextmanager
def fresh_cluster(n_workers, *, restarts=True):
    """Its workers have a nanny, which starts them again, or they are single processes."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    with (
        cluster_of(n_workers if restarts else 0, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        command = [sys.executable, "-m", "dask", "worker", cluster.scheduler_address]
        command += ["--no-nanny", "--nthreads=1", "--dashboard-address=:0"]
        workers = [subprocess.Popen(command, **options) for _ in range(n_workers * (not restarts))]
        try:
            if n_workers:
                client.wait_for_workers(n_workers)
            yield client
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()


@posix
@pytest.mark.slow
@pytest.mark.parametrize("wanted", [1, 3, 5])
@pytest.mark.parametrize("restarts", [True, False])
def test_a_killed_worker_costs_time_only(wanted, restarts, data, monkeypatch):
    with fresh_cluster(3, restarts=restarts) as client:
        rounds = at_round(monkeypatch, wanted, killer(client, [min(client.nthreads())]))
        model = DaskSVC(C=2.0, gamma=GAMMA, tol=1e-5, client=client, random_state=0, timeout=60)
        model.fit(*rows_from_tasks())
        assert len(rounds) >= wanted
        check_like_serial(model, *data, C=2.0, tol=1e-5)
        assert true_gap(model, *data, 2.0) <= 1.1e-5


@posix
@pytest.mark.slow
def test_all_workers_may_die_at_once(data, monkeypatch):
    with fresh_cluster(2) as client:
        at_round(monkeypatch, 3, killer(client, list(client.nthreads())))
        model = DaskSVC(C=2.0, gamma=GAMMA, client=client, random_state=0, timeout=60)
        check_like_serial(model.fit(*rows_from_tasks()), *data, C=2.0)


@posix
@pytest.mark.slow
def test_rows_that_cannot_be_computed_again_are_missed(data, monkeypatch):
    X, y = data
    with fresh_cluster(3) as client:
        workers = sorted(client.nthreads())
        blocks = [
            client.scatter([X[k : k + 600], y[k : k + 600]], workers=[workers[k % 3]], hash=False)
            for k in range(0, N, 600)
        ]
        dX, dy = ([dask.delayed(block[i]) for block in blocks] for i in (0, 1))
        at_round(monkeypatch, 3, killer(client, [workers[0]]))
        began = time.monotonic()
        with pytest.raises(LostRowsError, match="cannot compute them again"):
            DaskSVC(gamma=GAMMA, client=client, timeout=60).fit(dX, dy)
        assert time.monotonic() - began < 30


@posix
@pytest.mark.slow
def test_a_cluster_that_is_gone_is_not_waited_for(data, monkeypatch):
    with fresh_cluster(2, restarts=False) as client:
        at_round(monkeypatch, 2, killer(client, list(client.nthreads())))
        began = time.monotonic()
        with pytest.raises(NoAnswerError, match=r"timeout=5 seconds; it has 0 workers"):
            DaskSVC(gamma=GAMMA, client=client, timeout=5).fit(*rows_from_tasks())
        assert time.monotonic() - began < 30


def test_a_cluster_without_workers_is_not_waited_for(data):
    with fresh_cluster(0) as client, pytest.raises(NoAnswerError, match="has 0 workers"):
        DaskSVC(client=client, timeout=1).fit(*rows_from_tasks())


def test_a_fit_goes_on_from_its_checkpoint(client, data, tmp_path, monkeypatch):
    X, y = data
    given, path = placed(client, X, y, 1000), tmp_path / "fit"
    options = {"C": 2.0, "gamma": GAMMA, "tol": 1e-6, "client": client, "random_state": 0}

    class InterruptedError(Exception):
        pass

    original, rounds = Gathering.look, []

    def look(*arguments):
        rounds.append(1)
        if len(rounds) == 5:
            raise InterruptedError
        return original(*arguments)

    monkeypatch.setattr(Gathering, "look", look)
    with pytest.raises(InterruptedError):
        DaskSVC(**options, checkpoint=path, checkpoint_every=2).fit(*given)
    rounds += 100 * [1]
    whole = DaskSVC(**options).fit(*given)
    model = DaskSVC(**options, checkpoint=path, resume=True).fit(*given)
    check_like_serial(model, X, y, C=2.0, tol=1e-6)
    assert model.traffic_[0].rounds < whole.traffic_[0].rounds
    again = DaskSVC(**options, checkpoint=path, resume=True).fit(*given)
    assert again.traffic_ == [None]  # it was done
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
    with pytest.raises(ValueError, match="other C"):
        DaskSVC(**{**options, "C": 3.0}, checkpoint=path, resume=True).fit(*given)


DRIVER = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
import distributed
from test_dask import DaskSVC, Gathering, cluster_of, rows_from_tasks

original, rounds = Gathering.look, []

def look(*arguments):
    rounds.append(1)
    if len(rounds) == {pause}:
        Path({folder!r}, "paused").touch()
        time.sleep(60)
    return original(*arguments)

Gathering.look = look
if __name__ == "__main__":
    with cluster_of(2, silence_logs=50) as cluster, distributed.Client(cluster) as client:
        model = DaskSVC(
            C=2.0, gamma=0.2, tol=1e-6, client=client, random_state=0,
            checkpoint=Path({folder!r}, "fit"), checkpoint_every=1, resume=True,
        )
        model.fit(*rows_from_tasks())
        print(len(rounds), model.gap_[0], *model.to_local().decision_function(rows()[:50]))
"""


@posix
@pytest.mark.slow
def test_a_killed_driver_goes_on_from_its_checkpoint(data, tmp_path):
    script = tmp_path / "driver.py"
    folder, tests = str(tmp_path), str(Path(__file__).parent)

    def drive(pause):
        code = DRIVER.format(folder=folder, tests=tests, pause=pause)
        script.write_text(code.replace("rows()", "__import__('test_dask').load(0, 50)[0]"))
        command = [sys.executable, str(script)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)

    first = drive(pause=5)
    deadline = time.monotonic() + 60
    while not (tmp_path / "paused").exists():
        assert time.monotonic() < deadline
        assert first.poll() is None
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)  # with its cluster
    first.communicate()
    assert (tmp_path / "fit").exists()
    second = drive(pause=0)
    output, _ = second.communicate(timeout=120)
    rounds, gap, *scores = map(float, output.split())
    assert gap <= 1e-6
    X, y = data
    serial = SVC(C=2.0, gamma=GAMMA, tol=1e-6, random_state=0).fit(X, y)
    np.testing.assert_allclose(scores, serial.decision_function(X[:50]), atol=1e-2)
    (tmp_path / "fit").unlink()
    whole, _ = drive(pause=0).communicate(timeout=120)
    assert rounds <= float(whole.split()[0]) - 3


def resident(field):
    """Megabytes of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(field + ":")[1].split()[0]) / 1024


def large_block(seed, n):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 30), dtype=np.float32), rng.integers(0, 2, n)
    X[:, 0] += 16 * y - 8  # so that few rows are support vectors
    return X, y


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_memory_of_a_worker_is_bounded():
    n, n_blocks = 250_000, 8
    blocks = [dask.delayed(large_block, nout=2, pure=True)(k, n) for k in range(n_blocks)]
    X, y = [X for X, _ in blocks], [y for _, y in blocks]
    with fresh_cluster(2) as client:
        small = [dask.delayed(large_block, nout=2)(k, 1000) for k in range(4)]
        model = DaskSVC(kernel="linear", client=client, random_state=0)
        model.fit([X for X, _ in small], [y for _, y in small])  # imports and the like
        before = client.run(resident, "VmRSS")
        model.fit(X, y)
        peak = client.run(resident, "VmHWM")
    shard = n * n_blocks / 2 * 30 * 4 / 2**20
    assert max(peak[worker] - before[worker] for worker in before) < shard + 300
