"""What Rows accept, keep without copying, convert and refuse."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from samples import each_dtype, each_storage

from fwsvm import Rows
from fwsvm.kernels import RBF
from fwsvm.storage import BREAK_EVEN_DENSITY, MOST_SPARSE_FEATURES


@pytest.fixture(name="X")
def _X():
    return np.random.default_rng(0).standard_normal((20, 4))


@each_dtype
def test_fitting_input_is_not_copied(X, dtype):
    dense = X.astype(dtype)
    assert np.shares_memory(Rows(dense).to_array(), dense)
    sparse = scipy.sparse.csr_array(dense)
    assert np.shares_memory(Rows(sparse).to_array().data, sparse.data)
    assert np.shares_memory(Rows(sparse).to_array().indices, sparse.indices)


def test_memory_mapped_input_is_not_copied(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(Rows(mapped).to_array(), mapped)


@pytest.mark.parametrize(
    "data",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=np.uint8),
        np.asfortranarray([[1.0, 2], [3, 4]]),
        np.array([[1, 2], [3, 4]], dtype=np.float16),
        np.array([[1.0, 0, 2], [3, 0, 4]])[:, ::2],
        np.array([[1.0, 2], [3, 4]], dtype=">f8"),
        scipy.sparse.coo_array([[1.0, 2], [3, 4]]),
    ],
    ids=["list", "uint8", "fortran", "float16", "strided", "big-endian", "coo"],
)
def test_other_input_is_converted(data):
    rows = Rows(data)
    assert rows.dtype == np.float64
    assert rows.dtype.isnative
    values = rows.to_array()
    np.testing.assert_array_equal(values.toarray() if rows.is_sparse else values, [[1, 2], [3, 4]])


def test_unaligned_input_is_copied():
    raw = np.zeros(8 * 6 + 1, dtype=np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(3, 2)
    assert not unaligned.flags.aligned
    assert Rows(unaligned, storage="dense").to_array().flags.aligned


def test_dtype_converts(X):
    assert Rows(X, dtype=np.float32).dtype == np.float32
    assert Rows(scipy.sparse.csr_array(X), dtype=np.float32).dtype == np.float32


def test_mostly_zeros_become_csr():
    X = np.zeros((100, 40))
    X[:, 0] = 1
    assert Rows(X).is_sparse
    assert not Rows(X, storage="dense").is_sparse
    below = int(40 * BREAK_EVEN_DENSITY)
    X[:, :below] = 1
    assert not Rows(X).is_sparse
    assert Rows(X, storage="csr").is_sparse
    assert not Rows(scipy.sparse.csr_array(X), storage="dense").is_sparse


def test_duplicate_entries_of_csr_are_summed():
    X = scipy.sparse.csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 3))
    rows = Rows(X)
    np.testing.assert_array_equal(rows.to_array().toarray(), [[3, 0, 0]])
    assert X.nnz == 2  # the caller's array is as it was
    np.testing.assert_array_equal(rows.squared_norms(), [9])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.array([[1.0, np.nan]]), "NaN"),
        (np.array([[1.0, np.inf]]), "infinity"),
        (scipy.sparse.csr_array([[1.0, np.nan]]), "NaN"),
        (np.array([[1j]]), "expects real numbers.*complex128"),
        (scipy.sparse.csr_array([[1j]]), "expects real numbers.*complex128"),
        (np.array([[1, "a"]], dtype=object), "expects real numbers.*object"),
        (np.array([["a"]]), "expects real numbers.*<U1"),
        (np.ones(3), "Expected 2D array, got 1D array"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.float64(1), "Expected 2D array, got scalar"),
    ],
)
def test_bad_data(data, message):
    with pytest.raises(ValueError, match=message):
        Rows(data)


def test_csr_that_points_outside_is_refused():
    X = scipy.sparse.csr_array(np.eye(3))
    X.indices[1] = 7
    with pytest.raises(ValueError, match="indices"):
        Rows(X)
    X = scipy.sparse.csr_array(np.eye(3))
    X.indptr[1] = 5
    with pytest.raises(ValueError, match=r"indptr|index pointer"):
        Rows(X)


def test_strided_arrays_of_csr_are_made_contiguous():
    dense = np.arange(12.0).reshape(3, 4)
    whole = scipy.sparse.csr_array(dense)
    backward = whole.data[::-1].copy()[::-1]
    apart = np.repeat(whole.indices, 2)[::2]
    rows = Rows(scipy.sparse.csr_array((backward, apart, whole.indptr), shape=(3, 4)))
    np.testing.assert_allclose(rows.squared_norms(), (dense**2).sum(axis=1))


def test_what_the_caller_does_to_his_csr_array_later_is_harmless():
    X = scipy.sparse.random_array((400, 50), density=0.1, rng=np.random.default_rng(0)).tocsr()
    rows = Rows(X)
    expected = rows.squared_norms()
    X.resize((5, 4))
    assert rows.shape == (400, 50)
    assert RBF(1.0).block(rows).shape == (400, 400)
    np.testing.assert_array_equal(rows.squared_norms(), expected)


def test_a_stale_flag_of_canonical_format_is_not_trusted():
    X = scipy.sparse.csr_array(([1.0, 2.0], [0, 1], [0, 2]), shape=(1, 3))
    assert X.has_canonical_format
    X.indices[1] = 0
    np.testing.assert_array_equal(Rows(X).squared_norms(), [9])


def test_norms_for_many_centres_are_not_all_kept(X):
    train = Rows(X)
    for seed in range(5):
        batch = Rows(np.random.default_rng(seed).standard_normal((3, 4)))
        RBF(1.0).product(train, batch, np.ones(3))
    assert len(train._norms) == 1


def test_too_many_features_for_csr():
    X = scipy.sparse.csr_array((2, MOST_SPARSE_FEATURES + 1))
    with pytest.raises(ValueError, match="may have up to"):
        Rows(X)


def test_bad_arguments(X):
    with pytest.raises(ValueError, match="storage must be"):
        Rows(X, storage="coo")
    with pytest.raises(ValueError, match="dtype must be"):
        Rows(X, dtype=np.int32)


def test_take(X):
    rows = Rows(X)
    part = rows.take([3, -1, 3])
    assert part.shape == (3, 4)
    np.testing.assert_array_equal(part.to_array(), X[[3, -1, 3]])
    np.testing.assert_array_equal(part.take([1]).to_array(), X[[-1]])
    np.testing.assert_allclose(part.squared_norms(), (X[[3, -1, 3]] ** 2).sum(axis=1))
    assert rows.take([]).shape == (0, 4)
    with pytest.raises(IndexError, match="within the 20 rows"):
        rows.take([20])
    with pytest.raises(IndexError, match="within the 3 rows"):
        part.take([-4])
    with pytest.raises(ValueError, match="integer row numbers"):
        rows.take([0.5])
    with pytest.raises(ValueError, match="integer row numbers"):
        rows.take(np.ones(20, dtype=bool))


def test_take_leaves_the_given_indices_alone(X):
    indices = np.array([-1, 2])
    Rows(X).take(indices)
    np.testing.assert_array_equal(indices, [-1, 2])


def test_centre_is_near_the_mean(X):
    np.testing.assert_allclose(Rows(X).centre, X.mean(axis=0))
    assert Rows(X, storage="csr").centre is None
    assert np.isfinite(Rows(np.zeros((0, 3))).centre).all()


@each_storage
def test_pickle(X, storage):
    rows = Rows(X, storage=storage).take([1, 2])
    rows.squared_norms()
    again = pickle.loads(pickle.dumps(rows))
    np.testing.assert_allclose(again.squared_norms(), rows.squared_norms())
    assert repr(again) == repr(rows) == f"Rows(2 x 4, {storage} float64)"


def test_norms_for_two_centres_at_a_time_do_not_mix(X):
    # one thread asks for its centre while another has just replaced the entry
    rows, centres = Rows(X), [np.zeros(4), np.ones(4)]
    expected = [(X**2).sum(axis=1), ((X - 1) ** 2).sum(axis=1)]

    def check(which):
        for _ in range(300):
            np.testing.assert_allclose(rows.stored_norms(2, centres[which]), expected[which])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(check, [0, 1]))


# ------------------------------------------------------------------------------------- equal rows


def first_equal(X):
    """The naive answer: the first row with the same bytes."""
    rows = [row.tobytes() for row in np.ascontiguousarray(X)]
    return [rows.index(row) for row in rows]


@settings(deadline=None, max_examples=60)
@given(
    X=hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        st.tuples(st.integers(0, 30), st.integers(0, 5)),
        elements=st.sampled_from([0.0, 1.0, -1.0, 0.5]),
    ),
    storage=st.sampled_from(["dense", "csr"]),
)
def test_first_equal_is_the_naive_answer(X, storage):
    np.testing.assert_array_equal(Rows(X, storage=storage).first_equal(), first_equal(X))


@each_storage
@each_dtype
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_first_equal_of_many_rows(storage, dtype, n_jobs):
    # more rows than a piece of work; most of them equal to an earlier one, far away
    rng = np.random.default_rng(0)
    distinct = rng.standard_normal((6000, 3)).astype(dtype)
    distinct[rng.random(distinct.shape) < 0.5] = 0
    X = distinct[rng.integers(0, len(distinct), 20_000)]
    _, index, inverse = np.unique(X, axis=0, return_index=True, return_inverse=True)
    first = Rows(X, storage=storage).first_equal(n_jobs=n_jobs)
    np.testing.assert_array_equal(first, index[inverse.ravel()])


def test_rows_equal_to_the_last_bit_only():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, np.nextafter(1, 2)], [0.0, 1.0]])
    np.testing.assert_array_equal(Rows(X, storage="dense").first_equal(), [0, 1, 2, 0])


def test_csr_rows_are_equal_when_they_store_the_same():
    # row 0: empty; 1 and 3: value 2 at feature 1; 2: an explicit zero; 4: value 2 at feature 2
    data = ([2.0, 0.0, 2.0, 2.0], [1, 1, 1, 2], [0, 0, 1, 2, 3, 4, 4])
    for index in (np.int32, np.int64):
        csr = scipy.sparse.csr_array((3 * np.ones(1), ([0], [0])), shape=(6, 3))
        csr.data, csr.indices, csr.indptr = (np.asarray(part) for part in data)
        csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
        rows = Rows(csr)
        assert rows.to_array().indices.dtype == index
        np.testing.assert_array_equal(rows.first_equal(), [0, 1, 2, 1, 4, 0])


def test_first_equal_of_a_selection_names_stored_rows(X):
    rows = Rows(np.vstack([X, X]))
    np.testing.assert_array_equal(rows.take([25, 3, 39]).first_equal(), [5, 3, 19])


def test_rows_with_one_hash_are_told_apart():
    # the mixing of native/equal_rows.cpp, and pairs of words that it cannot tell apart
    def mixed(word):
        hashed = word * 0x9E3779B97F4A7C15 % 2**64
        return hashed ^ hashed >> 29

    words = [int(w) for w in np.arange(1.0, 500.0).view(np.uint64)]
    pairs = [(w, mixed(w) ^ 0x3FF0000000000000) for w in words]
    assert len({mixed(mixed(a) ^ b) for a, b in pairs}) == 1
    X = np.array(pairs, dtype=np.uint64).view(np.float64)
    X = X[np.isfinite(X).all(axis=1)]
    assert len(X) > 400
    np.testing.assert_array_equal(
        Rows(np.vstack([X, X])).first_equal(), np.tile(np.arange(len(X)), 2)
    )
