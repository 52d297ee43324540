"""Sources of rows that do not fit in memory: the model of SVC on the same rows."""

import gzip
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from core_sets import dual_of, primal_of, q_of
from processes import MEMORY, run_python
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from svc import make_data

from fwsvm import SVC, Rows, stream
from fwsvm.dual import DualProblem
from fwsvm.kernels import RBF
from fwsvm.shards import Binary
from fwsvm.stream import passes, source, survey, text
from fwsvm.stream.part import StreamedPart, safe_until

pa = pytest.importorskip("pyarrow")
import pyarrow.feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

N, GAMMA = 3000, 0.2


@pytest.fixture(scope="module")
def data():
    X, y = make_data(N, n_features=6)
    return X.astype(np.float32), y


@pytest.fixture(params=["kept", "read again"])
def blocks(request, monkeypatch):
    """Small blocks; rows that are kept in memory, or hardly any."""
    monkeypatch.setattr(source, "BYTES_OF_BLOCK", 12_000)
    monkeypatch.setattr(text, "BYTES_OF_TEXT", 30_000)
    if request.param == "read again":
        monkeypatch.setattr(survey, "PART_KEPT", 1e-6)
    return request.param


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(source, "BYTES_OF_BLOCK", 12_000)
    monkeypatch.setattr(survey, "PART_KEPT", 1e-6)


def table_of(X, y, **more):
    return pa.table({f"f{k}": column for k, column in enumerate(X.T)} | {"label": y} | more)


def parquet_of(path, X, y, rows=400, **more):
    pq.write_table(table_of(X, y, **more), path, row_group_size=rows)
    return path


def folder_of_parquet(path, X, y):
    (path / "some").mkdir()
    parquet_of(path / "some" / "a.parquet", X[:1100], y[:1100])
    parquet_of(path / "some" / "b.parquet", X[1100:1100], y[1100:1100])
    parquet_of(path / "some" / "c.parquet", X[1100:], y[1100:])
    return path / "some"


def arrays_of(path, X, y):
    for begin, end in ((0, 1000), (1000, 1700), (1700, N)):
        np.save(path / f"X{begin:05d}.npy", X[begin:end])
    np.save(path / "y.npy", y)
    return stream.arrays(sorted(path.glob("X*.npy")), path / "y.npy")


def feather_of(path, X, y):
    pyarrow.feather.write_feather(table_of(X, y), path, chunksize=700)
    return path


def text_of(path, X, y):
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


def packed_text_of(path, X, y):
    path.write_bytes(gzip.compress(text_of(path.with_suffix(""), X, y).read_bytes()))
    return path


SOURCES = {
    "parquet": lambda path, X, y: stream.parquet(parquet_of(path / "p", X, y), "label"),
    "small row groups": lambda path, X, y: stream.parquet(parquet_of(path / "p", X, y, 50), -1),
    "large row groups": lambda path, X, y: stream.parquet(parquet_of(path / "p", X, y, N), -1),
    "folder": lambda path, X, y: stream.parquet(folder_of_parquet(path, X, y), "label"),
    "arrow": lambda path, X, y: stream.arrow(feather_of(path / "a", X, y), "label"),
    "npy": arrays_of,
    "arrays": lambda path, X, y: stream.arrays(X, y.reshape(-1, 1)),
    "libsvm": lambda path, X, y: stream.libsvm(text_of(path / "t.libsvm", X, y)),
    "packed": lambda path, X, y: stream.libsvm(packed_text_of(path / "t.libsvm.gz", X, y)),
}


def gap_of(model, X, y, C=1.0, kernel=None):
    """From the coefficients of a model of two classes, on all rows."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    problem = DualProblem(Rows(X, storage="dense"), signs, np.full(len(y), 1 / C), kernel)
    b = np.zeros(len(y))
    b[model.support_] = np.ravel(model.dual_coef_) * signs[model.support_]
    q = q_of(problem)
    return 1 - dual_of(q, problem.ridge, b) / primal_of(q, problem.ridge, b)


# ----------------------------------------------------------------------------------- the same model


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_model_of_its_rows(name, data, blocks, tmp_path):
    X, y = data
    rows = SOURCES[name](tmp_path, X, y)
    model = SVC(gamma=GAMMA, tol=1e-4, random_state=0, n_jobs=1).fit(rows)
    n_blocks = sum(1 for _ in rows.blocks(range(1000)))
    assert n_blocks > 4
    whole = SVC(gamma=GAMMA, tol=1e-4, random_state=0, n_jobs=1).fit(X, y)
    assert model.converged_
    assert gap_of(model, X, y, kernel=RBF(GAMMA)) <= 1e-4
    named = table_of(X, y).drop(["label"]).to_pandas() if rows.feature_names else X
    scores, wanted = model.decision_function(named), whole.decision_function(X)
    np.testing.assert_allclose(scores, wanted, atol=0.02)
    sure = np.abs(wanted) > 0.02
    np.testing.assert_array_equal(model.predict(named)[sure], whole.predict(X)[sure])
    assert model.shape_fit_ == X.shape
    assert model.trace_[0][-1].rows_seen == N


def test_classes_weights_and_names(blocks, tmp_path):
    X, labels = make_data(900, n_classes=4, n_features=5)
    X, y = X.astype(np.float32), np.array(["d", "a", "bb", "c"])[labels]
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], len(y))
    file = parquet_of(tmp_path / "p", X, y, 90, weight=weight)
    for multiclass in ("ovo", "ovr"):
        settings = {"C": 2.0, "class_weight": "balanced", "multiclass": multiclass, "tol": 1e-5}
        rows = stream.parquet(file, "label", weight="weight")
        model = SVC(**settings, random_state=0).fit(rows)
        whole = SVC(**settings, random_state=0).fit(X, y, weight)
        assert model.feature_names_in_.tolist() == [f"f{k}" for k in range(5)]
        assert model.classes_.tolist() == ["a", "bb", "c", "d"]
        np.testing.assert_allclose(model.class_weight_, whole.class_weight_)
        np.testing.assert_allclose(model._gamma, whole._gamma, rtol=1e-6)
        X_named = table_of(X, y).drop(["label"]).to_pandas()
        decide = model.set_params(decision_function_shape="ovr").decision_function
        np.testing.assert_array_equal(model.predict(X_named), whole.predict(X))
        assert decide(X_named).shape == (900, 4)
        np.testing.assert_array_equal(X[model.support_], model.support_vectors_)


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian"])
def test_kernels(kernel, data, small_blocks):
    X, y = data[0][:800], data[1][:800]
    settings = {"kernel": kernel, "gamma": 0.05, "coef0": 0.1, "tol": 1e-4, "random_state": 0}
    model = SVC(**settings).fit(stream.arrays(X, y))
    whole = SVC(**settings).fit(X, y)
    assert gap_of(model, X, y, kernel=model._kernel) <= 1e-4
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=0.02)


def test_sparse_text_is_as_wide_as_its_widest_block(small_blocks, monkeypatch, tmp_path):
    monkeypatch.setattr(text, "BYTES_OF_TEXT", 2000)
    X = scipy.sparse.random(400, 50, 0.1, "lil", np.float32, random_state=0)
    y = np.asarray(X[:, [3]].toarray().ravel() > 0, dtype=int)
    X.resize((400, 70))
    y[-1] = X[399, 69] = 1
    lines = [
        " ".join([str(label), *(f"{k + 1}:{row[k]!r}" for k in np.flatnonzero(row))])
        for label, row in zip(y, X.toarray().tolist(), strict=True)
    ]
    (tmp_path / "t.libsvm").write_text("\n".join(lines) + "\n")
    model = SVC(gamma=0.3, tol=1e-5).fit(stream.libsvm(tmp_path / "t.libsvm"))
    whole = SVC(gamma=0.3, tol=1e-5).fit(X.tocsr(), y)
    assert model.n_features_in_ == 70
    scores, wanted = (m.decision_function(X.tocsr()) for m in (model, whole))
    np.testing.assert_allclose(scores, wanted, atol=0.01)


def test_own_sources(small_blocks):
    class Generated(stream.Source):
        def read(self, number):
            if number == 6:
                return None
            rng = np.random.default_rng(number)
            X = rng.standard_normal((200, 3))
            return stream.Block(X, X[:, 0] > 0)

        def name_of(self, number):
            return f"generated block {number}"

    model = SVC(random_state=0).fit(Generated(stream.Settings.of("1GB")))
    assert model.converged_
    assert model.shape_fit_ == (1200, 3)


# --------------------------------------------------------------------------------- what is not read


def test_rows_that_are_kept_are_read_once(data, monkeypatch):
    monkeypatch.setattr(source, "BYTES_OF_BLOCK", 12_000)
    rows = stream.arrays(*data)
    SVC(random_state=0).fit(rows)
    # All rows fit: besides the survey only the support vectors of the model are fetched.
    assert rows.blocks_read == len(rows._bounds)


def test_blocks_without_slack_are_not_read(data, small_blocks, monkeypatch):
    rows, look, wanted, read = stream.arrays(*data), passes.Passes._look, StreamedPart.wanted, []
    read_rows = rows.read

    def noting(number):
        read.append(number)
        return read_rows(number)

    def looking(self, *arguments):
        read.clear()
        return look(self, *arguments)

    def only_of_two(part, problem, seed, level, *others):
        some = wanted(part, problem, seed, level, *others)
        return some[:0] if level is None and part.number > 1 else some

    rows.read = noting
    monkeypatch.setattr(passes.Passes, "_look", looking)
    monkeypatch.setattr(StreamedPart, "wanted", only_of_two)
    monkeypatch.setattr(passes.Passes, "_fetch", lambda self, *_: read.append("fetched") or {})
    with pytest.raises(ValueError, match="not enough values"):  # there is nothing to fetch
        SVC(gamma=GAMMA, random_state=0).fit(rows)
    assert set(read) == {0, 1, "fetched"}


def test_a_row_is_safe_only_as_long_as_its_margin_is():
    """In exact arithmetic of the stored number."""
    rng = np.random.default_rng(0)
    margins, length2 = rng.normal(1, 2, 2000), rng.uniform(1, 100, 2000)
    part = StreamedPart(0, 0, np.zeros(2000, np.int8), np.empty(0, int), np.empty((0, 1)), None)
    binary = Binary(0, (0, -1), 1.0, RBF(1.0), 0)
    for moved in (0.0, 1.0, 1e6 / 3):
        part.remember(binary, np.arange(2000), safe_until(margins, length2, moved))
        until = part.safe_until(binary).astype(np.longdouble)
        exact = moved + (margins.astype(np.longdouble) - 1) / np.sqrt(length2)
        assert (until <= exact).all()
        assert (until >= exact - 3e-7 * np.abs(exact) - 1e-30).all()
        wanted = part.wanted(binary, 0, None, moved, np.empty(0, int))
        np.testing.assert_array_equal(np.isin(np.flatnonzero(margins < 1), wanted), True)


def test_one_block_is_read_ahead(data):
    rows = stream.arrays(*data)
    rows._bounds = [(0, k, k + 1) for k in range(20)]
    most = 0
    for number, _ in rows.blocks(range(20)):
        time.sleep(0.01)
        most = max(most, rows.blocks_read - number)
    assert most == 2
    rows.blocks_read = 0
    for _ in rows.blocks(range(20)):
        break
    assert rows.blocks_read <= 2


def test_mapped_arrays_are_not_copied(tmp_path):
    rng, shape = np.random.default_rng(0), (3000, 2000)
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, shape)
    mapped[:] = 1e-2 * rng.standard_normal(shape)
    y = np.arange(3000) % 2
    mapped[:, 0] += y
    mapped.flush()
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    tracemalloc.start()
    try:
        SVC(gamma=0.2, cache_size=8, tol=0.1).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes / 2


# --------------------------------------------------------------------------------------- what fails


def test_bad_values_say_where_they_are(data, small_blocks, monkeypatch, tmp_path):
    X, y = data[0].copy(), data[1].astype(object)
    y[1234] = None
    file = parquet_of(tmp_path / "p.parquet", X, pa.array(list(y)), 400)
    match = "p.parquet, row group 3, rows 1 to 400 of it: row 35, column 'label'.*null"
    with pytest.raises(ValueError, match=match):
        SVC().fit(stream.parquet(file, "label"))
    X[2500, 2] = np.nan
    with pytest.raises(ValueError, match=r"p.parquet, row group 6.*'f2'.*finite.*row 101"):
        SVC().fit(stream.parquet(parquet_of(file, X, data[1], 400), "label"))
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=r"X.npy, rows 2501 to 3000: .*NaN"):
        SVC().fit(stream.arrays(tmp_path / "X.npy", data[1]))
    lines = text_of(tmp_path / "t.libsvm", *data).read_text().split("\n")
    lines[2000] = "1 3:nonsense"
    (tmp_path / "t.libsvm").write_text("\n".join(lines))
    monkeypatch.setattr(text, "BYTES_OF_TEXT", 10_000)
    with pytest.raises(ValueError, match=r"block \d+ of .*line 2001.*nonsense"):
        SVC().fit(stream.libsvm(tmp_path / "t.libsvm"))
    X[2500, 2] = 1e30
    with pytest.raises(ValueError, match=r"X, rows 2501 to 3000: .*too large"):
        SVC().fit(stream.arrays(X, data[1]))
    with pytest.raises(ValueError, match=r"X, rows 2501 to 3000: .*too large"):
        SVC(gamma=0.1).fit(stream.arrays(X, data[1]))
    file.write_bytes(file.read_bytes()[:-2000])
    with pytest.raises(ValueError, match=r"p.parquet: damaged"):
        stream.parquet(file, "label")


def test_a_source_that_changes_is_an_error(data, small_blocks, tmp_path):
    file = parquet_of(tmp_path / "p.parquet", *data)
    rows = stream.parquet(file, "label")
    original = rows.read

    def read(number):
        if rows.blocks_read > 20:
            os.utime(file, ns=(1, 1))
        return original(number)

    rows.read = read
    with pytest.raises(stream.ChangedSourceError, match=r"p.parquet has changed since"):
        SVC().fit(rows)
    X, y = data
    rows = stream.arrays(X, y)
    original_of_arrays, n_blocks = rows.read, len(rows._bounds)

    def others(number):
        block = original_of_arrays(number)
        if rows.blocks_read > n_blocks + 2 and block is not None:
            return stream.Block(block.X, 1 - block.y)
        return block

    rows.read = others
    with pytest.raises(stream.ChangedSourceError, match=r"rows \d+ to \d+ has changed"):
        SVC().fit(rows)


def test_a_memory_limit_that_is_too_small(data, monkeypatch):
    with pytest.raises(ValueError, match=r"at least 692 MB: .*210 for cache_size.*Got 600 MB"):
        SVC().fit(stream.arrays(*data, memory_limit="600MB"))
    for wrong in ("2 pounds", "0GB", 0, -5, 1.5, None):
        with pytest.raises(ValueError, match="bytes, or text such as '2GB'"):
            stream.arrays(*data, memory_limit=wrong)
    monkeypatch.setattr(passes, "COPIES", 1e6)
    with pytest.raises(stream.MemoryLimitError, match=r"for the [\d,]+ rows that matter"):
        SVC().fit(stream.arrays(*data, memory_limit="800MB"))
    monkeypatch.setattr(survey, "BYTES_OF_ROW", 1e5)
    with pytest.raises(stream.MemoryLimitError, match=r"its 3,000 rows so far"):
        SVC().fit(stream.arrays(*data, memory_limit="700MB"))


def test_sizes():
    sizes = {"2GB": 2 * 10**9, "500 MB": 5 * 10**8, "1.5GiB": 1.5 * 2**30, "7": 7, "1k": 1000}
    for given, wanted in sizes.items():
        assert stream.bytes_of(given) == wanted


def test_room_is_made_for_the_rows_that_matter(data, monkeypatch):
    """What was kept in memory goes, and is read instead."""
    monkeypatch.setattr(source, "BYTES_OF_BLOCK", 12_000)
    rows, original = stream.arrays(*data), passes.Passes._make_room

    def make_room(self):
        self.room = 3 * sum(gathered.nbytes for gathered in self._gathered.values()) + 1
        original(self)

    monkeypatch.setattr(passes.Passes, "_make_room", make_room)
    model = SVC(gamma=GAMMA, random_state=0).fit(rows)
    assert model.converged_
    assert rows.blocks_read > 2 * len(rows._bounds)


def test_wrong_usage(data, tmp_path):
    X, y = data
    rows = stream.arrays(X, y)
    for arguments, match in [
        ({"solver": "mfw"}, "solver='auto'"),
        ({"warm_start": True}, "checkpoint="),
        ({"kernel": "precomputed"}, "precomputed"),
    ]:
        with pytest.raises(ValueError, match=match):
            SVC(**arguments).fit(rows)
    with pytest.raises(ValueError, match="give it alone"):
        SVC().fit(rows, y)
    with pytest.raises(ValueError, match="greater than one; got 1"):
        SVC().fit(stream.arrays(X, np.zeros(N)))
    with pytest.raises(ValueError, match="no rows"):
        SVC().fit(stream.arrays(X[:0], y[:0]))
    with pytest.raises(ValueError, match="2999 values for 3000 rows"):
        stream.arrays(X, y[1:])
    with pytest.raises(ValueError, match=r"Unknown label type|continuous"):
        SVC().fit(stream.arrays(X, X[:, 0]))
    with pytest.raises(ValueError, match="needs checkpoint="):
        stream.arrays(X, y, resume=True)
    with pytest.raises(ValueError, match="only once"):
        stream.libsvm("-")
    with pytest.raises(FileNotFoundError, match="is not there"):
        stream.parquet(tmp_path / "nothing", "label")
    file = parquet_of(tmp_path / "p", X, y, name=pa.array(["a"] * N))
    with pytest.raises(ValueError, match=r"'name' must hold numbers.*columns="):
        stream.parquet(file, "label")
    assert SVC().fit(stream.parquet(file, "label", columns=["f0", "f2"])).n_features_in_ == 2
    with pytest.raises(ValueError, match="expected a column 'nope'"):
        stream.parquet(file, "nope")
    with pytest.raises(ValueError, match="expected LIBSVM text, and this is parquet"):
        SVC().fit(stream.libsvm(file))


def test_max_time_leaves_a_model(data, small_blocks):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="time"):
        model = SVC(tol=1e-9, max_time=0.05, random_state=0).fit(stream.arrays(X, y))
    assert model.status_ == ["max_time"]
    assert 0 < model.gap_[0] < 1


# ----------------------------------------------------------------------------------- going on later

DRIVER = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_stream import SVC, passes, source, stream, survey
source.BYTES_OF_BLOCK, survey.PART_KEPT = 12_000, 1e-6
original, rounds = passes.Passes._look, []

def look(self, *arguments):
    rounds.append(1)
    if len(rounds) == {pause}:
        Path({folder!r}, "paused").touch()
        time.sleep(100)
    return original(self, *arguments)

passes.Passes._look = look
folder = Path({folder!r})
rows = stream.parquet(folder / "p.parquet", "label", checkpoint=folder / "ck", resume=True)
model = SVC(C=2.0, gamma=0.2, tol=1e-6, random_state=0).fit(rows)
print(len(rounds), model.gap_[0])
"""


@pytest.mark.skipif(os.name != "posix", reason="kills processes as POSIX does")
def test_a_killed_process_goes_on_from_its_checkpoint(data, tmp_path):
    X, y = data
    file = parquet_of(tmp_path / "p.parquet", X, y)

    def drive(pause):
        code = DRIVER.format(folder=str(tmp_path), tests=str(Path(__file__).parent), pause=pause)
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)

    first, ends = drive(pause=4), time.monotonic() + 60
    while not (tmp_path / "paused").exists():
        assert time.monotonic() < ends
        assert first.poll() is None
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    checkpoint = (tmp_path / "ck").read_bytes()
    second, _ = drive(pause=0).communicate(timeout=60)
    (tmp_path / "ck").unlink()
    whole, _ = drive(pause=0).communicate(timeout=60)
    (rounds, gap), (all_rounds, _) = (map(float, out.split()) for out in (second, whole))
    assert gap <= 1e-6
    assert rounds < all_rounds
    (tmp_path / "ck").write_bytes(checkpoint)
    rows = stream.parquet(file, "label", checkpoint=tmp_path / "ck", resume=True)
    with pytest.raises(ValueError, match=r"other C.*resume=False"):
        SVC(C=3.0, gamma=0.2).fit(rows)


def test_a_finished_checkpoint_is_the_model(data, small_blocks, tmp_path):
    X, y = data
    settings = {"gamma": GAMMA, "random_state": 0}
    first = SVC(**settings).fit(stream.arrays(X, y, checkpoint=tmp_path / "ck"))
    again = stream.arrays(X, y, checkpoint=tmp_path / "ck", resume=True)
    second = SVC(**settings).fit(again)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert again.blocks_read <= 2 * len(again._bounds) + 1
    other = stream.arrays(X, 1 - y, checkpoint=tmp_path / "ck", resume=True)
    with pytest.raises(ValueError, match="other labels"):
        SVC(**settings).fit(other)


# ------------------------------------------------------------------------------------------- memory

PEAK = """
import sys
sys.path.insert(0, {benchmarks!r})
from out_of_core import write
from fwsvm import SVC, stream

if sys.argv[1:] == ["write"]:
    write({file!r}, 3_000_000)
else:
    forget_peak()
    rows = stream.parquet({file!r}, "label", memory_limit={limit})
    model = SVC(random_state=0).fit(rows)
    print(megabytes("VmHWM"), model.gap_[0], rows.blocks_read)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux counts so")
def test_memory_stays_within_its_limit(tmp_path):
    limit = 720_000_000
    benchmarks = str(Path(__file__).parents[1] / "benchmarks")
    code = MEMORY + PEAK.format(
        benchmarks=benchmarks, file=str(tmp_path / "rows.parquet"), limit=limit
    )
    run_python("import sys; sys.argv.append('write')\n" + code)
    peak, gap, blocks_read = map(float, run_python(code, timeout=300).split())
    assert gap <= 1e-3
    assert peak * 2**20 < limit
    assert blocks_read > 100
    assert (tmp_path / "rows.parquet").stat().st_size > 0.5 * limit - 1e7
