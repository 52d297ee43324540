"""The preparation of columns: one-hot, scaling, and that it is remembered."""

import io
import json

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
import scipy.sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from table_files import KINDS, X, as_parquet

from fwsvm.data import Preparation, Table, read

TRAIN = Table(
    {
        "size": np.array([1.0, 2, 6]),
        "colour": np.array(["red", "blue", "red"], dtype=object),
        "height": np.array([5.0, 5, 5]),
    },
    np.array([0, 1, 0]),
    ("size", "colour", "height"),
)


def test_one_hot_in_place_of_the_column():
    preparation = Preparation().fit(TRAIN)
    assert preparation.apply(TRAIN).tolist() == [[1, 0, 1, 5], [2, 1, 0, 5], [6, 0, 1, 5]]
    assert preparation.n_features == 4
    assert preparation.output_names() == ("size", "colour=blue", "colour=red", "height")
    assert preparation.categorical == ("colour",)
    assert preparation.describe() == ["column 'colour': one-hot, 2 categories"]


def test_columns_of_integers_are_scaled_as_numbers():
    whole = {**TRAIN.X, "size": np.array([1, 2, 6])}
    table = Table(whole, None, TRAIN.feature_names)
    matrix = Preparation("minmax").fit(table).apply(table)
    assert matrix[:, 0].tolist() == [0, 0.2, 1]
    content = as_parquet(pyarrow.table({"size": [1, 2, 6], "colour": KINDS}))
    table = read(io.BytesIO(content))
    assert table.X["size"].dtype == np.float32
    matrix = Preparation("minmax").fit(table).apply(table)
    np.testing.assert_array_equal(matrix[:, 0], np.array([0, 0.2, 1], dtype=np.float32))


def test_many_categories_become_sparse_rows():
    names = np.array([f"n{k}" for k in range(50)], dtype=object)
    table = Table({"name": names, "x": np.arange(50.0)}, None, ("name", "x"))
    matrix = Preparation().fit(table).apply(table)
    assert scipy.sparse.issparse(matrix)
    expected = np.zeros((50, 51))
    order = np.argsort(np.argsort(names))
    expected[np.arange(50), order] = 1
    expected[:, 50] = np.arange(50)
    np.testing.assert_array_equal(matrix.toarray(), expected)


def test_unknown_categories_are_zero_and_named():
    preparation = Preparation().fit(TRAIN)
    later = Table(
        {**TRAIN.X, "colour": np.array(["red", "pink", "grey"], dtype=object)},
        None,
        TRAIN.feature_names,
    )
    with pytest.warns(UserWarning, match=r"'colour' has categories .* in 2 rows: 'grey', 'pink'"):
        matrix = preparation.apply(later)
    assert matrix[:, 1:3].tolist() == [[0, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scaling_as_scikit_learn_does_it(scale):
    dense = np.random.default_rng(0).standard_normal((40, 5)) * [1, 10, 0.1, 0, 3] + 2
    sparse = scipy.sparse.random_array((40, 30), density=0.1, format="csr", rng=1)
    scalers = {
        "standard": (StandardScaler(), StandardScaler(with_mean=False)),
        "minmax": (MinMaxScaler(), MaxAbsScaler()),
    }[scale]
    for matrix, scaler in zip((dense, sparse), scalers, strict=True):
        table = Table(matrix, None)
        found = Preparation(scale).fit(table).apply(table)
        expected = scaler.fit_transform(matrix)
        assert scipy.sparse.issparse(found) == scipy.sparse.issparse(matrix)
        for a in (found, expected):
            if scipy.sparse.issparse(a):
                a.sort_indices()
        difference = np.abs(found - expected)
        assert difference.max() < 1e-12


def test_one_hot_columns_are_not_scaled():
    matrix = Preparation("minmax").fit(TRAIN).apply(TRAIN)
    np.testing.assert_allclose(matrix, [[0, 0, 1, 0], [0.2, 1, 0, 0], [1, 0, 1, 0]])


def test_sparse_text_of_dense_data_is_dense_also_later():
    train = read(io.BytesIO(b"1 1:1 2:2 3:3\n2 1:4 3:6\n"))
    preparation = Preparation("standard").fit(train)
    matrix = preparation.apply(train)
    np.testing.assert_allclose(matrix, [[-1, 1, -1], [1, -1, 1]])
    later = read(io.BytesIO(b"1 1:1\n"))
    np.testing.assert_allclose(preparation.apply(later), [[-1, -1, -3]])


def test_later_text_may_lack_the_last_features_but_not_have_more():
    train = read(io.BytesIO(b"1 9:1\n2 20:6\n"))
    preparation = Preparation().fit(train)
    assert preparation.apply(read(io.BytesIO(b"1 1:1\n"))).shape == (1, 20)
    with pytest.raises(ValueError, match="expected 20 features as in the training table, got 21"):
        preparation.apply(read(io.BytesIO(b"1 21:1\n")))


def test_columns_go_by_their_names():
    train = Table(X, None, ("a", "b"))
    preparation = Preparation("standard").fit(train)
    swapped = Table(X[:, ::-1], None, ("b", "a"))
    np.testing.assert_array_equal(preparation.apply(swapped), preparation.apply(train))
    with pytest.raises(
        ValueError,
        match=r"columns of the training table, 'a', 'b'; missing: 'b'; not among them: 'c'",
    ):
        preparation.apply(Table(X, None, ("a", "c")))
    encoded = Preparation().fit(TRAIN)
    reordered = Table(dict(reversed(TRAIN.X.items())), None, TRAIN.feature_names[::-1])
    np.testing.assert_array_equal(encoded.apply(reordered), encoded.apply(TRAIN))


def test_columns_of_another_kind_are_refused():
    preparation = Preparation().fit(TRAIN)
    numbers = Table({**TRAIN.X, "colour": np.ones(3)}, None, TRAIN.feature_names)
    with pytest.raises(ValueError, match="'colour' held categories in the training table, and hol"):
        preparation.apply(numbers)
    text = Table({**TRAIN.X, "size": TRAIN.X["colour"]}, None, TRAIN.feature_names)
    with pytest.raises(ValueError, match="'size' held numbers in the training table, and holds ca"):
        preparation.apply(text)
    with pytest.raises(ValueError, match="expected named columns as in the training table"):
        preparation.apply(Table(np.ones((1, 3)), None))
    with pytest.raises(ValueError, match="'colour' hold other text"):
        Preparation().fit(Table(np.ones((1, 3)), None)).apply(TRAIN)


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="scale must be one of"):
        Preparation("robust")
    with pytest.raises(ValueError, match="fit this Preparation"):
        Preparation().apply(TRAIN)
    with pytest.raises(ValueError, match="expected at least one row"):
        Preparation().fit(Table(np.empty((0, 2)), None))


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
@pytest.mark.parametrize(
    "table", [TRAIN, Table(X / 3, None), Table(scipy.sparse.eye_array(9, format="csr") / 3, None)]
)
def test_saved_and_read_again_it_does_the_same(scale, table):
    preparation = Preparation(scale).fit(table)
    saved = json.loads(json.dumps(preparation.to_dict(), allow_nan=False))
    again = Preparation.from_dict(saved)
    assert again.to_dict() == preparation.to_dict()
    assert again.describe() == preparation.describe()
    assert abs(again.apply(table) - preparation.apply(table)).max() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"scale": "robust"},
        {"n_columns": 7},
        {"feature_names": ["size"]},
        {"categories": {"unknown": ["a"]}},
        {"shift": [0.0]},
        {"divisor": [0.0, 1.0]},
        {"divisor": [float("nan"), 1.0]},
        {"divisor": [None, 1.0]},
        {"divisor": "1"},
        {"n_columns": "3"},
        {"feature_names": 3},
        {"feature_names": ["size", "colour", 3]},
        {"categories": ["colour"]},
        {"categories": {"colour": "red"}},
    ],
)
def test_an_altered_preparation_is_refused(change):
    saved = Preparation("standard").fit(TRAIN).to_dict()
    Preparation.from_dict(saved)
    with pytest.raises(ValueError, match="must"):
        Preparation.from_dict({**saved, **change})
