"""The paper's experiments: the machinery on tiny data, the statistics on the paper's own tables."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGALRM"), reason="the limit of a run is an alarm, which is not here"
)


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def tiny():
    """Cells of a problem so small that only the machinery is tested."""
    from experiments.cells import Cell

    first = Cell("tables", "generated@150", "cvm", C=4.0, gamma=0.1, limit=20.0)
    return [replace(first, solver=solver) for solver in ("cvm", "mfw", "auto")]


@pytest.fixture
def run_cells(tmp_path):
    """Runs cells as a job; the results."""
    from experiments.cells import Results
    from experiments.plan import Job
    from experiments.run import run

    path = tmp_path / "results" / "cells.jsonl"

    def run_them(cells, workers=1):
        results = Results(path)

        def missing(job, results):
            return [cell for cell in cells if cell not in results]

        left = run([Job("tables", "x")], results, workers=workers, missing_of=missing)
        assert left == 0
        return results

    return run_them


# --------------------------------------------------------------------------------------- the runner


def test_cells_are_measured_and_kept(tiny, run_cells):
    from experiments.cells import Results, is_stopped, seconds

    cells = [*tiny, replace(tiny[0], part="folds"), replace(tiny[1], part="validation", seed=1)]
    results = run_cells(cells)
    stored = Results(results.path)
    assert dict(iter(stored)) == dict(iter(results))
    for cell in cells:
        row = stored[cell]
        assert row["status"] == "ok"
        assert 60 < row["accuracy"] <= 100
        assert 0 <= row["gap"] < 1
        assert 0 < row["n_support"] <= row["n_train"] * (len(cells) + 5)
        assert 0 < seconds(row) <= row["fit_seconds"]
        assert not is_stopped(row)
        assert row["commit"]
    assert stored[cells[0]]["n_train"] == 150
    assert stored[cells[3]]["n_train"] == 9 * 150  # ten folds
    assert stored[cells[4]]["n_train"] + stored[cells[4]]["n_test"] == 150
    (environment,) = stored.environments.values()
    assert environment["threads"] == 1
    assert {"cpu", "numpy", "fwsvm"} <= set(environment)


def test_finished_cells_are_not_run_again(tiny, run_cells):
    first = run_cells(tiny[:2])
    before = first.path.read_text()
    again = run_cells(tiny)
    after = again.path.read_text()
    assert after.startswith(before)
    assert len(after.splitlines()) == len(before.splitlines()) + 1


def test_a_line_cut_off_in_writing_is_run_again(tiny, run_cells):
    results = run_cells(tiny[:2])
    text = results.path.read_text()
    results.path.write_text(text[:-30])
    assert len(run_cells(tiny[:2])) == 2
    assert len(results.path.read_text().splitlines()) == len(text.splitlines())


def test_what_a_solver_refuses_is_a_result(tiny, run_cells):
    refused = replace(tiny[0], kernel="poly")
    row = run_cells([refused, tiny[0]])[refused]
    assert row["status"].startswith("refused: ")
    assert "diagonal" in row["status"]


def test_a_fit_past_its_limit_is_marked(tiny, run_cells):
    from experiments.cells import is_stopped

    slow = replace(tiny[1], solver="fw", set="generated@2000", C=100.0, limit=0.05)
    row = run_cells([slow])[slow]
    assert is_stopped(row)
    assert row["statuses"]["max_time"] > 0
    assert row["gap"] > 0
    folds = replace(slow, part="folds")
    assert run_cells([folds])[folds]["n_train"] == 1800  # one of the ten


def test_a_worker_that_dies_costs_one_cell(tiny):
    from experiments.worker import Worker

    worker = Worker()
    worker._start()
    worker.stop()
    assert worker.run(tiny[0])["status"] == "died of SIGKILL"
    assert worker.run(tiny[0])["status"] == "ok"
    worker.close()


RUN = """
import sys
from dataclasses import replace
from pathlib import Path
from experiments.cells import Cell, Results
from experiments.plan import Job
from experiments.run import run

first = Cell("tables", "generated@150", "auto", C=1.0, gamma=0.1, limit=20.0)
slow = replace(first, set="generated@4000", solver="fw", C=1e4, limit=60.0)
cells = [replace(first, seed=seed) for seed in range(3)] + [slow]
def missing(job, results):
    return [cell for cell in cells if cell not in results]
run([Job("tables", "x")], Results(Path(sys.argv[1])), workers=1, missing_of=missing)
"""


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_run_that_is_ended_keeps_its_finished_cells(tmp_path, how):
    path = tmp_path / "cells.jsonl"
    with subprocess.Popen([sys.executable, "-c", RUN, str(path)], cwd=ROOT, stderr=-3) as process:
        wait_until(lambda: path.exists() and len(path.read_text().splitlines()) == 4)
        time.sleep(0.5)  # into the slow cell
        workers = children_of(process.pid)
        process.send_signal(getattr(signal, how))
        process.wait(timeout=10)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row.get("seed") for row in rows] == [None, 0, 1, 2]
    assert workers
    wait_until(lambda: not any(is_running(worker) for worker in workers))


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def children_of(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    if not listed.exists():
        pytest.skip("processes cannot be listed here")
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_results_of_another_machine_are_moved_away(tiny, run_cells, capsys):
    from experiments.run import results_of_here

    path = run_cells(tiny[:1]).path
    assert len(results_of_here(path)) == 1
    text = path.read_text().replace('"threads": 1', '"threads": 64')
    path.write_text(text)
    assert len(results_of_here(path)) == 0
    assert "measured elsewhere" in capsys.readouterr().err
    assert path.with_suffix(".1.jsonl").read_text() == text


def test_results_of_two_rules_do_not_mix(tiny, run_cells):
    from experiments.summary import summaries

    assert len(summaries(run_cells(tiny), "tables")) == len(tiny)
    with pytest.raises(ValueError, match="take the lines"):
        summaries(run_cells([replace(tiny[0], C=1.0)]), "tables")


# ------------------------------------------------------------------------------------ statistics


def test_the_paper_s_tables_give_the_paper_s_statistics():
    from experiments.significance import printed, tests_of_paper

    ours = {(test.quantity, test.name): test for test in tests_of_paper()}
    papers = {(test.quantity, test.name): test for test in printed()}
    assert set(ours) == set(papers)
    for key, statistic in (("fw_cvm", 17), ("mfw_cvm", 20), ("fw_mfw", 159)):
        assert ours["time", key].statistic == statistic == papers["time", key].statistic
        assert ours["time", key].p == pytest.approx(papers["time", key].p, rel=1e-3)
    assert ours["time", "friedman"].statistic == pytest.approx(14.858, abs=5e-4)
    # The paper's p of F is that of both tails.
    assert 2 * ours["time", "friedman"].p == pytest.approx(papers["time", "friedman"].p, rel=5e-3)
    # The printed accuracies are rounded, which makes ties.
    assert ours["accuracy", "fw_cvm"].statistic == 19
    assert ours["accuracy", "mfw_cvm"].statistic == 48.5
    assert ours["accuracy", "fw_mfw"].statistic == pytest.approx(63.5, abs=5)
    assert ours["accuracy", "friedman"].statistic == pytest.approx(11.879, abs=0.5)


def test_wilcoxon_against_the_ranks_by_hand():
    from experiments.significance import wilcoxon

    # differences 1 -2 3 4 5: the smaller sum of ranks is 2; of 32 signs 3 make it that small
    statistic, p = wilcoxon([1, 0, 3, 4, 5], [0, 2, 0, 0, 0], "two-sided")
    assert (statistic, p) == (2, 6 / 32)
    assert wilcoxon([0, 2, 0, 0, 0], [1, 0, 3, 4, 5], "less")[1] == 3 / 32
    # Pratt: a zero takes rank 1, and is then left out
    assert wilcoxon([1, 0, 3, 4, 5, 7], [0, 2, 0, 0, 0, 7], "less")[0] == 3


def test_friedman_by_hand():
    from experiments.significance import friedman

    # ranks 123 123 123 132: sums 4, 9, 11; chi^2 = 12 / (4 3 4) (16 + 81 + 121) - 3 4 4 = 6.5
    F, p = friedman([[1, 1, 1, 1], [2, 2, 2, 3], [3, 3, 3, 2]])
    assert pytest.approx(3 * 6.5 / (8 - 6.5)) == F
    assert 0 < p < 0.05
