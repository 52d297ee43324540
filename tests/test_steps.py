"""The steps of the default solver on a core set: line search, coordinate steps, Newton's method."""

import numpy as np
import pytest
from core_sets import a_problem, core_of, dual_of, optimum_of, primal_of, q_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fwsvm import Rows, _native
from fwsvm.dual import DualProblem
from fwsvm.kernels import RBF, Linear, Precomputed
from fwsvm.solvers import newton as newton_module
from fwsvm.solvers.coordinate import descend, descend_in_python
from fwsvm.solvers.core_set import IndefiniteKernelError
from fwsvm.solvers.line_search import best_step
from fwsvm.solvers.newton import Newton

# ------------------------------------------------------------------------------------- line search


def slope_at(t, linear, quadratic, margins, change, ridge):
    slack = np.maximum(0.0, 1.0 - margins - t * change)
    return linear + t * quadratic - (change / ridge) @ slack


def naive_step(*line):
    """The root of the slope, which is linear between the places where a slack begins or ends."""
    _, quadratic, margins, change, ridge = line
    with np.errstate(divide="ignore", invalid="ignore"):
        places = (1.0 - margins) / change
    places = np.unique(places[np.isfinite(places) & (places > 0)])
    if slope_at(0.0, *line) >= 0:
        return 0.0
    low = 0.0
    for high in places:
        if slope_at(high, *line) >= 0:
            break
        low = high
    else:
        high = 2.0 * low + 1.0
    middle = 0.5 * (low + high)
    inside = 1.0 - margins - middle * change > 0
    curvature = quadratic + (change[inside] ** 2 / ridge[inside]).sum()
    return low - slope_at(low, *line) / curvature


@settings(deadline=None, max_examples=300)
@given(
    n=st.integers(0, 30),
    log_scales=st.tuples(*[st.integers(-4, 4)] * 3),
    uphill=st.booleans(),
    rounded=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_the_best_step_is_the_naive_one(n, log_scales, uphill, rounded, seed):
    rng = np.random.default_rng(seed)
    of_change, of_ridge, of_slope = 10.0 ** np.array(log_scales)
    margins, change = 1 + rng.standard_normal(n), of_change * rng.standard_normal(n)
    if rounded:  # many margins at 1, many rows that do not move, breaks at the same place
        margins, change = np.round(margins), of_change * np.round(change / of_change)
    ridge = of_ridge * rng.uniform(0.5, 2.0, n)
    linear = of_slope * abs(rng.standard_normal()) * (1 if uphill else -1)
    line = linear, rng.uniform(0.1, 10.0), margins, change, ridge
    step, naive = best_step(*line), naive_step(*line)
    assert step >= 0
    if naive == 0:
        assert step <= 1e-9
    else:
        assert step == pytest.approx(naive, rel=1e-6)


# --------------------------------------------------------------------------------- coordinate steps

SIZES = [1, 2, 63, 64, 65, 127, 128, 129, 300]


def both(problem, dtype, tolerance, most_steps, coefficients=None):
    """Native and readable coordinate steps from the same point."""
    cores = [core_of(problem, dtype, coefficients) for _ in range(2)]
    answers = [
        way(core, tolerance, most_steps)
        for way, core in zip((descend, descend_in_python), cores, strict=True)
    ]
    return cores, answers


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_native_coordinate_steps_are_the_readable_ones(n, dtype):
    problem = a_problem(n, C=np.random.default_rng(1).uniform(0.5, 20.0, n))
    start = np.random.default_rng(2).uniform(0, 0.2, n)
    steps = max(64, n)  # native code looks at the gap so often
    (native, readable), _ = both(problem, dtype, 0.0, steps, start)
    np.testing.assert_allclose(native.coefficients, readable.coefficients, atol=1e-9)
    np.testing.assert_allclose(native.margins, readable.margins, atol=1e-9)
    assert (native.coefficients >= 0).all()


@pytest.mark.parametrize("n", [1, 64, 65, 130])
def test_of_rows_that_gain_the_same_the_first_one_moves(n):
    # K = I: every step gains as much as any other, but for the bias, until its row is done
    rows = Rows(1e3 * np.arange(n)[:, None].astype(float), storage="dense")
    problem = DualProblem(rows, np.ones(n), np.full(n, 1e6), RBF(1.0))
    (native, readable), _ = both(problem, np.float64, 0.0, n)
    np.testing.assert_allclose(native.coefficients, readable.coefficients, rtol=1e-9)
    assert (np.diff(native.coefficients) <= 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_coordinate_steps_reach_the_optimum(n, dtype):
    problem = a_problem(n, dtype=dtype)
    q = q_of(problem)
    tolerance = 1e-5 if dtype == np.float32 else 1e-10
    core = core_of(problem, dtype)
    assert descend(core, tolerance, 1_000_000)
    best = optimum_of(q, problem.ridge)
    optimum = dual_of(q, problem.ridge, best)
    assert core.gap() <= tolerance * (1 + 1e-9)
    rounding = 1e-6 if dtype == np.float32 else 1e-12
    assert optimum * (1 - rounding) <= core.primal() <= optimum * (1 + tolerance + rounding)
    assert optimum * (1 - tolerance - rounding) <= core.dual() <= optimum * (1 + rounding)


@settings(deadline=None, max_examples=80)
@given(
    n=st.integers(1, 70),
    log_c=st.floats(-6, 6),
    gamma=st.sampled_from([1e-8, 0.5, 1e8]),
    dtype=st.sampled_from([np.float32, np.float64]),
    most_steps=st.integers(0, 3000),
    seed=st.integers(0, 9),
)
def test_coordinate_steps_say_whether_the_gap_is_closed(n, log_c, gamma, dtype, most_steps, seed):
    problem = a_problem(n, RBF(gamma), 10.0**log_c, seed=seed)
    core = core_of(problem, dtype)
    before = core.dual()
    closed = descend(core, 1e-4, most_steps)
    margins = core.margins.copy()
    core.move_to(core.coefficients)
    # what 10^4 steps add up to in the margins is not more than roundings
    np.testing.assert_allclose(margins, core.margins, atol=1e-9 * (1 + 10.0**log_c))
    assert core.dual() >= before
    if closed:
        assert core.gap() <= 1.001e-4
    elif most_steps == 0:
        assert core.gap() > 0.999e-4
    assert (core.coefficients >= 0).all()


def test_no_gain_anywhere_is_the_optimum_not_a_failure():
    # K = I, C = 1: the optimum b = 1 / 3 (with the bias) is reached by exact steps
    rows = Rows(np.array([[0.0], [1e3]]), storage="dense")
    problem = DualProblem(rows, np.array([1.0, -1.0]), np.ones(2), RBF(1.0))
    core = core_of(problem)
    assert descend(core, 1e-12, 10_000)
    assert descend(core, 1e-12, 10_000)  # again, from where nothing is to gain
    q = q_of(problem)
    np.testing.assert_allclose(core.coefficients, optimum_of(q, problem.ridge))


def test_a_point_beside_a_matrix_of_another_size_is_refused():
    K, vector = np.eye(3), np.ones(3)
    for place in range(4):
        arrays = [vector.copy() for _ in range(4)]
        arrays[place] = np.ones(4)
        with pytest.raises(ValueError, match="fit the square kernel matrix"):
            _native.coordinate_descent(K, *arrays, 1e-3, 10)


def indefinite_problem(n, C=1e3, strength=5.0):
    """A kernel with one strongly negative direction, inside of which signs agree with it."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((n, 5))
    v = rng.choice([-1.0, 1.0], n) / np.sqrt(n)
    K = root @ root.T - strength * n * np.outer(v, v)
    K[np.diag_indices(n)] = np.abs(K.diagonal()) + 0.1
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    return DualProblem(Rows(K, storage="dense"), signs, np.full(n, 1 / C), Precomputed())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coordinate_steps_on_an_indefinite_matrix_end(dtype):
    problem = indefinite_problem(100)
    core = core_of(problem, dtype)
    try:
        closed = descend(core, 1e-6, 100_000)
    except IndefiniteKernelError:
        return
    assert closed == (core.gap() <= 1e-6)
    assert np.isfinite(core.coefficients).all()


# --------------------------------------------------------------------------------- Newton's method


def newton_of(core, reports=None):
    return Newton(
        core,
        np.random.default_rng(0),
        lambda: None,
        (lambda: None) if reports is None else lambda: reports.append(1),
    )


@pytest.mark.parametrize("n", [40, 700])  # a face that is factored, and one that is not
@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
def test_the_direction_solves_the_linear_system(n, part):
    rng = np.random.default_rng(0)
    problem = a_problem(n, C=rng.uniform(1.0, 10.0, n))
    core = core_of(problem, coefficients=rng.uniform(0, 0.1, n))
    q, before = q_of(problem), core.coefficients
    inside = rng.random(n) < part if 0 < part < 1 else np.full(n, part == 1)
    change, of_margins = newton_of(core)._direction(inside, 1e-22 * core.primal())
    expected = np.zeros(n)
    on_face = q[np.ix_(inside, inside)] + np.diag(problem.ridge[inside])
    expected[inside] = np.linalg.solve(on_face, np.ones(inside.sum()))
    np.testing.assert_allclose(before + change, expected, atol=1e-9)
    np.testing.assert_allclose(of_margins, q @ (expected - before), atol=1e-8)


@pytest.mark.parametrize("kernel", [RBF(0.5), RBF(1e-6), RBF(1e6), Linear()])
@pytest.mark.parametrize(
    ("n", "C"), [(200, 1e-3), (200, 1.0), (200, 1e5), (900, 1e-3), (900, 10.0)]
)
def test_newton_reaches_the_optimum(kernel, C, n):
    problem = a_problem(n, kernel, C)
    core, q = core_of(problem), q_of(problem)
    reports = []
    tolerance = 1e-8
    assert newton_of(core, reports).converge(tolerance)
    assert len(reports) >= 1
    # independent: P bounds the optimum from above, D from below, and both are what they should be
    primal = primal_of(q, problem.ridge, core.coefficients)
    dual = dual_of(q, problem.ridge, core.coefficients)
    assert core.primal() == pytest.approx(primal, rel=1e-7)
    assert core.dual() == pytest.approx(dual, rel=1e-7)
    assert 1 - dual / primal <= 2 * tolerance
    if n == 200:
        exact = dual_of(q, problem.ridge, optimum_of(q, problem.ridge))
        assert dual <= exact * (1 + 1e-9)
        assert primal >= exact * (1 - 1e-9)


def test_newton_never_makes_p_worse():
    problem = a_problem(900, C=100.0)
    core = core_of(problem)
    newton, before = newton_of(core), core.primal()
    for _ in range(12):
        newton._step(True, 1e-3 * before, 1e-9)
        assert core.primal() <= before * (1 + 1e-8)
        before = core.primal()


def test_the_clock_is_asked_between_products(monkeypatch):
    # rank 1 of a preconditioner makes the solves long
    monkeypatch.setattr(newton_module, "MOST_RANK", 1)
    asked = []

    def check_time():
        asked.append(1)
        if len(asked) == 5:
            raise TimeoutError

    problem = a_problem(900, C=1e3)
    core = core_of(problem)
    newton = Newton(core, np.random.default_rng(0), check_time, lambda: None)
    with pytest.raises(TimeoutError):
        newton.converge(1e-9)
    primal = primal_of(q_of(problem), problem.ridge, core.coefficients)
    assert core.primal() == pytest.approx(primal, rel=1e-9)  # a step not yet made is not half made


@pytest.mark.parametrize("n", [100, 700])
def test_negative_curvature_is_an_error_not_a_loop(n):
    core = core_of(indefinite_problem(n))
    with pytest.raises(IndefiniteKernelError):
        newton_of(core).converge(1e-6)
