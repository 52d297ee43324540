"""Damaged, forged and strange model files are refused, never a crash."""

import hashlib
import json

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from models import fitted, table_model

from fwsvm import (
    load_model,
)
from fwsvm.model_files import ModelFileError, saved


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
