"""The algorithms: invariants of the paper, agreement with each other and with exact solutions."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from dual_problems import (
    KERNELS,
    dense_matrix,
    each_algorithm,
    make_problem,
    optimal_value,
    run,
    weights_of_all,
)

from fwsvm import Rows
from fwsvm.dual import DualProblem
from fwsvm.kernels import Linear
from fwsvm.parameters import ALGORITHMS
from fwsvm.solvers import (
    FrankWolfe,
    ModifiedFrankWolfe,
    Status,
    Stopping,
    corrective,
    pair_start,
    random_start,
)
from fwsvm.solvers.selection import FullScan, Sampled
from fwsvm.solvers.start import exact_ball
from fwsvm.solvers.state import State

# -------------------------------------------------------------------------------------- the grid


COMBINATIONS = [
    (name, kernel, storage)
    for name in ALGORITHMS
    for kernel in KERNELS
    for storage in ("dense", "csr")
    if not (kernel == "callable" and storage == "csr")  # callables get arrays
    and not (name == "cvm" and kernel in ("linear", "polynomial"))  # no constant diagonal
]


@pytest.mark.parametrize(("name", "kernel", "storage"), COMBINATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_solver_reaches_the_optimum(name, kernel, storage, dtype):
    problem = make_problem(100, kernel, storage, dtype)
    optimum = optimal_value(problem)
    tol = 3e-2 if name == "fw" else 1e-4
    for selection in (None, 25):
        result = run(problem, name, selection=selection, tol=tol, max_iter=100_000)
        assert result.status is Status.converged
        certificate = result.certificate
        assert result.gap <= tol
        assert certificate.dual <= optimum * (1 + 1e-6)
        assert certificate.primal >= optimum * (1 - 1e-6)
        assert result.weights.sum() == pytest.approx(1)
        assert (result.weights > 0).all()


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
        a = weights_of_all(state)
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
        a = weights_of_all(state)
        delta2 = matrix[0, 0]
        r2 = delta2 - a @ matrix @ a
        gamma2 = delta2 + a @ matrix @ a - 2 * matrix @ a
        i = int(gamma2.argmax())
        delta = gamma2[i] / r2 - 1
        step_size = 0.5 * (1 - r2 / gamma2[i])
        FrankWolfe().step(state, *state.furthest())
        expected = (1 - step_size) * a
        expected[i] += step_size
        np.testing.assert_allclose(weights_of_all(state), expected, atol=1e-12)
        assert delta2 - state.objective == pytest.approx(r2 * (1 + delta**2 / (4 * (1 + delta))))


def test_away_steps_are_the_papers_and_drop():
    problem = make_problem(80, C=100.0)
    matrix = dense_matrix(problem)
    rng = np.random.default_rng(0)
    state = State(problem, FullScan(problem, rng), *random_start(problem, rng))
    aways = drops = 0
    for _ in range(300):
        a = weights_of_all(state)
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
            np.testing.assert_allclose(weights_of_all(state), expected, atol=1e-10)
            # Algorithm 3 has "(delta- - 1)" here: a misprint, see docs/math.md
            radius2 = (1 + step_size) * r2 - step_size * (1 + step_size) * (1 - minus) * r2
            assert matrix[0, 0] - state.objective == pytest.approx(radius2, rel=1e-9)
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


def rational_problem(X, signs):
    """Kt of the linear kernel and C = 2, in rationals and as the solvers see it."""
    m = len(X)
    matrix = [
        [int(signs[i] * signs[j] * (X[i] @ X[j] + 1)) + (i == j) * Fraction(1, 2) for j in range(m)]
        for i in range(m)
    ]
    rows = Rows(X.astype(float), storage="dense")
    return matrix, DualProblem(rows, signs.astype(float), np.full(m, 0.5), Linear())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", [*ALGORITHMS, "auto"])
def test_solvers_find_the_rational_optimum(name, seed):
    rng = np.random.default_rng(seed)
    # cvm: all rows of the same length
    X = rng.choice([-1, 1], (8, 5)) if name == "cvm" else rng.integers(-3, 4, (8, 2))
    signs = np.array([1, 1, 1, -1, -1, -1, 1, -1])
    matrix, problem = rational_problem(X, signs)
    objective, weights = exact_optimum(matrix)
    tol = 1e-3 if name == "fw" else 1e-9
    if name == "auto":
        result = corrective.solve(problem, None, Stopping(tol))
    else:
        result = run(problem, name, start=pair_start, tol=tol, max_iter=200_000)
    assert result.gap <= tol
    optimum = 1 / (2 * objective)
    assert result.certificate.dual <= optimum * (1 + 1e-12)
    assert result.certificate.dual >= optimum * (1 - tol) - 1e-12
    # the same predictions, on every point of a grid that is not on the border itself
    points = np.array(list(product(range(-3, 4), repeat=2))) if name != "cvm" else X
    exact = predictions(X, signs, weights, points)
    found = predictions(X, signs, dict(zip(result.rows, result.weights, strict=True)), points)
    clear = np.abs(exact.astype(float)) > 0.1 * float(objective)
    assert clear.sum() > len(points) / 4
    np.testing.assert_array_equal(np.sign(exact[clear]), np.sign(found[clear]))


def predictions(X, signs, weights, points):
    """R h(x) = sum a_i y_i (k(x_i, x) + 1)."""
    return np.array(
        [sum(a * int(signs[i] * (X[i] @ x + 1)) for i, a in weights.items()) for x in points]
    )
