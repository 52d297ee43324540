"""The attributes of SVC in scikit-learn's layout, and what they say of several classes."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.svm
from reference import rbf
from sklearn.base import clone
from svc import each_solver, make_data

from fwsvm import SVC

# ------------------------------------------------------------------ scikit-learn's layout and signs


def decisions_of_attributes(model, K):
    """Decision values from K = k(rows, support vectors), laid out as sklearn.svm.SVC documents."""
    n_classes = len(model.classes_)
    if n_classes == 2:
        return K @ model.dual_coef_[0] + model.intercept_[0]
    ends = np.concatenate([[0], np.cumsum(model.n_support_)])
    decisions = []
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            of_a, of_b = slice(*ends[a : a + 2]), slice(*ends[b : b + 2])
            decisions.append(
                K[:, of_a] @ model.dual_coef_[b - 1, of_a]
                + K[:, of_b] @ model.dual_coef_[a, of_b]
                + model.intercept_[len(decisions)]
            )
    return np.array(decisions).T


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_attributes_are_laid_out_as_scikit_learns(n_classes):
    X, y = make_data(200, n_classes, n_features=5)
    names = np.array(["e", "b", "d", "a", "c"])[y]
    common = {"C": 2.0, "gamma": 0.3, "decision_function_shape": "ovo"}
    theirs = sklearn.svm.SVC(**common).fit(X, names)
    ours = SVC(**common, solver="mfw").fit(X, names)
    for model in (theirs, ours):  # one reader for both
        K = rbf(X, X[model.support_], 0.3)
        np.testing.assert_allclose(
            model.decision_function(X), decisions_of_attributes(model, K), atol=1e-6
        )
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
        np.testing.assert_array_equal(
            names[model.support_], np.repeat(model.classes_, model.n_support_)
        )
        assert model.n_support_.sum() == len(model.support_)
    for name in ("support_", "n_support_", "n_iter_", "dual_coef_", "intercept_", "classes_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine.dtype == other.dtype, name
        assert mine.ndim == other.ndim, name
    assert ours.intercept_.shape == theirs.intercept_.shape
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    assert ours.shape_fit_ == theirs.shape_fit_ == X.shape
    assert ours.n_features_in_ == 5
    # Rows that both models use have the same sign in both.
    _, in_ours, in_theirs = np.intersect1d(ours.support_, theirs.support_, return_indices=True)
    product = ours.dual_coef_[:, in_ours] * theirs.dual_coef_[:, in_theirs]
    assert (product >= 0).all()
    assert (product > 0).sum() > 20
    agreement = np.sign(ours.decision_function(X)) == np.sign(theirs.decision_function(X))
    assert agreement.mean() > 0.9
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.9


def test_coef_is_the_linear_decision():
    for n_classes, multiclass in [(2, "ovo"), (3, "ovo"), (3, "ovr"), (2, "ovr")]:
        X, y = make_data(100, n_classes)
        for data in (X, scipy.sparse.csr_array(X)):
            shape = "ovo" if multiclass == "ovo" else "ovr"
            model = SVC(
                kernel="linear",
                multiclass=multiclass,
                decision_function_shape=shape,
                solver="mfw",
                C=0.1,
            )
            model.fit(data, y)
            expected = X @ model.coef_.T + model.intercept_
            decisions = model.decision_function(data).reshape(expected.shape)
            np.testing.assert_allclose(decisions, expected, atol=1e-9)
    with pytest.raises(AttributeError, match="only available when using a linear kernel"):
        _ = SVC().fit(X, y).coef_


@pytest.mark.parametrize("break_ties", [False, True])
def test_predictions_of_pairs_follow_from_decisions(break_ties):
    X, y = make_data(200, 4, n_features=6)
    model = SVC(gamma=0.3, break_ties=break_ties, solver="mfw", random_state=0).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (200, 4)
    pairs = clone(model).set_params(decision_function_shape="ovo", break_ties=False)
    wins = np.zeros((200, 4))
    columns = pairs.fit(X, y).decision_function(X).T
    for column, (a, b) in zip(columns, np.array(np.triu_indices(4, 1)).T, strict=True):
        wins[:, a] += column > 0
        wins[:, b] += column <= 0
    expected = scores.argmax(axis=1) if break_ties else wins.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), expected)
    # scores order classes by their votes first
    np.testing.assert_array_equal(np.rint(scores - wins), 0)


def test_one_against_the_rest_takes_the_largest():
    X, y = make_data(150, 3)
    model = SVC(multiclass="ovr", solver="mfw").fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (150, 3)
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))
    for c in range(3):
        binary = SVC(solver="mfw", gamma=model._gamma).fit(X, y == c)
        assert np.abs(binary.decision_function(X) - scores[:, c]).max() < 0.1


def test_the_graph_of_pairs_eliminates_first_against_last():
    X, y = make_data(150, 4, n_features=6)
    options = {"gamma": 0.3, "solver": "mfw", "decision_function_shape": "ovo", "random_state": 0}
    pairs = SVC(**options).fit(X, y).decision_function(X)
    graph = SVC(**options, multiclass="ddag").fit(X, y)
    np.testing.assert_allclose(graph.decision_function(X), pairs)
    number = {pair: k for k, pair in enumerate(zip(*np.triu_indices(4, 1), strict=True))}
    expected = []
    for row in pairs:
        low, high = 0, 3
        while low < high:
            low, high = (low, high - 1) if row[number[low, high]] > 0 else (low + 1, high)
        expected.append(low)
    np.testing.assert_array_equal(graph.predict(X), expected)


# ------------------------------------------------------------------------------------------ weights


@each_solver
def test_weight_two_is_two_rows_and_weight_zero_is_no_row(solver):
    X, y = make_data(90)
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    options = {"solver": solver, "gamma": 0.5, "C": 2.0, "tol": 1e-2 if solver == "fw" else 1e-6}
    weighted = SVC(**options).fit(X, y, weights)
    repeated = SVC(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    tolerance = 0.2 if solver == "fw" else 5e-3
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=tolerance
    )
    assert (weights[weighted.support_] > 0).all()


def test_class_weight_multiplies_c():
    X, y = make_data(150, 3)
    y[:60] = 0
    common = {"gamma": 0.5, "tol": 1e-6, "solver": "mfw", "decision_function_shape": "ovo"}
    of_class = {0: 0.5, 1: 2.0, 2: 3.0}
    by_row = np.array([of_class[c] for c in y])
    expected = SVC(**common).fit(X, y, by_row).decision_function(X)
    model = SVC(**common, class_weight=of_class).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=5e-3)
    np.testing.assert_array_equal(model.class_weight_, [0.5, 2.0, 3.0])
    balanced = SVC(**common, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.class_weight_, 150 / (3 * np.bincount(y)))


def test_weights_count_in_balanced_class_weights_as_rows_do():
    X, y = make_data(80)
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    options = {"class_weight": "balanced", "gamma": 0.5, "tol": 1e-6, "solver": "mfw"}
    weighted = SVC(**options).fit(X, y, weights)
    repeated = SVC(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=5e-3
    )
