"""Models in scikit-learn, ONNX and skops."""

import pickle
import sys

import numpy as np
import pytest
import skops.io
from models import KERNELS, assert_same, fitted, some_rows, table_model

from fwsvm import (
    SVC,
    TableModel,
    datasets,
    to_onnx,
    to_sklearn,
)
from fwsvm.data import Preparation, Table
from fwsvm.model_files import ModelFileError


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "object"])
@pytest.mark.parametrize("classes", ["two", "three", "names", "bool"])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_scikit_learn_predicts_the_same(classes, kernel, sparse, shape):
    model, X = fitted(classes, sparse=sparse, decision_function_shape=shape, **KERNELS[kernel])
    theirs = to_sklearn(model)
    np.testing.assert_array_equal(theirs.predict(X), model.predict(X))
    np.testing.assert_allclose(
        theirs.decision_function(X), model.decision_function(X), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(theirs.n_support_, model.n_support_)
    np.testing.assert_array_equal(theirs.intercept_, model.intercept_)
    again = pickle.loads(pickle.dumps(theirs))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["mushrooms", "dna.scale"])
def test_scikit_learn_predicts_the_same_on_real_data(name):
    X, y = datasets.load(name)
    model = SVC(C=10).fit(X, y)
    theirs = to_sklearn(model)
    np.testing.assert_array_equal(theirs.predict(X), model.predict(X))
    np.testing.assert_allclose(
        theirs.decision_function(X), model.decision_function(X), atol=1e-4
    )  # ours computes with the float32 of the data


def test_ties_are_broken_alike():
    model, X = fitted("three", break_ties=True)
    np.testing.assert_array_equal(to_sklearn(model).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SVC(), "fitted"),
        (lambda: fitted(multiclass="ovr")[0], "multiclass='ovo'"),
        (lambda: fitted(multiclass="ddag")[0], "multiclass='ovo'"),
        (lambda: fitted(kernel="laplacian")[0], "linear, rbf, poly, sigmoid"),
        (lambda: fitted(kernel=lambda A, B: A @ B.T)[0], "linear, rbf, poly, sigmoid"),
    ],
)
def test_what_scikit_learn_cannot_do_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        to_sklearn(make())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("classes", ["two", "three", "names"])
def test_onnxruntime_gives_our_labels(classes, kernel, sparse):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    model, X = fitted(classes, sparse=sparse, **KERNELS[kernel])
    graph = to_onnx(model, options={"zipmap": False})
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    dense = (X.toarray() if sparse else X).astype(np.float32)
    labels, _ = session.run(None, {session.get_inputs()[0].name: dense})
    np.testing.assert_array_equal(labels, model.predict(dense))


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_scaling_is_part_of_the_onnx_graph(scale):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    X, y = some_rows(3, dtype=np.float32)
    table = Table(X * np.float32(10) + 3, y)
    preparation = Preparation(scale).fit(table)
    model = TableModel(preparation, SVC().fit(preparation.apply(table), y))
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    labels = session.run(None, {session.get_inputs()[0].name: table.X})[0]
    np.testing.assert_array_equal(labels, model.predict(table))


def test_onnx_of_one_hot_columns_is_refused():
    pytest.importorskip("skl2onnx")
    with pytest.raises(ModelFileError, match="colour"):
        to_onnx(table_model()[0])


def test_missing_skl2onnx_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match="pip install skl2onnx"):
        to_onnx(fitted()[0])


def test_skops_dumps_and_loads():
    model, X = fitted(sparse=True)
    content = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=content)
    assert all(name.startswith(("fwsvm.", "scipy.sparse.")) for name in types)
    assert_same(skops.io.loads(content, trusted=types), model, X)
