"""LIBSVM's text models: written, read, and predicted by its own program."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from models import KERNELS, assert_same, fitted, some_rows, table_model

from fwsvm import (
    SVC,
    TableModel,
    datasets,
    load_model,
    multiclass,
    save_model,
)
from fwsvm.data import Preparation, Table, read
from fwsvm.model_files import ModelFileError


def svm_predict(model_path, X, y, folder):
    if shutil.which("svm-predict") is None:
        pytest.skip("svm-predict is not here: install libsvm-tools")
    X = scipy.sparse.csr_array(X)
    lines = []
    for label, a, b in zip(y, X.indptr, X.indptr[1:], strict=False):
        pairs = zip(X.indices[a:b], X.data[a:b].tolist(), strict=True)
        lines.append(" ".join([str(label), *(f"{i + 1}:{v!r}" for i, v in pairs)]))
    (folder / "rows").write_text("\n".join(lines) + "\n")
    command = ["svm-predict", folder / "rows", model_path, folder / "out"]
    subprocess.run(command, check=True, capture_output=True)
    return np.loadtxt(folder / "out")


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("classes", ["two", "three"])
def test_svm_predict_gives_our_labels(classes, kernel, sparse, tmp_path):
    model, X = fitted(classes, sparse=sparse, **KERNELS[kernel])
    save_model(model, tmp_path / "model", format="libsvm")
    theirs = svm_predict(tmp_path / "model", X, model.predict(X), tmp_path)
    np.testing.assert_array_equal(theirs, model.predict(X))


@pytest.mark.parametrize("name", ["mushrooms", "dna.scale"])
def test_svm_predict_gives_our_labels_on_real_data(name, tmp_path):
    X, y = datasets.load(name)
    model = SVC(C=10).fit(X[::2], y[::2])
    save_model(model, tmp_path / "model", format="libsvm")
    theirs = svm_predict(tmp_path / "model", X[1::2], y[1::2], tmp_path)
    np.testing.assert_array_equal(theirs, model.predict(X[1::2]))


@pytest.mark.parametrize("options", [["-t", "2"], ["-t", "0"], ["-t", "1", "-r", "1"], ["-s", "1"]])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_models_of_svm_train_are_read(options, n_classes, tmp_path):
    if shutil.which("svm-train") is None:
        pytest.skip("svm-train is not here: install libsvm-tools")
    X, labels = some_rows(n_classes, n=120)
    names = np.array([5, -3, 9, 1])[:n_classes]
    y = names[np.roll(labels, 1)]  # labels of LIBSVM are in order of appearance
    lines = [
        " ".join([str(label), *(f"{k + 1}:{value!r}" for k, value in enumerate(row))])
        for label, row in zip(y, X.tolist(), strict=True)
    ]
    (tmp_path / "rows").write_text("\n".join(lines) + "\n")
    command = ["svm-train", "-q", *options, tmp_path / "rows", tmp_path / "model"]
    subprocess.run(command, check=True, capture_output=True)
    model = load_model(tmp_path / "model")
    theirs = svm_predict(tmp_path / "model", X, y, tmp_path)
    values = model.set_params(decision_function_shape="ovo").decision_function(X)
    ordered = np.sort(multiclass.votes(values.reshape(len(X), -1), n_classes), axis=1)
    clear = ordered[:, -1] > ordered[:, -2]  # it has ties go by the order of appearance
    assert clear.mean() > 0.8
    np.testing.assert_array_equal(model.predict(X)[clear], theirs[clear])
    save_model(model, tmp_path / "again", format="libsvm")
    np.testing.assert_array_equal(svm_predict(tmp_path / "again", X, y, tmp_path), model.predict(X))
    save_model(model, tmp_path / "as_ours")
    assert_same(load_model(tmp_path / "as_ours"), model, X)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("classes", ["two", "three"])
def test_text_models_come_back(classes, kernel, tmp_path):
    model, X = fitted(classes, **KERNELS[kernel])
    save_model(model, tmp_path / "model", format="libsvm")
    loaded = load_model(tmp_path / "model")
    values = loaded.decision_function(X)
    np.testing.assert_allclose(values, model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert not hasattr(loaded, "gap_")


def test_a_precomputed_text_model_comes_back(tmp_path):
    X, y = some_rows(3)
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    save_model(model, tmp_path / "model", format="libsvm")
    loaded = load_model(tmp_path / "model", n_features=len(X))
    np.testing.assert_allclose(
        loaded.decision_function(X @ X.T), model.decision_function(X @ X.T), atol=1e-10
    )


def test_a_text_model_is_as_wide_as_asked(tmp_path):
    model, X = fitted()
    save_model(model, tmp_path / "model", format="libsvm")
    wide = load_model(tmp_path / "model", n_features=9)
    padded = np.hstack([X, np.zeros((len(X), 4))])
    np.testing.assert_array_equal(wide.predict(padded), model.predict(X))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fitted("names")[0], "integers of 32 bits"),
        (lambda: fitted("bool")[0], "integers of 32 bits"),
        (lambda: fitted(multiclass="ovr")[0], "multiclass='ovo'"),
        (lambda: fitted(multiclass="ddag")[0], "multiclass='ovo'"),
        (lambda: fitted(kernel="laplacian")[0], "kernels linear, polynomial"),
        (lambda: table_model()[0], "no place for scaling"),
    ],
)
def test_what_libsvm_cannot_hold_is_refused(make, message, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        save_model(make(), tmp_path / "model", format="libsvm")


def text_model():
    from fwsvm.model_files import libsvm_text

    return libsvm_text.encode(fitted("three")[0]).decode()


TEXT = text_model()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("c_svc", "epsilon_svr", "a classifier"),
        ("kernel_type rbf", "kernel_type magic", "kernel_type must be"),
        ("gamma ", "gamma x", "gamma must be numbers"),
        ("nr_class 3", "nr_class 3.5", "nr_class"),
        ("nr_class 3", "nr_class 99999999", "nr_class must be a count"),
        ("label -1 3 7", "label 3 3 7", "ascend"),
        ("label -1 3 7", "label 3 7", "label and 3 numbers"),
        ("nr_sv ", "nr_sv 1 ", "nr_sv and 3 numbers"),
        ("\nSV\n", "\n", "expected a line SV"),
        ("\nSV\n", "\nSV\n1 x 1:2\n", "support vectors, as total_sv says"),
        (" 2:", " x:", "line"),
        ("rho ", "rho nan", "rho"),
    ],
)
def test_wrong_text_models_are_refused(old, new, message, tmp_path):
    assert old in TEXT
    (tmp_path / "strange").write_text(TEXT.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=f"strange: .*{message}"):
        load_model(tmp_path / "strange")


@settings(max_examples=200, deadline=None)
@given(
    changes=st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.binary(max_size=3)), max_size=5),
    length=st.integers(20, len(TEXT)),
)
def test_altered_text_models_are_read_or_refused(changes, length):
    from fwsvm.model_files import libsvm_text

    altered = bytearray(TEXT.encode()[: max(length, 20)])
    for place, some in changes:
        altered[place : place + len(some)] = some
    try:
        model = libsvm_text.decode(bytes(altered), "model")
    except ModelFileError:
        return
    assert len(model.classes_) >= 2


def test_features_that_no_training_row_had_count_as_in_svm_predict(tmp_path):
    model, X = fitted("two", sparse=True, kernel="rbf", gamma=0.3)
    save_model(model, tmp_path / "model", format="libsvm")
    more = 3 * scipy.sparse.random_array((X.shape[0], 4), density=0.5, rng=0)
    wide = scipy.sparse.csr_array(scipy.sparse.hstack([X, more]))
    theirs = svm_predict(tmp_path / "model", wide, model.predict(X), tmp_path)
    known = TableModel(Preparation().fit(Table(X, None)), model)
    with pytest.warns(UserWarning, match="features up to 9"):
        ours = known.predict(read(tmp_path / "rows", dtype=np.float64))
    np.testing.assert_array_equal(ours, theirs)
    assert (ours != model.predict(X)).any()
    program = [sys.executable, "-m", "fwsvm", "predict", tmp_path / "model", tmp_path / "rows"]
    done = subprocess.run(program, check=True, capture_output=True)
    np.testing.assert_array_equal(np.array(done.stdout.split(), dtype=int), theirs)
