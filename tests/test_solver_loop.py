"""What all algorithms share: caches, stopping, the trace, difficult inputs."""

from itertools import pairwise

import numpy as np
import pytest
from dual_problems import dense_matrix, each_algorithm, make_problem, run
from hypothesis import given, settings
from hypothesis import strategies as st

from fwsvm import Rows, _native
from fwsvm.dual import DualProblem
from fwsvm.kernels import RBF, Laplacian, Linear, Polynomial
from fwsvm.parameters import ALGORITHMS
from fwsvm.solvers import (
    Status,
    pair_start,
    random_start,
)
from fwsvm.solvers.cache import ActiveValues, ColumnCache, NativeActiveValues
from fwsvm.solvers.core_vector import pair_steps, solve_by_working_sets
from fwsvm.solvers.selection import FullScan, Sampled
from fwsvm.solvers.start import exact_ball
from fwsvm.solvers.state import State

# ------------------------------------------------------------------------------------------ caches


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.5), Polynomial(2)])
@pytest.mark.parametrize("n_features", [5, 3000])
@pytest.mark.parametrize("cache_bytes", [2**20, 500])
def test_native_values_are_the_readable_ones(dtype, storage, kernel, n_features, cache_bytes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, n_features)) * (rng.random((200, n_features)) < 20 / n_features)
    rows = Rows(X.astype(dtype), storage=storage).take(rng.permutation(200))
    make = [
        DualProblem(rows, np.ones(200), np.ones(200), kernel, cache_bytes=cache_bytes)
        for _ in range(2)
    ]
    readable, native = ActiveValues(make[0]), NativeActiveValues(make[1])
    tolerance = 2e-5 if dtype == np.float32 else 1e-10
    for entering in range(150):
        readable.enter(entering)
        native.enter(entering)
        if entering % 7 and entering > 3:
            continue
        drawn, weights = rng.integers(200, size=13), rng.standard_normal(entering + 1)
        np.testing.assert_allclose(
            native.products(drawn, weights), readable.products(drawn, weights), atol=tolerance
        )
        np.testing.assert_allclose(native.row(5), readable.row(5), atol=tolerance)
    if cache_bytes == 2**20:
        assert make[0].work.hits == pytest.approx(make[1].work.hits, abs=60)


def test_caches_stay_in_their_budget():
    problem = make_problem(1000, cache_bytes=100_000)
    columns = ColumnCache(problem)
    for i in range(300):
        columns.column(i % 40)
    assert sum(c.nbytes for c in columns._columns.values()) <= 100_000
    assert problem.work.misses >= 40
    values = ActiveValues(problem)
    for i in range(100):
        values.enter(i)
    for i in range(0, 1000, 10):
        values.products(np.arange(i, i + 10), np.ones(100))
    assert values._bytes <= 100_000


def test_a_tiny_cache_changes_nothing_but_time():
    for name in ("mfw", "cvm"):
        results = [
            run(make_problem(150, cache_bytes=size), name, selection=20, tol=1e-3)
            for size in (2**27, 3000)
        ]
        assert all(r.gap <= 1e-3 for r in results)
        np.testing.assert_allclose(
            results[0].certificate.dual, results[1].certificate.dual, rtol=2e-3
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_native_pairs_are_the_readable_ones(dtype):
    problem = make_problem(120)
    matrix = dense_matrix(problem).astype(dtype)
    optimum = exact_ball(dense_matrix(problem))
    results = []
    for minimise in (_native.minimise_on_simplex, pair_steps):
        weights = np.full(120, 1 / 120)
        gradient = matrix.astype(float) @ weights
        minimise(matrix, weights, gradient, 1e-7)
        assert weights.sum() == pytest.approx(1)
        assert weights.min() >= 0
        np.testing.assert_allclose(gradient, matrix.astype(float) @ weights, rtol=1e-6)
        assert gradient[weights > 0].max() - gradient.min() <= 1.1e-7
        results.append(weights)
    np.testing.assert_allclose(results[0], results[1], atol=1e-5)
    np.testing.assert_allclose(results[0], optimum, atol=1e-5)


@pytest.mark.parametrize("selection", [None, 20])
@pytest.mark.parametrize("n", [60, 400])
def test_working_sets_reach_the_optimum_of_the_core_set(selection, n):
    problem = make_problem(n)
    rng = np.random.default_rng(0)
    chosen = Sampled(problem, rng, selection) if selection else FullScan(problem, rng)
    state = State(problem, chosen, *pair_start(problem, rng))
    matrix = dense_matrix(problem)
    for i in range(n):
        weights = state.weights
        state.enter(i, float(matrix[i, state.entered] @ weights))
    solve_by_working_sets(state, 1e-8)
    gradient = matrix[np.ix_(state.entered, state.entered)] @ state.weights
    assert state.weights.sum() == pytest.approx(1)
    assert state.weights.min() >= 0
    assert gradient[state.weights > 0].max() - gradient.min() <= 1.1e-8
    np.testing.assert_allclose(chosen.gradient_of_entered(state), gradient, atol=1e-9)
    assert state.objective == pytest.approx(state.weights @ gradient, rel=1e-9)


@pytest.mark.parametrize("selection", [None, 20])
def test_a_drop_step_leaves_no_weight(selection):
    problem = make_problem(100)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        chosen = Sampled(problem, rng, selection) if selection else FullScan(problem, rng)
        state = State(problem, chosen, np.arange(10), rng.dirichlet(np.ones(10)))
        for j in range(9):
            state.drop(j, float(chosen.gradient_of_entered(state)[j]))
            assert state.weight(j) == 0.0
            assert state.n_active() == 9 - j
        rows, weights = state.support()
        assert rows.tolist() == [9]
        assert weights.tolist() == [1.0]


# ----------------------------------------------------------------------------- stopping and status


@each_algorithm
def test_limits_leave_the_best_point_and_a_true_gap(name):
    problem = make_problem(400, C=1000.0)
    for limit in ({"max_iter": 3}, {"max_time": 1e-4}):
        result = run(problem, name, tol=1e-9, **limit)
        assert result.status in (Status.max_iter, Status.max_time)
        exact = problem.certificate(result.rows, result.weights)
        assert result.gap == exact.gap > 1e-9


def test_sampling_reports_whether_the_rule_holds_on_all_rows():
    problem = make_problem(3000, C=10.0)
    result = run(problem, "mfw", selection=5, epsilon=1e-2)
    certificate = result.certificate
    gamma2 = problem.delta2 + certificate.objective - 2 * certificate.gradient.min()
    holds = gamma2 <= 1.01**2 * (problem.delta2 - certificate.objective)
    assert result.status is (Status.rule_holds if holds else Status.rule_holds_on_samples)


@each_algorithm
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-8])
def test_a_full_selection_never_stops_on_samples(name, dtype, epsilon):
    problem = make_problem(100, dtype=dtype, C=100.0)
    result = run(problem, name, epsilon=epsilon, max_iter=1000)
    certificate = result.certificate
    r2 = problem.delta2 - certificate.objective
    gamma2 = problem.delta2 + certificate.objective - 2 * certificate.gradient.min()
    holds = gamma2 <= (1 + epsilon) ** 2 * r2
    assert result.status in (Status.rule_holds, Status.stalled, Status.max_iter)
    assert holds == (result.status is Status.rule_holds)


@each_algorithm
def test_samples_end_with_a_scan_of_all_rows(name, monkeypatch):
    problem = make_problem(2000, C=10.0)
    looks = []
    furthest = Sampled.furthest

    def look(selection, state):
        looks.append(furthest(selection, state))
        return looks[-1]

    monkeypatch.setattr(Sampled, "furthest", look)
    result = run(problem, name, selection=10, epsilon=1e-2)
    # one look for each step, one that found the rule to hold, and three that confirmed it
    assert len(looks) >= result.n_iter + 3
    exact = problem.certificate(result.rows, result.weights)
    np.testing.assert_array_equal(result.certificate.gradient, exact.gradient)


def test_a_tolerance_past_float32_is_said_not_looped():
    problem = make_problem(100, dtype=np.float32, C=1e4)
    result = run(problem, "mfw", tol=1e-13)
    assert result.status is Status.stalled
    assert result.gap > 1e-13


def test_the_trace_is_complete():
    result = run(make_problem(300), "mfw", tol=1e-4)
    iterations = [row.iteration for row in result.trace]
    assert iterations == sorted(iterations)
    assert result.trace[-1].gap == pytest.approx(result.gap)
    assert all(a.time <= b.time for a, b in pairwise(result.trace))
    objectives = [row.objective for row in result.trace]
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(objectives))


# --------------------------------------------------------------------------------- difficult inputs


def degenerate(kind, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    if kind == "identical points":
        X[:] = X[0]
    elif kind == "duplicates":
        X = X[rng.integers(min(3, n), size=n)]
    elif kind == "one point of a class":
        signs[:] = 1.0
    elif kind == "constant features":
        X[:, 1:] = 7.0
    elif kind == "large":
        X *= 1e6
    signs[0], signs[1] = 1.0, -1.0
    return X, signs


KINDS = ["identical points", "duplicates", "one point of a class", "constant features", "large"]


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(2, 90),
    log_c=st.floats(-6, 6),
    name=st.sampled_from(list(ALGORITHMS)),
    selection=st.sampled_from([None, 10]),
    start=st.sampled_from([random_start, pair_start]),
    seed=st.integers(0, 5),
)
def test_degenerate_problems(kind, n, log_c, name, selection, start, seed):
    if name == "cvm":
        log_c = min(log_c, 4.0)  # beyond, its core set problems take minutes
    X, signs = degenerate(kind, n, seed)
    problem = DualProblem(Rows(X, storage="dense"), signs, np.full(n, 10.0**-log_c), RBF(1.0))
    result = run(problem, name, start=start, selection=selection, max_iter=3000, seed=seed)
    assert np.isfinite(result.gap)
    assert result.weights.sum() == pytest.approx(1)
    assert (result.weights > 0).all()
    exact = problem.certificate(result.rows, result.weights)
    assert result.gap == pytest.approx(exact.gap, abs=1e-12)
    if result.status is Status.converged:
        assert result.gap <= 1e-3


def test_a_vertex_of_small_norm_may_take_all_weight():
    # without a constant diagonal a step size of one is possible
    X = np.array([[3.0, 0.0], [4.0, 0.0], [-0.1, 0.0], [-5.0, 1.0]])
    problem = DualProblem(
        Rows(X, storage="dense"), np.array([1.0, 1.0, 1.0, -1.0]), np.full(4, 1e-3), Linear()
    )
    for name in ("fw", "mfw", "swap", "blended"):
        result = run(problem, name, start=pair_start, tol=1e-2, max_iter=10_000)
        assert result.gap <= 1e-2
