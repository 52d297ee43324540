"""Model files: what is saved is what is loaded, and nothing else is."""

import hashlib
import io
import json
import pickle
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
import safetensors.numpy
import scipy.sparse
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from fwsvm import (
    SVC,
    TableModel,
    datasets,
    kernels,
    load_model,
    multiclass,
    save_model,
    to_onnx,
    to_sklearn,
)
from fwsvm.data import Preparation, Table, read
from fwsvm.model_files import ModelFileError, saved

KERNELS = {
    "rbf": {"kernel": "rbf"},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01},
    "laplacian": {"kernel": "laplacian", "gamma": 0.1},
    "object": {"kernel": kernels.RBF(0.2)},
}
CLASSES = {
    "two": np.array([1, 2]),
    "three": np.array([3, -1, 7]),
    "floats": np.array([1.0, 2.0]),
    "names": np.array(["red", "blue", "green"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "bool": np.array([False, True]),
    "small": np.array([0, 1, 2], dtype=np.int8),
}


def some_rows(n_classes, *, n=90, sparse=False, dtype=np.float64, seed=0):
    """Overlapping classes, so that there are many support vectors."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    X = (rng.standard_normal((n, 5)) + 0.8 * np.eye(n_classes, 5)[labels]).astype(dtype)
    if sparse:
        X[rng.random(X.shape) < 0.6] = 0
        X = scipy.sparse.csr_array(X)
    return X, labels


def fitted(classes="three", *, sparse=False, dtype=np.float64, **parameters):
    names = CLASSES[classes]
    X, labels = some_rows(len(names), sparse=sparse, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # sigmoid has no optimum
        return SVC(**parameters).fit(X, names[labels]), X


def assert_same(loaded, model, X):
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(X).dtype == model.predict(X).dtype


def assert_same_file(content, other):
    (header, arrays), (other_header, other_arrays) = saved.checked(content), saved.checked(other)
    assert header == other_header
    assert arrays.keys() == other_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, other_arrays[name])


# ------------------------------------------------------------------------------------ model files


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


def table_model(scale="standard"):
    text = b"size,colour,kind\n" + b"1.5,red,a\n2.5,blue,b\n0.5,red,a\n3,green,b\n" * 5
    table = read(io.BytesIO(text), target="kind")
    preparation = Preparation(scale).fit(table)
    return TableModel(preparation, SVC().fit(preparation.apply(table), table.y), "kind"), table


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

    def full_disk(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full_disk)
    with pytest.raises(OSError, match="No space"):
        save_model(model, tmp_path / "model")
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_bytes() == before


def test_format_must_be_known(tmp_path):
    with pytest.raises(ValueError, match="format must be"):
        save_model(fitted()[0], tmp_path / "model", format="pickle")


# --------------------------------------------------------------------------------- damaged files


def rewritten(content, change):
    """The file with a changed header and arrays, and a checksum that fits again."""
    size = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + size])["__metadata__"]
    header, arrays = json.loads(metadata["header"]), dict(safetensors.numpy.load(content))
    change(header, arrays, metadata)
    metadata["header"] = json.dumps(header)
    metadata["sha256"] = saved._checksum(metadata["header"], arrays)
    return safetensors.numpy.save(arrays, metadata)


SAVED = saved.encode(table_model()[0])


def test_the_checksum_is_the_documented_one():
    size = int.from_bytes(SAVED[:8], "little")
    metadata = json.loads(SAVED[8 : 8 + size])["__metadata__"]
    digest = hashlib.sha256(metadata["header"].encode())
    for name, array in sorted(safetensors.numpy.load(SAVED).items()):
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    assert digest.hexdigest() == metadata["sha256"]


def set_header(key, value):
    return lambda header, arrays, metadata: header.update({key: value})


def set_array(name, change):
    def apply(header, arrays, metadata):
        arrays[name] = np.ascontiguousarray(change(arrays[name]))

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a, m: m.update(version="2"), "version 2 of the format.*Upgrade fwsvm"),
        (lambda h, a, m: m.update(version="9" * 5000), "Upgrade fwsvm"),
        (lambda h, a, m: m.update(version="new"), "version must be a positive number"),
        (lambda h, a, m: m.update(version="0"), "version must be a positive number"),
        (lambda h, a, m: m.update(format="other"), "not a model file of fwsvm"),
        (set_header("kernel", {"name": "magic"}), "kernel must be one of"),
        (set_header("kernel", {"name": "rbf", "gamma": -1}), "gamma must be"),
        (set_header("kernel", {"name": "rbf"}), "gamma"),
        (set_header("kernel", None), "not a model"),
        (set_header("classes", {"dtype": "int64", "values": ["a", "b"]}), "finite numbers"),
        (set_header("classes", {"dtype": "int64", "values": [0, 1.5]}), "of the type int64"),
        (set_header("classes", {"dtype": "str", "values": ["b", "a"]}), "classes must ascend"),
        (set_header("classes", {"dtype": "str", "values": ["b"]}), "two classes"),
        (set_header("classes", {"dtype": "O", "values": [1, 2]}), "classes must be"),
        (set_header("n_features", 10**12), "must"),
        (set_header("n_rows", 0), "training rows"),
        (set_header("parameters", {}), "kernel"),
        (set_header("training", {"gap": [0.1]}), "status"),
        (set_header("preparation", {"scale": "none"}), "Preparation"),
        (set_header("target_name", 5), "target_name"),
        (set_array("intercept", lambda a: a * np.nan), "intercept must be finite"),
        (set_array("dual_coef", lambda a: a[:, 1:]), "dual_coef must have its shape"),
        (set_array("dual_coef", lambda a: a.astype(np.float32)), "dual_coef must be of float64"),
        (set_array("support", lambda a: -a), "must not be negative"),
        (set_array("n_support", lambda a: a + 1), "add up"),
        (set_array("support_vectors", lambda a: a[:, 1:]), "support_vectors must have"),
        (set_array("support_vectors", lambda a: a * np.inf), "support_vectors must be finite"),
        (lambda h, a, m: a.pop("support"), "support"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(change, message, tmp_path):
    path = tmp_path / "strange.fwsvm"
    with np.errstate(invalid="ignore"):
        path.write_bytes(rewritten(SAVED, change))
    with pytest.raises(ModelFileError, match=f"strange.fwsvm.*{message}"):
        load_model(path)


def test_csr_that_points_outside_is_refused():
    model, _ = fitted(sparse=True)
    content = saved.encode(model)
    for part, change in [
        ("indices", lambda a: a + 100),
        ("indices", lambda a: -a - 1),
        ("indptr", lambda a: a * 2),
        ("indptr", lambda a: a.astype(np.uint32)),
        ("data", lambda a: a[:-1]),
    ]:
        altered = rewritten(content, set_array(f"support_vectors.{part}", change))
        with pytest.raises(ModelFileError):
            saved.decode(altered, "model")


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"\x80\x04pickle", SAVED[:100], SAVED[:-1], SAVED + b"x"],
    ids=["empty", "a byte", "pickle", "header cut", "cut", "longer"],
)
def test_files_that_are_no_models_are_refused(content):
    with pytest.raises(ModelFileError, match=r"name: damaged, cut short, or not a model"):
        saved.decode(content, "name")


@settings(max_examples=1000, deadline=None)
@given(place=st.integers(0, len(SAVED) - 1), bit=st.integers(0, 7))
def test_no_altered_bit_is_overlooked(place, bit):
    altered = bytearray(SAVED)
    altered[place] ^= 1 << bit
    with pytest.raises(ModelFileError):
        saved.decode(bytes(altered), "model")


@settings(max_examples=200, deadline=None)
@given(content=st.binary(max_size=300), length=st.integers(0, 2000))
def test_any_bytes_are_refused(content, length):
    for data in (content, SAVED[:length], length.to_bytes(8, "little") + content):
        with pytest.raises(ModelFileError):
            saved.decode(data, "model")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_forged_header_is_read_or_refused(data):
    """Whoever can make a checksum cannot make a crash."""

    def change(header, arrays, metadata):
        place = header
        while True:
            key = data.draw(st.sampled_from(sorted(place)))
            if not isinstance(place[key], dict) or not place[key] or data.draw(st.booleans()):
                break
            place = place[key]
        place[key] = data.draw(JSON)

    try:
        model = saved.decode(rewritten(SAVED, change), "model")
    except ModelFileError:
        return
    svc = getattr(model, "svc", model)
    assert np.isfinite(svc.decision_function(np.ones((2, svc.n_features_in_)))).all()


# ------------------------------------------------------------------------------------ LIBSVM text


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


# ------------------------------------------------------------------------------ scikit-learn, ONNX


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
