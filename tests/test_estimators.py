"""SVC: scikit-learn's contract, kinds of data, limits and messages."""

import pickle
import time

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from reference import rbf
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from svc import each_solver, make_data

from fwsvm import SVC, kernels
from fwsvm.parameters import ALGORITHMS, SOLVERS, gamma_of
from fwsvm.rows import Rows


@parametrize_with_checks([SVC(), *(SVC(solver=solver) for solver in SOLVERS)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


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
    X, y = make_data(20_000)
    weights = np.ones(len(X))
    weights[::2] = 0
    options = {"C": 1e-4, "solver": "mfw", "tol": 0.9, "warm_start": True}
    model = SVC(**options, selection=20, epsilon=1e-2, random_state=0).fit(X, y, weights)
    assert len(model.support_) < 500
    model.trace_ = []
    per_vector = 8 * X.shape[1] + 8 + 4
    assert len(pickle.dumps(model)) < per_vector * len(model.support_) + 5_000


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
    assert model.converged_ == (model.status_[0] == "rule_holds")
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


@each_solver
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_warm_starts_may_follow_any_solver(solver, multiclass):
    X, y = make_data(300, 3)
    weights = np.ones(len(X))
    weights[::5] = 0
    options = {"C": 5.0, "tol": 1e-2, "multiclass": multiclass, "random_state": 0}
    model = SVC(**options, warm_start=True).fit(X, y, weights)
    model.set_params(solver=solver).fit(X, y, weights)
    assert model.converged_
    cold = SVC(**options, solver=solver).fit(X, y, weights)
    assert (model.predict(X) == cold.predict(X)).mean() > 0.97
    if solver != "auto":
        assert model.n_iter_.sum() < cold.n_iter_.sum() / 2


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
