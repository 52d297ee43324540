"""Sources of rows that do not fit in memory: the model of SVC on the same rows."""

import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from core_sets import dual_of, primal_of, q_of
from svc import make_data

from fwsvm import SVC, Rows, stream
from fwsvm.dual import DualProblem
from fwsvm.kernels import RBF
from fwsvm.shards import Binary
from fwsvm.stream import passes, source, survey, text
from fwsvm.stream.part import StreamedPart, safe_until

pytest.importorskip("pyarrow")
from stream_files import (
    arrays_of,
    feather_of,
    folder_of_parquet,
    packed_text_of,
    parquet_of,
    table_of,
    text_of,
)

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
    rng, shape = np.random.default_rng(0), (1500, 8000)
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, shape)
    mapped[:] = 1e-3 * rng.standard_normal(shape)
    y = np.arange(1500) % 2
    mapped[:, 0] += 3 * y
    mapped.flush()
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    tracemalloc.start()
    try:
        SVC(gamma=0.2, cache_size=20, tol=0.1).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.75 * X.nbytes
