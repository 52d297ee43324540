"""Model files: what is saved is what is loaded."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from models import CLASSES, KERNELS, assert_same, fitted, some_rows, table_model
from sklearn.datasets import dump_svmlight_file

from fwsvm import (
    SVC,
    TableModel,
    datasets,
    load_model,
    save_model,
)
from fwsvm.data import Preparation, Table, read
from fwsvm.model_files import saved


def assert_same_file(content, other):
    (header, arrays), (other_header, other_arrays) = saved.checked(content), saved.checked(other)
    assert header == other_header
    assert arrays.keys() == other_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, other_arrays[name])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", ["two", "three"])
def test_every_kernel_comes_back_to_the_last_bit(kernel, classes, sparse, tmp_path):
    model, X = fitted(classes, sparse=sparse, **KERNELS[kernel])
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_same(loaded, model, X)
    assert loaded.get_params() == model.get_params()
    for name in ("support_", "n_support_", "intercept_", "gap_", "n_iter_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.status_ == model.status_
    assert loaded.converged_ == model.converged_
    assert loaded.fit_time_ == model.fit_time_ > 0
    assert_same_file(saved.encode(loaded), (tmp_path / "model").read_bytes())


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "ddag"])
@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_kind_of_class_comes_back(classes, multiclass, dtype, tmp_path):
    model, X = fitted(classes, multiclass=multiclass, dtype=dtype)
    save_model(model, tmp_path / "model")
    assert_same(load_model(tmp_path / "model"), model, X)


def test_a_precomputed_kernel_comes_back(tmp_path):
    X, y = some_rows(3)
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    save_model(model, tmp_path / "model")
    assert_same(load_model(tmp_path / "model"), model, X @ X.T)


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_weight": {"red": 2.0, "blue": 1, "green": np.float32(3)}},
        {"class_weight": "balanced", "random_state": np.random.RandomState(0)},
        {"C": np.float64(3), "max_iter": np.int64(50), "solver": "mfw", "selection": 59},
    ],
)
def test_parameters_come_back(parameters, tmp_path):
    model, X = fitted("names", **parameters)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_same(loaded, model, X)
    for name, value in parameters.items():
        expected = None if name == "random_state" else value
        assert getattr(loaded, name) == expected


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "ddag"])
@pytest.mark.parametrize("classes", ["two", "three"])
def test_a_loaded_model_is_a_warm_start(classes, multiclass, tmp_path):
    names = CLASSES[classes]
    X, labels = some_rows(len(names), n=400)
    cold = SVC(solver="mfw", warm_start=True, multiclass=multiclass).fit(X, names[labels])
    save_model(cold, tmp_path / "model")
    loaded = load_model(tmp_path / "model").fit(X, names[labels])
    assert (loaded.n_iter_ < cold.n_iter_ / 4).all()


def test_names_of_features_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = some_rows(2)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = SVC().fit(frame, y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_same(loaded, model, frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[list("edcba")])


def test_a_table_model_comes_back_with_its_preparation(tmp_path):
    model, table = table_model()
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded, TableModel)
    np.testing.assert_array_equal(loaded.decision_function(table), model.decision_function(table))
    assert loaded.score(table) == model.score(table) == 1.0
    assert loaded.target_name == "kind"
    assert loaded.preparation.describe() == model.preparation.describe()
    with pytest.raises(ValueError, match="with targets"):
        loaded.score(Table(table.X, None, table.feature_names))


def test_real_data_comes_back(tmp_path):
    X, y = datasets.load("mushrooms")
    model = SVC(C=10).fit(X, y)
    save_model(model, tmp_path / "model")
    assert_same(load_model(tmp_path / "model"), model, X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SVC(), "fitted SVC"),
        (lambda: fitted(kernel=lambda A, B: A @ B.T)[0], "no functions"),
        (
            lambda: SVC().fit([[0.0], [1.0]], np.array([1, 2], dtype=np.longdouble)),
            "longdouble|float128",
        ),
    ],
)
def test_what_cannot_be_saved_is_refused_and_leaves_no_file(make, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        save_model(make(), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    model, _ = fitted()
    save_model(model, tmp_path / "model")
    before = (tmp_path / "model").read_bytes()

    def full_disk(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        save_model(model, tmp_path / "model")
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_bytes() == before


def test_format_must_be_known(tmp_path):
    with pytest.raises(ValueError, match="format must be"):
        save_model(fitted()[0], tmp_path / "model", format="pickle")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no devices here")
def test_devices_and_links_stay_what_they_are(tmp_path):
    model, X = fitted()
    (tmp_path / "pipe").symlink_to("/dev/null")
    save_model(model, tmp_path / "pipe")
    assert Path("/dev/null").is_char_device()
    (tmp_path / "there").write_bytes(b"old")
    (tmp_path / "link").symlink_to("there")
    save_model(model, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert_same(load_model(tmp_path / "there"), model, X)


@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
@pytest.mark.parametrize("density", [0.1, 0.9])  # sparse rows, and dense ones as text
def test_rows_of_text_with_features_that_no_training_row_had(scale, density):
    """As if the training rows had been read with zeros there."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12)) * (rng.random((80, 12)) < density)
    X[0, 11] = 1
    y = np.arange(80) % 3
    later = np.hstack([X, rng.random((80, 3)) < 0.3])

    def as_text(X):
        sink = io.BytesIO()
        dump_svmlight_file(X, y, sink, zero_based=False)
        return read(io.BytesIO(sink.getvalue()), dtype=np.float64)

    def trained(table):
        preparation = Preparation(scale).fit(table)
        svc = SVC(gamma=0.1, tol=1e-9).fit(preparation.apply(table), y)
        return TableModel(preparation, svc)

    model, table = trained(as_text(X)), as_text(later)
    with pytest.warns(UserWarning, match="features up to 15, and those of training up to 12"):
        found = model.decision_function(table)
    wide = trained(Table(scipy.sparse.csr_array(np.hstack([X, np.zeros((80, 3))])), y))
    np.testing.assert_allclose(found, wide.decision_function(table), atol=1e-5)
    assert np.abs(found - model.decision_function(as_text(X))).max() > 0.01
    with pytest.raises(ValueError, match="expected 12 features as in the training table, got 15"):
        model.predict(Table(table.X, None))  # of a format that says how wide it is
