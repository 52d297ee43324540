"""SVC: scikit-learn's contract, its layout of attributes, certificates, independent solvers."""

import contextlib
import pickle
import time
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import polynomial, rbf
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from fwsvm import SVC, kernels
from fwsvm.estimators import ALGORITHMS, SOLVERS, gamma_of
from fwsvm.progress import HAS_CALLBACKS
from fwsvm.rows import Rows

each_solver = pytest.mark.parametrize("solver", SOLVERS)


def make_data(n=150, n_classes=2, seed=0, n_features=4):
    """Overlapping classes, so that many rows are support vectors at a bound."""
    return make_classification(
        n,
        n_features,
        n_informative=n_features,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=0.8,
        random_state=seed,
    )


@parametrize_with_checks([SVC(), *(SVC(solver=solver) for solver in SOLVERS)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ----------------------------------------------------------------------------------- certificates


def primal_and_dual(K, signs, C, coefficients, intercept):
    """P and D of b_i = y_i coefficients_i, with C_i in C, in plain NumPy."""
    outputs = K @ coefficients + intercept
    norm2 = coefficients @ K @ coefficients + intercept**2
    primal = 0.5 * norm2 + 0.5 * (C * np.maximum(0, 1 - signs * outputs) ** 2).sum()
    dual = np.abs(coefficients).sum() - 0.5 * (norm2 + (coefficients**2 / C).sum())
    return primal, dual


def recomputed_gap(K, signs, C, coefficients, intercept):
    """Of P at the coefficients and D at their part that is feasible, b_i = y_i c_i >= 0."""
    primal, _ = primal_and_dual(K, signs, C, coefficients, intercept)
    b = np.maximum(signs * coefficients, 0)
    curvature = b @ (np.outer(signs, signs) * (K + 1) @ b + b / C)
    dual = 0.5 * b.sum() ** 2 / curvature
    return max(0.0, 1.0 - dual / primal)


@each_solver
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gap_is_what_numpy_finds(solver, dtype):
    X, y = make_data()
    X = X.astype(dtype)
    model = SVC(C=3.0, gamma=0.5, solver=solver, tol=1e-2, random_state=0).fit(X, y)
    coefficients = np.zeros(len(X))
    coefficients[model.support_] = model.dual_coef_[0]
    assert model.intercept_[0] == pytest.approx(coefficients.sum())
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    gap = recomputed_gap(rbf(X, X, 0.5), signs, 3.0, coefficients, model.intercept_[0])
    assert model.gap_[0] == pytest.approx(gap, abs=1e-9)
    assert 0 < gap <= 1e-2
    assert model.converged_


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "ddag"])
def test_gap_of_every_binary_problem(multiclass):
    X, y = make_data(120, n_classes=3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = SVC(C=2.0, gamma=0.5, multiclass=multiclass, solver="mfw").fit(X, y, weights)
    K = rbf(X, X, 0.5)
    problems = binary_problems(model, y)
    assert len(problems) == len(model.gap_) == len(model.status_) == len(model.trace_) == 3
    for gap, (rows, signs, coefficients, intercept) in zip(model.gap_, problems, strict=True):
        inside = K[np.ix_(rows, rows)]
        expected = recomputed_gap(inside, signs, 2.0 * weights[rows], coefficients, intercept)
        assert gap == pytest.approx(expected, abs=1e-9)


def binary_problems(model, y):
    """(rows, signs, coefficients, intercept) of each problem, from the public attributes alone."""
    n_classes = len(model.classes_)
    labels = np.searchsorted(model.classes_, y)
    dense = np.zeros((len(model.dual_coef_), len(y)))
    dense[:, model.support_] = model.dual_coef_
    if model.multiclass == "ovr":
        everyone = np.arange(len(y))
        return [
            (everyone, np.where(labels == c, 1.0, -1.0), dense[c], model.intercept_[c])
            for c in range(n_classes)
        ]
    problems = []
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            rows = np.flatnonzero((labels == a) | (labels == b))
            in_a = labels[rows] == a
            coefficients = np.where(in_a, dense[b - 1, rows], dense[a, rows])
            intercept = model.intercept_[len(problems)]
            problems.append((rows, np.where(in_a, 1.0, -1.0), coefficients, intercept))
    return problems


# ---------------------------------------------------------------------------- independent solvers


def squared_hinge(features, y, C):
    """The same problem on an exact feature map, by LIBLINEAR."""
    model = LinearSVC(
        loss="squared_hinge",
        C=C / 2,
        intercept_scaling=1,
        dual=False,
        tol=1e-12,
        max_iter=100_000,
    )
    return model.fit(features, y)


def monomials(X, gamma, coef0):
    """The exact features of (gamma x . z + coef0)^2."""
    extended = np.hstack([np.sqrt(gamma) * X, np.full((len(X), 1), np.sqrt(coef0))])
    return np.einsum("ni,nj->nij", extended, extended).reshape(len(X), -1)


def spectral(K):
    """Features whose products are K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


@each_solver
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_agrees_with_liblinear_on_the_exact_feature_map(solver, kernel):
    if solver == "cvm" and kernel != "rbf":
        return  # an error, which has its own test
    X, y = make_data(120)
    C, gamma, coef0 = 0.7, 0.4, 1.0
    K, features = {
        "linear": (X @ X.T, X),
        "poly": (polynomial(X, X, 2, gamma, coef0), monomials(X, gamma, coef0)),
        "rbf": (rbf(X, X, gamma), spectral(rbf(X, X, gamma))),
    }[kernel]
    tol = 1e-2 if solver == "fw" else 1e-5
    model = SVC(C=C, kernel=kernel, degree=2, gamma=gamma, coef0=coef0, solver=solver, tol=tol)
    model.fit(X, y)
    oracle = squared_hinge(features, y, C)
    weights = np.append(oracle.coef_[0], oracle.intercept_)
    signs = np.where(y == 1, 1.0, -1.0)
    expected = oracle.decision_function(features)
    optimum = 0.5 * weights @ weights + C / 2 * (np.maximum(0, 1 - signs * expected) ** 2).sum()

    coefficients = np.zeros(len(X))
    coefficients[model.support_] = model.dual_coef_[0]
    primal, dual = primal_and_dual(K, signs, C, coefficients, model.intercept_[0])
    assert dual <= optimum * (1 + 1e-8)
    assert primal >= optimum * (1 - 1e-8)
    assert primal - dual <= tol * primal * (1 + 1e-6)
    # The primal problem is 1-strongly convex: |w - w*|^2 <= 2 (P - P*), |z_i|^2 = k_ii + 1.
    error = np.abs(model.decision_function(X) - expected)
    assert (error <= np.sqrt(2 * (primal - optimum + 1e-8) * (K.diagonal() + 1))).all()
    if kernel == "linear" and tol < 1e-3:
        np.testing.assert_allclose(model.coef_, oracle.coef_, atol=1e-2)


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


# ------------------------------------------------------------------------------------ kinds of data


def test_every_container_gives_the_same_model():
    X, y = make_data(120)
    columns = ["a", "b", "c", "d"]
    expected = SVC(solver="mfw", random_state=0).fit(X, y)
    pandas, polars = pd.DataFrame(X, columns=columns), pl.DataFrame(X, schema=columns)
    for data in (pandas, polars, scipy.sparse.csr_array(X), scipy.sparse.coo_matrix(X)):
        model = SVC(solver="mfw", random_state=0).fit(data, y)
        np.testing.assert_allclose(
            model.decision_function(data), expected.decision_function(X), atol=2e-3
        )
        is_sparse = scipy.sparse.issparse(data)
        assert scipy.sparse.issparse(model.support_vectors_) is is_sparse
        assert scipy.sparse.issparse(model.dual_coef_) is is_sparse
        if not is_sparse:
            assert list(model.feature_names_in_) == columns
            with pytest.raises(ValueError, match="feature names"):
                model.predict(pd.DataFrame(X, columns=columns[::-1]))


def test_labels_of_any_kind_come_back():
    X, y = make_data(100, 3)
    for labels in (np.array(["no", "yes", "maybe"])[y], y * 10 - 7, pd.Series(y).astype("str")):
        model = SVC().fit(X, labels)
        assert set(model.predict(X)) == set(labels)
        assert model.score(X, labels) > 0.5
    assert SVC().fit(X, y == 1).predict(X).dtype == bool


def test_float32_is_used_in_place(monkeypatch):
    X, y = make_data(100)
    X = X.astype(np.float32)
    seen = []
    for module in ("training_set", "estimators"):
        monkeypatch.setattr(f"fwsvm.{module}.Rows", lambda data: seen.append(data) or Rows(data))
    model = SVC().fit(X, y)
    assert np.shares_memory(seen[0], X)
    assert Rows(X).native is not None
    assert np.shares_memory(Rows(X)._data, X)
    assert model.support_vectors_.dtype == np.float32
    seen.clear()
    model.predict(X)
    assert np.shares_memory(seen[0], X)


@each_solver
def test_precomputed_and_callable_kernels_give_the_same(solver):
    X, y = make_data(100, 3)
    K = rbf(X, X, 0.5)
    options = {
        "solver": solver,
        "tol": 1e-2,
        "decision_function_shape": "ovo",
        "random_state": 0,
    }
    expected = SVC(gamma=0.5, **options).fit(X, y)
    own = SVC(kernel=kernels.RBF(0.5), **options).fit(X, y)
    np.testing.assert_array_equal(own.decision_function(X), expected.decision_function(X))
    if solver == "cvm":
        return  # their diagonals are not known to be constant
    for kernel, data in [("precomputed", K), (lambda A, B: rbf(A, B, 0.5), X)]:
        model = SVC(kernel=kernel, **options).fit(data, y)
        np.testing.assert_allclose(
            model.decision_function(data), expected.decision_function(X), atol=0.1
        )
        assert (model.gap_ <= 1e-2).all()
    assert model.support_vectors_.shape[1] == 4


def test_precomputed_may_be_sparse_and_have_absent_rows():
    X, y = make_data(100)
    K, weights = rbf(X, X, 5.0), np.ones(100)
    K[K < 0.1] = 0.0
    weights[::3] = 0
    present = weights > 0
    expected = SVC(kernel="precomputed", random_state=0).fit(
        K[np.ix_(present, present)], y[present]
    )
    for matrix in (K, scipy.sparse.csr_array(K)):
        model = SVC(kernel="precomputed", random_state=0).fit(matrix, y, weights)
        np.testing.assert_allclose(
            model.decision_function(matrix), expected.decision_function(K[:, present]), atol=1e-6
        )
        assert present[model.support_].all()
        assert model.support_vectors_.shape == (0, 0)


@pytest.mark.parametrize("gamma", ["scale", "auto", "mean_distance"])
def test_gamma_by_name_is_what_its_formula_says(gamma):
    X, y = make_data(60)
    squared_distances = ((X[:, None] - X) ** 2).sum(axis=2)
    formula = {
        "scale": 1 / (4 * X.var()),
        "auto": 1 / 4,
        "mean_distance": 1 / (2 * squared_distances.mean()),
    }[gamma]
    for data in (X, scipy.sparse.csr_array(X)):
        assert gamma_of(gamma, Rows(data), np.ones(60)) == pytest.approx(formula)
    np.testing.assert_allclose(
        SVC(gamma=gamma, random_state=0).fit(X, y).decision_function(X),
        SVC(gamma=formula, random_state=0).fit(X, y).decision_function(X),
        atol=1e-9,
    )
    assert gamma_of(gamma, Rows(np.ones((5, 4))), np.ones(5)) in (0.25, 1.0)


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


# -------------------------------------------------------------------------- beside other estimators


def test_inside_pipeline_search_and_calibration():
    X, y = make_data(120)
    pipeline = make_pipeline(StandardScaler(), SVC(solver="mfw"))
    search = GridSearchCV(pipeline, {"svc__C": [0.1, 1.0], "svc__solver": ["mfw", "cvm"]}, n_jobs=2)
    search.fit(X, y)
    assert search.best_score_ > 0.7
    assert search.best_estimator_[-1].converged_
    calibrated = CalibratedClassifierCV(SVC(), cv=3, ensemble=False).fit(X, y)
    probabilities = calibrated.predict_proba(X)
    assert np.corrcoef(probabilities[:, 1], y)[0, 1] > 0.5


def test_search_over_precomputed_kernels():
    X, y = make_data(90)
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3).fit(X @ X.T, y)
    assert search.best_score_ > 0.7


@each_solver
def test_clone_pickle_and_joblib_keep_the_model(solver, tmp_path):
    X, y = make_data(100, 3)
    model = SVC(solver=solver, tol=1e-2, random_state=0).fit(X, y)
    expected = model.decision_function(X)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(copy.decision_function(X), expected)
    again = clone(model)
    with pytest.raises(NotFittedError):
        again.predict(X)
    np.testing.assert_array_equal(again.fit(X, y).decision_function(X), expected)


def test_a_model_does_not_keep_its_data():
    X, y = make_data(2000)
    model = SVC(C=0.01, solver="mfw", tol=0.5, warm_start=True).fit(X, y)
    assert len(pickle.dumps(model)) < len(pickle.dumps(X)) + 20_000


# ------------------------------------------------------------------------------ limits and messages


@pytest.mark.parametrize("limit", [{"max_iter": 2}, {"max_time": 1e-6}])
@each_solver
def test_limits_warn_and_say_what_to_do(solver, limit):
    X, y = make_data(200)
    model = SVC(C=100.0, tol=1e-9, solver=solver, **limit)
    with pytest.warns(
        ConvergenceWarning, match=f"{next(iter(limit))} was reached: raise it"
    ) as seen:
        model.fit(X, y)
    assert seen[0].filename == __file__  # it points to the call of fit
    assert model.status_ == list(limit)
    assert not model.converged_
    assert model.gap_[0] > 1e-9
    assert np.isfinite(model.decision_function(X)).all()


def test_max_time_is_for_the_whole_fit():
    X, y = make_data(600, 4, n_features=6)
    model = SVC(C=1e5, tol=1e-9, solver="fw", max_time=0.3)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="6 of 6 binary problems"):
        model.fit(X, y)
    assert time.perf_counter() - began < 1.0
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("solver", ALGORITHMS)
def test_the_papers_rule_is_honoured(solver):
    X, y = make_data(300)
    model = SVC(solver=solver, epsilon=1e-3, selection=59, random_state=0).fit(X, y)
    assert model.status_[0] in ("rule_holds", "rule_holds_on_samples")
    last = model.trace_[0][-1]
    assert last.gap == pytest.approx(model.gap_[0])
    assert last.active == len(model.support_)
    assert last.kernel_evaluations > 0


def test_warm_start_begins_at_the_previous_support_vectors():
    X, y = make_data(300, 3)
    for multiclass in ("ovo", "ovr"):
        model = SVC(
            C=10.0, tol=1e-5, solver="mfw", warm_start=True, multiclass=multiclass, random_state=0
        )
        first = model.fit(X, y).n_iter_.sum()
        decisions = model.decision_function(X)
        assert model.fit(X, y).n_iter_.sum() < first / 5
        np.testing.assert_allclose(model.decision_function(X), decisions, atol=0.05)
        warm = model.set_params(C=11.0).fit(X, y)
        cold = clone(model).set_params(warm_start=False).fit(X, y)
        assert warm.n_iter_.sum() < cold.n_iter_.sum()
        np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=0.05)
    # other rows: a start of their own, and no error
    assert model.fit(X[:200], y[:200]).converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"solver": "cvm", "kernel": "linear"},
            "use solver='auto', 'fw', 'mfw', 'swap', 'blended'",
        ),
        ({"solver": "cvm", "kernel": "poly"}, "constant, such as rbf or laplacian"),
        ({"solver": "cvm", "kernel": "precomputed"}, "solver='cvm' needs a kernel"),
        ({"break_ties": True, "decision_function_shape": "ovo"}, "break_ties must be False"),
        ({"break_ties": True, "multiclass": "ddag"}, "break_ties must be False"),
        ({"multiclass": "ovr", "decision_function_shape": "ovo"}, "Use multiclass='ovo' or 'ddag'"),
        ({"C": 0.0}, r"The 'C' parameter of SVC must be a float in the range \(0.0, inf\)"),
        ({"C": -1}, "The 'C' parameter of SVC"),
        ({"gamma": 0.0}, "The 'gamma' parameter of SVC"),
        ({"gamma": "wide"}, "The 'gamma' parameter of SVC"),
        ({"kernel": "gaussian"}, "The 'kernel' parameter of SVC"),
        ({"solver": "smo"}, "The 'solver' parameter of SVC"),
        ({"multiclass": "both"}, "The 'multiclass' parameter of SVC"),
        ({"start": "zero"}, "The 'start' parameter of SVC"),
        ({"selection": 0}, "The 'selection' parameter of SVC"),
        ({"selection": 0.5}, "The 'selection' parameter of SVC"),
        ({"degree": 2.5}, "The 'degree' parameter of SVC"),
        ({"tol": 0.0}, "The 'tol' parameter of SVC"),
        ({"epsilon": 0.0}, "The 'epsilon' parameter of SVC"),
        ({"max_iter": 0}, "max_iter must be -1"),
        ({"max_iter": 1.5}, "The 'max_iter' parameter of SVC"),
        ({"max_time": 0}, "The 'max_time' parameter of SVC"),
        ({"cache_size": 0}, "The 'cache_size' parameter of SVC"),
        ({"epsilon": 1e-3}, "epsilon is for the solvers fw, mfw, swap, blended, cvm"),
        ({"start": "pair"}, "start is for the solvers"),
        ({"selection": 59}, "selection is for the solvers"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"class_weight": {0: -1.0}}, "class_weight must be positive"),
        ({"class_weight": {7: 1.0}}, "not in class_weight"),
    ],
)
def test_parameters_that_cannot_be_honoured_are_errors(parameters, message):
    X, y = make_data(30)
    data = X @ X.T if parameters.get("kernel") == "precomputed" else X
    with pytest.raises(ValueError, match=message):
        SVC(**parameters).fit(data, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, np.zeros(30)), "number of classes has to be greater than one; got 1"),
        (lambda X, y: (X * np.nan, y), "Input X contains NaN"),
        (lambda X, y: (X + np.inf, y), "Input X contains infinity"),
        (lambda X, y: (X[:0], y[:0]), r"Found array with 0 sample\(s\)"),
        (lambda X, y: (X[:, :0], y), r"Found array with 0 feature\(s\)"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X[0], y), "Expected 2D array, got 1D array"),
        (lambda X, y: (X * 1j, y), "Complex data not supported"),
        (lambda X, y: (X, X[:, 0]), "Unknown label type: continuous"),
        (lambda X, y: (X, X), "y should be a 1d array"),
        (lambda X, y: (X, y, np.ones(7)), "sample_weight"),
        (lambda X, y: (X, y, -np.ones(30)), "Negative values"),
        (lambda X, y: (X, y, np.full(30, np.nan)), "sample_weight contains NaN"),
        (lambda X, y: (X, y, np.zeros(30)), "at least one non-zero|all rows have zero"),
        (lambda X, y: (X, y, 1.0 * (y == 1)), "number of classes has to be greater than one"),
        (lambda X, y: (X * 1e200, y), "values are too large"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        SVC().fit(*change(*make_data(30)))


def test_other_bad_input_is_named():
    X, y = make_data(30)
    with pytest.raises(ValueError, match="square matrix of the training rows"):
        SVC(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="square matrix of the training rows"):
        SVC(kernel=kernels.Precomputed()).fit(X, y)
    with pytest.raises(ValueError, match="kernel function must return"):
        SVC(kernel=lambda A, B: np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="Kernel values must be finite"):
        SVC(kernel="poly", degree=30, gamma=1.0).fit(X * 1e20, y)
    with pytest.raises(ValueError, match="X has 3 features, but SVC is expecting 4"):
        SVC().fit(X, y).predict(X[:, :3])
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(SVC(), method)(X)


# --------------------------------------------------------------------------------- what a fit shows


@each_solver
def test_verbose_prints_a_table(solver, capsys):
    X, y = make_data(100, 3)
    model = SVC(verbose=1, solver=solver, tol=1e-2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    titles = [line for line in lines if "against" in line]
    assert titles[0].startswith("0 against 1: ")
    assert len(titles) == 3
    header = lines[1]
    for word in ("iteration", "objective", "gap", "active", "kernel evaluations", "seconds"):
        assert word in header
    assert len(lines) == 2 * 3 + sum(len(trace) for trace in model.trace_)
    iteration, objective = lines[-1].split()[:2]
    assert int(iteration) == model.trace_[-1][-1].iteration
    assert float(objective) == pytest.approx(model.trace_[-1][-1].objective, rel=1e-5)
    SVC(solver=solver, tol=1e-2).fit(X, y)
    assert capsys.readouterr().out == ""


class Recorder:
    """A callback that writes down what it hears, and may ask to stop."""

    def __init__(self, stop=False):
        self.stop, self.events = stop, []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.events.append(("end", context.task_name, context.task_id))
        if fitted_estimator is not None:
            assert len(fitted_estimator.predict(X)) == len(X)
            self.events.append("scored")
        return self.stop


with_callbacks = pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn 1.9 has callbacks")


@with_callbacks
def test_callbacks_hear_of_every_binary_problem():
    X, y = make_data(100, 3)
    recorder = Recorder()
    SVC().set_callbacks(recorder).fit(X, y)
    problems = [(what, "binary problem", k) for k in range(3) for what in ("begin", "end")]
    fit = [("begin", "fit", 0), *problems, ("end", "fit", 0), "scored"]
    assert recorder.events == ["setup", *fit, "teardown"]


@with_callbacks
def test_callbacks_hear_of_every_line_of_one_problem():
    X, y = make_data(100)
    recorder = Recorder()
    model = SVC().set_callbacks(recorder).fit(X, y)
    ends = [event for event in recorder.events if event[:2] == ("end", "line of the trace")]
    assert len(ends) == len(model.trace_[0])


@with_callbacks
@pytest.mark.parametrize("n_classes", [2, 3])
def test_callbacks_may_stop_the_fit(n_classes):
    X, y = make_data(200, n_classes)
    model = SVC(C=100.0, tol=1e-9, solver="mfw").set_callbacks(Recorder(stop=True))
    with pytest.warns(ConvergenceWarning, match="a callback asked to stop"):
        model.fit(X, y)
    assert model.status_[-1] == "stopped"
    assert model.n_iter_[-1] == 1
    assert np.isfinite(model.decision_function(X)).all()


@with_callbacks
def test_scikit_learns_own_callbacks_work(capsys):
    from sklearn.callback import ProgressBar, ScoringMonitor

    X, y = make_data(100, 3)
    monitor = ScoringMonitor(scoring="accuracy")
    model = SVC().set_callbacks(ProgressBar(), monitor).fit(X, y)
    assert "SVC - fit" in capsys.readouterr().out
    scores = [row["accuracy"] for row in monitor.get_logs().data if "accuracy" in row]
    assert scores == [model.score(X, y)]
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2).set_callbacks(ProgressBar())
    search.fit(X, y)
    assert "GridSearchCV" in capsys.readouterr().out


@with_callbacks
def test_callbacks_are_torn_down_when_fit_fails():
    X, y = make_data(100)
    recorder = Recorder()

    def broken(A, B):
        raise RuntimeError("no kernel")

    with pytest.raises(RuntimeError, match="no kernel"):
        SVC(kernel=broken).set_callbacks(recorder).fit(X, y)
    assert recorder.events[-1] == "teardown"


# ----------------------------------------------------------------------------------- adversarial


def adversarial(kind, n, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.integers(2, size=n)
    if kind == "duplicates":
        X = X[rng.integers(min(3, n), size=n)]
    elif kind == "one row per class":
        X, y = X[:2], y[:2]
    elif kind == "one row of a class":
        y[:] = 1
    elif kind == "constant features":
        X[:, 1:] = 7.0
    elif kind == "all the same":
        X[:] = 3.0
    elif kind == "large":
        X *= 1e6
    y[0], y[1] = 0, 1
    return X, y


@settings(deadline=None, max_examples=100)
@given(
    kind=st.sampled_from(
        [
            "duplicates",
            "one row per class",
            "one row of a class",
            "constant features",
            "large",
            "all the same",
        ]
    ),
    n=st.integers(2, 90),
    log_c=st.floats(-6, 6),
    solver=st.sampled_from(list(SOLVERS)),
    kernel=st.sampled_from(["rbf", "linear"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 5),
)
def test_adversarial_data_gives_a_true_gap(kind, n, log_c, solver, kernel, dtype, seed):
    if solver == "cvm" and kernel == "linear":
        kernel = "rbf"
    X, y = adversarial(kind, n, seed)
    X, C = X.astype(dtype), 10.0**log_c
    model = SVC(C=C, kernel=kernel, gamma=1.0, solver=solver, max_iter=500, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    K = rbf(X, X, 1.0) if kernel == "rbf" else X.astype(float) @ X.astype(float).T
    coefficients = np.zeros(len(X))
    coefficients[model.support_] = model.dual_coef_[0]
    signs = np.where(y == 1, 1.0, -1.0)
    gap = recomputed_gap(K, signs, C, coefficients, model.intercept_[0])
    # A sum of terms t has the rounding error eps sum |t|.
    rounding = 1e-14 * C * np.abs(K).max() * np.abs(coefficients).sum()
    assert model.gap_[0] == pytest.approx(gap, abs=1e-9 + rounding)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.converged_ == (model.gap_[0] <= 1e-3)


@pytest.mark.parametrize("solver", [s for s in SOLVERS if s != "cvm"])
def test_a_kernel_that_is_not_mercer_ends_with_a_warning_not_a_crash(solver):
    X, y = make_data(150)
    model = SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, C=1e3, solver=solver, max_iter=2000)
    with contextlib.suppress(ConvergenceWarning), pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
