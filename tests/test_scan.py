"""Scans: no row that has slack is ever taken for one that has none."""

import numpy as np
import pytest
from core_sets import a_problem, q_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fwsvm.kernels import RBF, Linear, Polynomial
from fwsvm.solvers import Stopping, corrective
from fwsvm.solvers import scan as scan_module
from fwsvm.solvers.core_set import CoreSet
from fwsvm.solvers.scan import Level, Scan, random_numbers

KERNELS = {"rbf": RBF(0.5), "linear": Linear(), "polynomial": Polynomial(2, 0.5, 1.0)}


def move_core(core, rng, size):
    """A move of w, accounted for as the solver does."""
    before = core.coefficients, core.margins
    core.move_to(np.maximum(0.0, core.coefficients + size * rng.standard_normal(len(core))))
    change, of_margins = core.coefficients - before[0], core.margins - before[1]
    core.moved += np.sqrt(max(0.0, float(change @ of_margins)))


def evaluate(scan, rows, core, check_time=lambda: None):
    return scan.evaluate(rows, core.point(), check_time)


def may_have_slack(scan, core):
    return scan.may_have_slack(core.point(), core.rows)


def check_no_violator_is_skipped(problem, q, core, scan):
    b = np.zeros(problem.size)
    b[core.rows] = core.coefficients
    looked_at = may_have_slack(scan, core)
    assert not np.isin(core.rows, looked_at).any()
    skipped = np.setdiff1d(np.arange(problem.size), np.concatenate([looked_at, core.rows]))
    assert ((q @ b)[skipped] >= 1.0).all()
    return len(skipped)


@settings(deadline=None, max_examples=150)
@given(
    kernel=st.sampled_from(list(KERNELS)),
    dtype=st.sampled_from([np.float32, np.float64]),
    log_size=st.floats(-4, 1),
    ends_in_double=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_no_violator_is_skipped(kernel, dtype, log_size, ends_in_double, seed):
    rng = np.random.default_rng(seed)
    problem = a_problem(120, KERNELS[kernel], seed=seed % 7)
    q = q_of(problem)
    core, scan = CoreSet(problem, dtype), Scan(problem)
    core.change(np.zeros(0, dtype=bool), rng.permutation(120)[:20], np.zeros(20))
    core.move_to(10.0 ** rng.uniform(-1, 1) * rng.random(20))
    for turn in range(8):
        if ends_in_double and turn == 5:
            core = core.with_precision(np.float64)
        evaluate(scan, np.flatnonzero(rng.random(120) < 0.5), core)
        check_no_violator_is_skipped(problem, q, core, scan)
        move_core(core, rng, 10.0**log_size)
        check_no_violator_is_skipped(problem, q, core, scan)
        leaving = core.coefficients == 0
        scan.remember(core.rows[leaving], core.margins[leaving], core.certain_move())
        others = np.setdiff1d(np.arange(120), core.rows)[:3]
        core.change(~leaving, others, evaluate(scan, others, core))


def test_something_is_skipped():
    # else the bound is of no use, and the test above checks nothing
    problem = a_problem(300, RBF(0.5), C=100.0)
    rng = np.random.default_rng(0)
    core, scan = CoreSet(problem, np.float32), Scan(problem)
    core.change(np.zeros(0, dtype=bool), np.arange(100), np.zeros(100))
    core.move_to(np.full(100, 3.0))
    evaluate(scan, np.arange(300), core)
    move_core(core, rng, 1e-3)
    skipped = check_no_violator_is_skipped(problem, q_of(problem), core, scan)
    assert skipped > 50


def test_margins_of_single_precision_are_not_trusted_as_if_they_were_double():
    problem = a_problem(400, RBF(0.5))
    q, rng = q_of(problem), np.random.default_rng(0)
    core = CoreSet(problem, np.float32)
    core.change(np.zeros(0, dtype=bool), np.arange(100), np.zeros(100))
    others, b = np.arange(100, 400), 1e3 * rng.random(100)
    core.move_to(b)
    exact = q[100:, :100] @ b
    found = evaluate(Scan(problem), others, core)
    too_high = np.flatnonzero((found > exact) & (exact > 0))
    assert len(too_high) > 20
    for i in too_high:
        # a point at which single precision finds the margin above 1, while it is below
        core.move_to(b * 2 / (found[i] + exact[i]))
        scan = Scan(problem)
        margin = evaluate(scan, others[[i]], core)[0]
        assert margin == pytest.approx(1, abs=1e-3)
        assert others[i] in may_have_slack(scan, core)
        assert others[i] in may_have_slack(scan, core.with_precision(np.float64))
        # and smaller coefficients do not make what was found more certain
        core.set_point(0.1 * core.coefficients, 0.1 * core.margins)
        assert others[i] in may_have_slack(scan, core)


def test_rows_never_looked_at_may_have_slack():
    problem = a_problem(50)
    core, scan = CoreSet(problem, np.float64), Scan(problem)
    core.change(np.zeros(0, dtype=bool), np.arange(10), np.zeros(10))
    core.move_to(np.full(10, 100.0))
    np.testing.assert_array_equal(may_have_slack(scan, core), np.arange(10, 50))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scans_are_the_naive_margins_in_parts(dtype, monkeypatch):
    monkeypatch.setattr(scan_module, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(scan_module, "VALUES_AT_ONCE", 100)
    problem = a_problem(200)
    asked = []
    core, scan = CoreSet(problem, dtype), Scan(problem)
    core.change(np.zeros(0, dtype=bool), np.arange(50), np.zeros(50))
    core.move_to(np.linspace(0, 1, 50))
    rows = np.random.default_rng(0).permutation(200)[:90]
    margins = evaluate(scan, rows, core, lambda: asked.append(1))
    expected = q_of(problem)[np.ix_(rows, core.rows)] @ core.coefficients
    np.testing.assert_allclose(margins, expected, atol=2e-5 if dtype == np.float32 else 1e-11)
    assert len(asked) == -(-90 // 7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kernel", "C"), [(RBF(0.5), 1.0), (RBF(0.1), 1e3), (Linear(), 10.0)])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_no_violator_is_skipped_in_a_run(dtype, kernel, C, tol, monkeypatch):
    problem = a_problem(3000, kernel, C, dtype)
    q = q_of(problem)
    looks = []
    original = Scan.may_have_slack

    def check(scan, point, inside):
        rows = original(scan, point, inside)
        b = np.zeros(problem.size)
        b[point.support.indices] = problem.signs[point.support.indices] * point.coefficients
        skipped = np.setdiff1d(np.arange(problem.size), np.concatenate([rows, inside]))
        assert ((q @ b)[skipped] >= 1.0).all()
        looks.append(len(skipped))
        return rows

    monkeypatch.setattr(Scan, "may_have_slack", check)
    result = corrective.solve(problem, None, Stopping(tol))
    assert result.gap <= tol
    if isinstance(kernel, RBF):
        assert max(looks) > 0


def test_levels_do_not_depend_on_how_rows_are_split():
    numbers = random_numbers(7, 0, 1000)
    parts = (0, 1), (1, 0), (1, 998), (999, 1)
    together = np.concatenate([random_numbers(7, first, count) for first, count in parts])
    np.testing.assert_array_equal(together, numbers)
    assert not np.array_equal(random_numbers(8, 0, 1000), numbers)


def test_levels_are_every_row_once():
    problem = a_problem(300)
    core, scan = CoreSet(problem, np.float64), Scan(problem, seed=3)
    core.change(np.zeros(0, dtype=bool), np.arange(10), np.zeros(10))
    found = [
        scan.look(core.point(), core.rows, Level(low, low + 0.25), lambda: None)
        for low in (0.0, 0.25, 0.5, 0.75)
    ]
    everyone = np.concatenate([seen.rows for seen in found])
    np.testing.assert_array_equal(np.sort(everyone), np.arange(10, 300))
    assert min(len(seen.rows) for seen in found) > 40
    assert sum(seen.n_rows for seen in found) == 290
    # at w = 0 every margin is 0
    assert sum(seen.penalty for seen in found) == pytest.approx((1 / problem.ridge[10:]).sum())
