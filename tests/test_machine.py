"""Decision values from support vectors: equal ones merged, votes, many rows in parts."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import MEMORY, run_python
from reference import rbf
from svc import make_data

from fwsvm import SVC, Rows
from fwsvm.kernels import RBF
from fwsvm.multiclass import Machine, pairs, votes, winner


def naive_decisions(K, n_support, dual_coef, intercept):
    """By a loop over problems, from kernel values with all support vectors."""
    n_classes = len(n_support)
    if len(dual_coef) == len(intercept):
        return K @ dual_coef.T + intercept
    of_class = np.repeat(np.arange(n_classes), n_support)
    columns = []
    for k, (a, b) in enumerate(pairs(n_classes)):
        decision = np.full(len(K), intercept[k])
        decision += K[:, of_class == a] @ dual_coef[b - 1, of_class == a]
        decision += K[:, of_class == b] @ dual_coef[a, of_class == b]
        columns.append(decision)
    return np.array(columns).T


@settings(deadline=None, max_examples=60)
@given(
    n_classes=st.integers(2, 5),
    of_pairs=st.booleans(),
    n_distinct=st.integers(1, 30),
    storage=st.sampled_from(["dense", "csr"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 10**6),
)
def test_decisions_are_the_naive_ones(n_classes, of_pairs, n_distinct, storage, dtype, seed):
    rng = np.random.default_rng(seed)
    n_support = rng.integers(0, 12, n_classes)
    total = int(n_support.sum())
    distinct = rng.standard_normal((n_distinct, 3)).astype(dtype)
    X = distinct[rng.integers(n_distinct, size=total)]
    of_pairs = of_pairs and n_classes > 2
    n_problems = n_classes * (n_classes - 1) // 2 if of_pairs or n_classes == 2 else n_classes
    dual_coef = rng.standard_normal((n_classes - 1 if of_pairs else n_problems, total))
    intercept = rng.standard_normal(n_problems)
    support = Rows(X, storage=storage)
    machine = Machine.of(RBF(0.5), support, n_support, dual_coef, intercept)
    tests = rng.standard_normal((9, 3)).astype(dtype)
    found = machine.decisions(Rows(tests, storage=storage), 1)
    expected = naive_decisions(rbf(tests, X, 0.5), n_support, dual_coef, intercept)
    np.testing.assert_allclose(found, expected, atol=2e-5 if dtype == np.float32 else 1e-11)
    classes = np.repeat(np.arange(n_classes), n_support)
    assert len(machine.support) == len({(c, *x) for c, x in zip(classes, X.tolist(), strict=True)})
    assert machine.n_support.sum() == len(machine.support)


@settings(deadline=None, max_examples=50)
@given(n_classes=st.integers(2, 8), n=st.integers(1, 20), seed=st.integers(0, 10**6))
def test_votes_are_counted_one_by_one(n_classes, n, seed):
    rng = np.random.default_rng(seed)
    decisions = rng.integers(-2, 3, (n, n_classes * (n_classes - 1) // 2)).astype(float)
    expected = np.zeros((n, n_classes))
    for row in range(n):
        for k, (a, b) in enumerate(pairs(n_classes)):
            expected[row, a if decisions[row, k] > 0 else b] += 1
    np.testing.assert_array_equal(votes(decisions, n_classes), expected)
    if n_classes > 2:
        np.testing.assert_array_equal(
            winner(decisions, "ovo", n_classes, False), expected.argmax(axis=1)
        )


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "ddag"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_predictions_in_parts_are_those_of_all_at_once(multiclass, n_classes, monkeypatch):
    X, y = make_data(400, n_classes)
    model = SVC(multiclass=multiclass, gamma=0.5).fit(X, y)
    at_once = model.predict(X)
    for some in (1, 7, 100):
        monkeypatch.setattr("fwsvm.multiclass.DECISIONS_AT_ONCE", some)
        np.testing.assert_array_equal(model.predict(X), at_once)


def test_duplicates_in_training_leave_predictions_as_they_were():
    X, y = make_data(200, 3)
    twice, of_twice = np.vstack([X, X]), np.concatenate([y, y])
    model = SVC(gamma=0.5, C=1.0, tol=1e-8).fit(twice, of_twice)
    single = SVC(gamma=0.5, C=2.0, tol=1e-8).fit(X, y)
    assert len(model.support_) == 2 * len(single.support_)  # every row has its coefficient
    assert len(model._machine.support) == len(single.support_)  # but is evaluated once
    model.decision_function_shape = single.decision_function_shape = "ovo"
    np.testing.assert_allclose(model.decision_function(X), single.decision_function(X), atol=2e-3)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
def test_predictions_of_many_rows_hold_few_decisions():
    code = """
import numpy as np
from fwsvm import SVC

rng = np.random.default_rng(0)
centres = rng.standard_normal((20, 2))
y = np.arange(2000) % 20
model = SVC().fit(centres[y] + 0.1 * rng.standard_normal((2000, 2)), y)
X = rng.standard_normal((200_000, 2))  # 190 decision values of each would be 300 MB
model.predict(X[:1000])
forget_peak()
before = megabytes("VmRSS")
model.predict(X)
print(megabytes("VmHWM") - before)
"""
    assert float(run_python(MEMORY + code)) < 150
