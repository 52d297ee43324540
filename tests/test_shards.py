"""The default solver over shards is the one over all rows, however they are split."""

import numpy as np
import pytest
import scipy.sparse
from core_sets import q_of
from hypothesis import given, settings
from hypothesis import strategies as st
from local_shards import LocalShards, gathering_of, parts_of, solve
from svc import make_data

from fwsvm import Rows
from fwsvm.dual import DualProblem
from fwsvm.kernels import RBF, Laplacian, Linear
from fwsvm.shards import Checkpoint, Halfway
from fwsvm.solvers import FrankWolfe, Stopping, corrective
from fwsvm.solvers import solve as solve_by
from fwsvm.solvers.core_set import CoreSet

N = 3000


def data(dtype=np.float32):
    X, y = make_data(N, n_features=6)
    return X.astype(dtype), y


def serial(X, y, kernel, C=1.0, tol=1e-3, weights=None, seed=0):
    C = C * (np.ones(len(y)) if weights is None else weights)
    problem = DualProblem(Rows(X), np.where(y == 1, 1.0, -1.0), 1 / C, kernel)
    return problem, corrective.solve(problem, None, Stopping(tol), seed=seed)


def outputs(problem, result):
    coefficients = result.weights / result.certificate.objective
    return problem.signs * problem.margins(result.rows, coefficients, dtype=np.float64)


def check_same(X, y, kernel, found, *, C=1.0, tol=1e-3, weights=None):
    """A certificate that is true, and the predictions of the serial run."""
    problem, expected = serial(X, y, kernel, C, tol, weights)
    assert found.gap <= tol
    exact = problem.certificate(found.rows, found.weights)
    assert found.certificate.primal == pytest.approx(exact.primal, rel=1e-9)
    assert found.certificate.dual == pytest.approx(exact.dual, rel=1e-9)
    difference = np.abs(outputs(problem, found) - outputs(problem, expected))
    # P is 1-strongly convex, and both points are within their gaps of the optimum
    bound = sum(np.sqrt(2 * r.gap * r.certificate.primal) for r in (found, expected))
    assert (difference <= bound * np.sqrt(problem.diagonal - problem.ridge) + 1e-6).all()
    return expected


@pytest.mark.parametrize("cuts", [[], [1500], [1, 2, 2990], [700, 1400, 1400, 2100, 2999]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("kernel", "C", "tol"), [(RBF(0.2), 1.0, 1e-3), (RBF(0.2), 50.0, 1e-6), (Linear(), 1.0, 1e-3)]
)
def test_the_solution_does_not_depend_on_the_split(cuts, dtype, kernel, C, tol):
    X, y = data(dtype)
    found, _ = solve(LocalShards(parts_of(X, y, cuts)), kernel, C, tol)
    expected = check_same(X, y, kernel, found, C=C, tol=tol)
    # the same rows in the same rounds, up to roundings
    assert [row.rows_seen for row in found.trace] == [row.rows_seen for row in expected.trace]
    np.testing.assert_array_equal(found.rows, expected.rows)


@settings(deadline=None, max_examples=25)
@given(
    cuts=st.lists(st.integers(0, 800), max_size=6),
    workers=st.integers(1, 4),
    is_sparse=st.booleans(),
    weighted=st.booleans(),
    copies=st.booleans(),
    loses=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_any_split_over_any_workers(cuts, workers, is_sparse, weighted, copies, loses, seed):
    rng = np.random.default_rng(seed)
    X, y = make_data(800, seed=seed % 5)
    X = np.where(rng.random(X.shape) < 0.4, 0.0, X)
    if copies:  # equal rows, within parts and in several
        take = rng.integers(0, 500, 800)
        X, y = X[take], y[take]
    weights = rng.integers(0, 3, 800).astype(float) if weighted else np.ones(800)
    given = scipy.sparse.csr_array(X) if is_sparse else X
    parts = parts_of(given, y, sorted(cuts), weights)
    homes = [list(range(k, len(parts), workers)) for k in range(min(workers, len(parts)))]
    shards = LosesParts(parts, homes, rng) if loses else LocalShards(parts, homes)
    found, rows = solve(shards, RBF(0.3), C=5.0, tol=1e-5)
    kept = np.flatnonzero(weights > 0)
    place = np.full(800, -1)
    place[kept] = np.arange(len(kept))
    assert (place[found.rows] >= 0).all()
    found = type(found)(**{**vars(found), "rows": place[found.rows]})
    check_same(X[kept], y[kept], RBF(0.3), found, C=5.0, tol=1e-5, weights=weights[kept])
    rows.forget()
    assert not any(part.shares for part in parts)


class LosesParts(LocalShards):
    """Its workers die between questions; their parts are made anew, and know nothing."""

    def __init__(self, parts, workers, rng):
        super().__init__(parts, workers)
        self.rng = rng

    def ask(self, question, *arguments, check_time, among=None):
        for part in self.parts:
            if among is None and self.rng.random() < 0.2:
                part.shares.clear()
        return super().ask(question, *arguments, check_time=check_time, among=among)


def test_rows_are_sent_once():
    X, y = data()
    found, rows = solve(LocalShards(parts_of(X, y, [1000, 2000])), RBF(0.2), tol=1e-6)
    gathered = rows.gathered
    together = set(zip(gathered.part.tolist(), gathered.row.tolist(), strict=True))
    assert len(together) == len(gathered) == rows.problem.size
    assert len(found.rows) <= len(gathered) <= N
    # each gathered row comes and goes once; beside them there are numbers only
    per_row = X[0].nbytes
    assert rows.traffic.bytes_received < len(gathered) * (per_row + 120)


def test_most_parts_of_a_worker_share_what_was_gathered():
    X, y = data()
    parts = parts_of(X, y, [500, 1000, 1500, 2000])
    solve(LocalShards(parts, [[0, 1, 2], [3, 4]]), RBF(0.2))
    copies = [part.shares[0].gathered for part in parts]
    assert copies[0] is copies[1] is copies[2]
    assert copies[3] is copies[4]
    assert copies[0] is not copies[3]


def test_standardised_one_hot_data_are_stored_about_their_usual_values():
    rng = np.random.default_rng(0)
    X = np.zeros((1200, 20), np.float32)
    X[np.arange(1200), rng.integers(0, 20, 1200)] = 1
    X = X * 3 - 0.7
    y = (X[:, 0] + X[:, 1] + X[:, 2] + 0.5 * rng.standard_normal(1200) > 0).astype(int)
    weights = rng.uniform(1, 2, 1200)  # equal rows of different weights
    for kernel in (RBF(0.1), Laplacian(0.1)):
        parts = parts_of(X, y, [100, 800], weights)
        form = Rows(X).in_fastest_storage(ignores_shifts=True).form()
        assert form.is_sparse
        for part in parts:
            part.rows = part.rows.formed_like(form)
        found, _ = solve(LocalShards(parts, [[0], [1, 2]]), kernel, tol=1e-6)
        check_same(X, y, kernel, found, tol=1e-6, weights=weights)


def test_distributed_frank_wolfe_is_the_degenerate_case():
    """Of what the parts find only the best vertex is used, and the step is Frank-Wolfe's
    (Bellet, Liang, Garakani, Balcan and Sha 2015): the path is that of the serial algorithm."""
    X, y = data(np.float64)
    X, y = X[:300], y[:300]
    problem = DualProblem(Rows(X), np.where(y == 1, 1.0, -1.0), np.full(300, 0.2), RBF(0.3))
    start = np.array([0, int(np.flatnonzero(y != y[0])[0])]), np.array([0.5, 0.5])
    steps = 40
    stopping = Stopping(1e-12, max_iter=steps)
    expected = solve_by(problem, FrankWolfe(), lambda problem, rng: start, stopping)
    shards = LocalShards(parts_of(X, y, [50, 51, 200]), [[0, 1], [2, 3]])
    rows = gathering_of(shards, RBF(0.3), C=5.0)
    kt = q_of(problem) + np.diag(problem.ridge)
    numbers, weights = start
    for step in range(steps):
        objective = weights @ kt[np.ix_(numbers, numbers)] @ weights
        places, core = rows.recall(numbers), CoreSet(rows.problem, np.float64)
        core.change(np.zeros(0, dtype=bool), places, np.zeros(len(places)))
        core.move_to(weights / objective)
        core.moved = 1e9 * step  # so that nothing is certain from before
        found = rows.look(core, None, lambda: None)
        candidates = np.append(rows.numbers(found.rows), numbers)
        slopes = np.append(found.margins, core.margins + core.ridge * core.coefficients)
        best = slopes.argmin()
        vertex, slope = candidates[best], slopes[best]
        length = (1 - slope) / (1 + kt[vertex, vertex] / objective - 2 * slope)
        weights = (1 - length) * weights
        if vertex not in numbers:
            numbers, weights = np.append(numbers, vertex), np.append(weights, 0.0)
        weights[numbers == vertex] += length
    objective = weights @ kt[np.ix_(numbers, numbers)] @ weights
    assert objective == pytest.approx(expected.certificate.objective, rel=1e-6)
    assert set(numbers) == set(expected.rows)


# -------------------------------------------------------------------------------------- checkpoints


def test_a_run_goes_on_where_it_was():
    X, y = data()
    shards, states = LocalShards(parts_of(X, y, [1000, 2000])), []
    rows, rng = gathering_of(shards, RBF(0.2)), np.random.default_rng(0)

    def remember(core):
        support = core.coefficients != 0
        numbers = rows.numbers(core.rows[support])
        states.append((numbers, core.coefficients[support], round(rows.level * rows.size)))

    rows.at_round = remember
    assert corrective.solve_over(rows, Stopping(1e-6), rng=rng, began=0.0).gap <= 1e-6
    assert len(states) > 3
    for numbers, coefficients, level in states[1:]:
        again = LocalShards(parts_of(X, y, [1000, 2000]))
        rows = gathering_of(again, RBF(0.2))
        point = rows.recall(numbers), coefficients
        found = corrective.solve_over(
            rows, Stopping(1e-6), point=point, level=level, rng=rng, began=0.0
        )
        check_same(X, y, RBF(0.2), rows.with_numbers_in_x(found), tol=1e-6)
        assert found.trace[0].rows_seen >= level
        assert again.asked.count("look") <= shards.asked.count("look") + 1


def test_a_checkpoint_is_what_was_saved(tmp_path):
    X, y = data()
    result, _ = solve(LocalShards(parts_of(X, y, [1000])), RBF(0.2))
    path, about = tmp_path / "fit.npz", {"C": 1.0, "rows": [1000, 2000]}
    written = Checkpoint(path, 1, about)
    half = Halfway(np.array([3, 5]), np.array([0.1, 0.2]), 750)
    written.save(0, half)
    written.save(1, Halfway(np.array([1]), np.array([1.0]), 1))
    written.save(1, result)
    read = Checkpoint(path, 1, about)
    read.load()
    assert list(read.halfway) == [0]
    np.testing.assert_array_equal(read.halfway[0].numbers, half.numbers)
    np.testing.assert_array_equal(read.halfway[0].coefficients, half.coefficients)
    assert read.halfway[0].level == 750
    again = read.done[1]
    np.testing.assert_array_equal(again.rows, result.rows)
    np.testing.assert_array_equal(again.weights, result.weights)
    assert (again.status, again.gap, again.n_iter) == (result.status, result.gap, result.n_iter)
    np.testing.assert_array_equal(again.trace, result.trace)
    assert [type(v) for v in again.trace[0]] == [type(v) for v in result.trace[0]]
    assert [p.name for p in tmp_path.iterdir()] == ["fit.npz"]


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    path = tmp_path / "fit"
    half = Halfway(np.array([3]), np.array([0.1]), 750)
    Checkpoint(path, 1, {"C": 1.0, "kernel": "a"}).save(0, half)
    with pytest.raises(ValueError, match="other kernel"):
        Checkpoint(path, 1, {"C": 1.0, "kernel": "b"}).load()
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match="damaged"):
        Checkpoint(path, 1, {"C": 1.0, "kernel": "a"}).load()
    path.write_text("something else")
    with pytest.raises(ValueError, match="not a checkpoint"):
        Checkpoint(path, 1, {"C": 1.0, "kernel": "a"}).load()
    with pytest.raises(ValueError, match="needs checkpoint"):
        Checkpoint(None, 1, {}).load()
    absent = Checkpoint(tmp_path / "absent", 1, {})
    absent.load()
    assert not absent.done
    assert not absent.halfway
