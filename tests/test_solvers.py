"""The algorithms: invariants of the paper, agreement with each other and with exact solutions."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fwsvm import Rows, _native
from fwsvm.dual import DualProblem
from fwsvm.kernels import RBF, CallableKernel, Laplacian, Linear, Polynomial
from fwsvm.solvers import (
    BlendedPairwise,
    CoreVectorMachine,
    FrankWolfe,
    ModifiedFrankWolfe,
    Status,
    Stopping,
    Swap,
    pair_start,
    random_start,
    solve,
)
from fwsvm.solvers.cache import ActiveValues, ColumnCache, NativeActiveValues
from fwsvm.solvers.core_vector import pair_steps, solve_by_working_sets
from fwsvm.solvers.selection import FullScan, Sampled
from fwsvm.solvers.start import exact_ball
from fwsvm.solvers.state import State

ALGORITHMS = {
    "fw": FrankWolfe,
    "mfw": ModifiedFrankWolfe,
    "swap": Swap,
    "blended": BlendedPairwise,
    "cvm": CoreVectorMachine,
}
KERNELS = {
    "rbf": RBF(0.5),
    "laplacian": Laplacian(0.3),
    "linear": Linear(),
    "polynomial": Polynomial(2, gamma=0.5, coef0=1.0),
    "callable": CallableKernel(lambda A, B: np.exp(-abs(A[:, None] - B[None]).sum(axis=2))),
}
each_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def make_problem(n=150, kernel="rbf", storage="dense", dtype=np.float64, C=5.0, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    signs = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(n) > 0.7, 1.0, -1.0)
    rows = Rows(X.astype(dtype), storage=storage)
    return DualProblem(rows, signs, np.full(n, 1 / C), KERNELS[kernel], **options)


def dense_matrix(problem):
    return problem.matrix(np.arange(problem.size))


def run(problem, name, *, start=random_start, selection=None, seed=0, **stopping):
    return solve(
        problem, ALGORITHMS[name](), start, Stopping(**stopping), selection=selection, seed=seed
    )


# -------------------------------------------------------------------------------------- the grid


@each_algorithm
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_solver_reaches_the_optimum(name, kernel, storage, dtype):
    if (kernel == "callable" and storage == "csr") or (
        name == "cvm" and kernel in ("linear", "polynomial")
    ):
        pytest.skip("no such combination")
    problem = make_problem(100, kernel, storage, dtype)
    optimum = optimal_value(problem)
    tol = 1e-2 if name == "fw" else 1e-4
    for selection in (None, 25):
        result = run(problem, name, selection=selection, tol=tol, max_iter=100_000)
        assert result.status is Status.converged
        certificate = result.certificate
        assert result.gap <= tol
        assert certificate.dual <= optimum * (1 + 1e-6)
        assert certificate.primal >= optimum * (1 - 1e-6)
        assert result.weights.sum() == pytest.approx(1)
        assert (result.weights > 0).all()


def optimal_value(problem):
    matrix = dense_matrix(problem)
    weights = exact_ball(matrix)
    return 0.5 / (weights @ matrix @ weights)


@pytest.mark.parametrize("start", [random_start, pair_start])
@each_algorithm
def test_starts_lead_to_the_same_optimum(name, start):
    problem = make_problem(120)
    result = run(problem, name, start=start, tol=1e-2)
    assert result.certificate.dual == pytest.approx(optimal_value(problem), rel=2e-2)


@each_algorithm
def test_the_ball_holds_every_point(name):
    problem = make_problem(200)
    epsilon = 1e-4
    result = run(problem, name, epsilon=epsilon)
    assert result.status is Status.rule_holds
    certificate = result.certificate
    gamma2 = problem.delta2 + certificate.objective - 2 * certificate.gradient
    r2 = problem.delta2 - certificate.objective
    assert gamma2.max() <= (1 + epsilon) ** 2 * r2 * (1 + 1e-12)


# ---------------------------------------------------------------------------------- the invariants


@each_algorithm
@pytest.mark.parametrize("selection", [None, 20])
def test_the_radius_grows_and_recurrences_hold(name, selection):
    problem = make_problem(120)
    matrix = dense_matrix(problem)
    rng = np.random.default_rng(0)
    chosen = Sampled(problem, rng, selection) if selection else FullScan(problem, rng)
    state = State(problem, chosen, *pair_start(problem, rng))
    algorithm, before = ALGORITHMS[name](), math.inf
    for _ in range(150):
        state.allowed_slope = 1e-9 * state.objective
        algorithm.step(state, *state.furthest())
        assert state.objective <= before * (1 + 1e-12)
        before = state.objective
        a = np.zeros(problem.size)
        a[state.entered] = state.weights
        assert a.sum() == pytest.approx(1, abs=1e-9)
        assert a.min() >= 0
        assert state.objective == pytest.approx(a @ matrix @ a, rel=1e-8)
        np.testing.assert_allclose(
            chosen.gradient_of_entered(state), (matrix @ a)[state.entered], rtol=1e-7, atol=1e-9
        )


def test_the_step_is_the_papers():
    problem = make_problem(80)
    matrix = dense_matrix(problem)
    rng = np.random.default_rng(0)
    state = State(problem, FullScan(problem, rng), *pair_start(problem, rng))
    for _ in range(30):
        a = np.zeros(problem.size)
        a[state.entered] = state.weights
        delta2 = matrix[0, 0]
        r2 = delta2 - a @ matrix @ a
        gamma2 = delta2 + a @ matrix @ a - 2 * matrix @ a
        i = int(gamma2.argmax())
        delta = gamma2[i] / r2 - 1
        step_size = 0.5 * (1 - r2 / gamma2[i])
        FrankWolfe().step(state, *state.furthest())
        expected = (1 - step_size) * a
        expected[i] += step_size
        after = np.zeros(problem.size)
        after[state.entered] = state.weights
        np.testing.assert_allclose(after, expected, atol=1e-12)
        assert delta2 - state.objective == pytest.approx(r2 * (1 + delta**2 / (4 * (1 + delta))))


def test_away_steps_are_the_papers_and_drop():
    problem = make_problem(80, C=100.0)
    matrix = dense_matrix(problem)
    rng = np.random.default_rng(0)
    state = State(problem, FullScan(problem, rng), *random_start(problem, rng))
    aways = drops = 0
    for _ in range(300):
        a = np.zeros(problem.size)
        a[state.entered] = state.weights
        objective = a @ matrix @ a
        r2, gamma2 = matrix[0, 0] - objective, matrix[0, 0] + objective - 2 * matrix @ a
        active = np.flatnonzero(a)
        j = active[gamma2[active].argmin()]
        plus, minus = gamma2.max() / r2 - 1, 1 - gamma2[j] / r2
        ModifiedFrankWolfe().step(state, *state.furthest())
        if plus < minus:
            aways += 1
            bound = a[j] / (1 - a[j])
            step_size = min(minus / (2 * (1 - minus)), bound)
            expected = (1 + step_size) * a
            expected[j] -= step_size
            after = np.zeros(problem.size)
            after[state.entered] = state.weights
            np.testing.assert_allclose(after, expected, atol=1e-10)
            if step_size == bound:
                drops += 1
                assert state.weight(int(j)) == 0.0
    assert aways > 10
    assert drops > 0


# ----------------------------------------------------------------------------- rates of the paper


def iterations_until(problem, name, slopes):
    """Iterations until R - g_i* falls below each of the slopes."""
    rng = np.random.default_rng(0)
    state = State(problem, FullScan(problem, rng), *pair_start(problem, rng))
    algorithm, counts, iteration = ALGORITHMS[name](), [], 0
    for slope in slopes:
        while state.objective - state.furthest()[1] > slope:
            algorithm.step(state, *state.furthest())
            iteration += 1
        counts.append(iteration)
    return counts


def test_frank_wolfe_takes_one_over_epsilon_iterations():
    slopes = [2e-4, 1e-4, 5e-5, 2.5e-5]
    counts = iterations_until(make_problem(100, C=10.0), "fw", slopes)
    exponent = np.polyfit(np.log(1 / np.array(slopes)), np.log(counts), 1)[0]
    assert 0.7 < exponent < 1.3


def test_away_steps_converge_linearly():
    slopes = 10.0 ** -np.arange(6, 13)
    counts = np.array(iterations_until(make_problem(100, C=10.0), "mfw", slopes))
    for_one_digit = np.diff(counts)
    assert for_one_digit[3:].max() <= 2 * for_one_digit[:3].max() + 20


def test_away_steps_drop_spurious_points():
    problem = make_problem(300, C=100.0)
    with_away = run(problem, "mfw", tol=1e-5)
    without = run(problem, "fw", tol=1e-5, max_iter=with_away.n_iter)
    exact = exact_ball(dense_matrix(problem))
    assert len(with_away.rows) <= (exact > 0).sum() + 3
    assert len(without.rows) > len(with_away.rows)


# ------------------------------------------------------------------------------- exact arithmetic


def exact_optimum(matrix):
    """min a' M a over the simplex in rationals: the best of all faces."""
    n = len(matrix)
    best = None
    for size in range(1, n + 1):
        for face in combinations(range(n), size):
            solution = solve_rational([[matrix[i][j] for j in face] for i in face])
            if solution is None or min(solution) < 0:
                continue
            total = sum(solution)
            if total > 0 and (best is None or 1 / total < best[0]):
                best = 1 / total, dict(zip(face, [b / total for b in solution], strict=True))
    return best


def solve_rational(matrix):
    """b with M b = 1, by elimination."""
    n = len(matrix)
    rows = [[*row, Fraction(1)] for row in matrix]
    for k in range(n):
        pivot = next((r for r in range(k, n) if rows[r][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(n):
            if r != k and rows[r][k] != 0:
                rows[r] = [x - rows[r][k] * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[n] for row in rows]


@pytest.mark.parametrize("seed", range(4))
def test_solvers_find_the_rational_optimum(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (7, 2))
    signs = np.array([1, 1, 1, -1, -1, -1, 1])
    gram = [[Fraction(int(x @ z)) for z in X] for x in X]
    matrix = [
        [int(signs[i] * signs[j]) * (gram[i][j] + 1) + (i == j) * Fraction(1, 2) for j in range(7)]
        for i in range(7)
    ]
    objective, _ = exact_optimum(matrix)
    problem = DualProblem(
        Rows(X.astype(float), storage="dense"), signs.astype(float), np.full(7, 0.5), Linear()
    )
    for name in ("mfw", "swap", "blended"):
        result = run(problem, name, start=pair_start, tol=1e-9, max_iter=100_000)
        assert result.gap <= 1e-9
        assert result.certificate.objective == pytest.approx(float(objective), rel=1e-8)


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
        X = X[rng.integers(3, size=n)]
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
    name=st.sampled_from(["mfw", "swap", "blended", "cvm"]),
    selection=st.sampled_from([None, 10]),
    start=st.sampled_from([random_start, pair_start]),
    seed=st.integers(0, 5),
)
def test_degenerate_problems(kind, n, log_c, name, selection, start, seed):
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
