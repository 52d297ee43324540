"""The paper's experiments: the machinery on tiny data, the statistics on the paper's own tables."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import experiment_results
import pytest
from experiment_results import fill

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


# --------------------------------------------------------------------------------------- the plan


@pytest.fixture
def results(tmp_path, monkeypatch):
    """No results yet, and plans that do not need the data sets."""
    from experiments.cells import Results

    experiment_results.without_gamma(monkeypatch)
    return Results(tmp_path / "imagined.jsonl")


def measured(results, **wanted):
    return [cell for cell, _ in results.of(part="test", **wanted)]


def test_c_is_the_smallest_of_the_best_on_the_validation_part(results):
    from experiments.plan import Job

    fill(
        results,
        Job("tables", "w1a"),
        seconds=lambda cell: 1.0,
        accuracy=lambda cell: 95.0 if cell.part == "validation" and cell.C in (8, 64) else 90.0,
    )
    tuning = results.of(part="validation")
    assert sorted(cell.C for cell, _ in tuning) == [2.0**k for k in range(13)]
    assert {cell.solver for cell, _ in tuning} == {"cvm"}
    assert {cell.C for cell in measured(results)} == {8.0}
    assert len(measured(results)) == 6 * 5


def test_polynomial_tunes_with_mfw_and_leaves_out_what_cvm_refuses(results):
    from experiments.plan import Job

    def status(cell):
        return "refused: diagonal" if cell.solver == "cvm" else "ok"

    fill(results, Job("polynomial", "w1a"), seconds=lambda cell: 1.0, status=status)
    assert {cell.solver for cell, _ in results.of(part="validation")} == {"mfw"}
    assert {cell.gamma for cell in measured(results)} == {0.2}  # 1 / mean distance
    assert len(measured(results, solver="cvm")) == 1


@pytest.mark.parametrize(
    ("seconds", "repetitions"), [(1, 5), (12, 5), (12.1, 4), (29, 2), (31, 1), (500, 1)]
)
def test_repetitions_stay_within_the_budget(results, seconds, repetitions):
    from experiments.plan import Job

    fill(results, Job("tables", "w1a"), seconds=lambda cell: seconds)
    assert len(measured(results, solver="fw")) == repetitions


def test_the_largest_set_is_run_once_and_last(results):
    from experiments.plan import Job, jobs

    fill(results, Job("tables", "KDD-full"), seconds=lambda cell: 0.1)
    assert len(measured(results, solver="cvm")) == 1
    order = jobs()
    assert order[-1] == Job("tables", "KDD-full")
    assert [job.experiment for job in order[:22]] == ["tables"] * 22
    assert len({job.set for job in order}) == 23  # of 26, three are absent


def test_the_grid_goes_from_coarse_to_fine(results):
    from math import log2

    from experiments.plan import Job

    def closeness(cell):
        sigma_squared = 0.5 / cell.gamma
        return -abs(log2(sigma_squared) - 2) - abs(log2(cell.C) - 5)

    fill(results, Job("tables", "USPS"), seconds=lambda cell: 0.1, accuracy=closeness)
    (best,) = {(0.5 / cell.gamma, cell.C) for cell in measured(results)}
    assert best == (4.0, 32.0)
    assert len(results.of(part="folds")) < 36 + 8 + 8 + 1


def test_expected_seconds_are_those_of_the_same_kind(results):
    from experiments.plan import Job, expected_seconds, missing

    job = Job("tables", "w1a")
    fill(results, job, seconds=lambda cell: 2.0)
    other = Job("tables", "w2a")
    left = missing(other, results)
    assert len(left) == 13 + 6 * 5
    growth = 3470 / 2477  # rows
    assert expected_seconds(left, results) == pytest.approx(2.0 * growth * len(left))
    (largest, *_) = missing(Job("tables", "KDD-full"), results)
    assert expected_seconds([largest], results) == 20.0  # the limit


# ------------------------------------------------------------------------------------- the report


def speeds(of_solver):
    return lambda cell: of_solver.get(cell.solver, 1.0)


@pytest.fixture
def web(results):
    """All Web sets, where FW is ten times as fast and less accurate, and MFW twice as slow."""
    from experiments.plan import Job

    for number in range(1, 9):
        fill(
            results,
            Job("tables", f"w{number}a"),
            seconds=speeds({"cvm": 2.0, "fw": 0.2 / number, "mfw": 4.0, "auto": 0.1}),
            accuracy=lambda cell: {"fw": 95.0 - cell.seed / 10, "mfw": 97.0}.get(cell.solver, 98.0),
        )
    return results


def verdicts(part):
    from experiments.page import Table

    (table,) = (b for b in part.blocks if isinstance(b, Table))
    return {row["the paper says"]: row["here it"] for row in table.rows}


def test_claims_are_judged_by_the_data(web):
    from experiments import conclusions

    judged = verdicts(conclusions.part(web))
    assert judged["FW is faster than CVM"] == "holds"
    assert judged["MFW is faster than CVM"] == "does not hold"
    assert judged["CVM is more accurate than FW"] == "holds"
    assert judged["MFW is more accurate than FW"] == "holds"
    assert judged["The loss of accuracy is usually lower than 1 %"] == "does not hold"
    assert judged["FW is faster than CVM on every Web set"] == "holds"
    assert judged["FW and MFW do not differ significantly in time"] == "does not hold"
    assert not any("Adult" in claim for claim in judged)  # not run
    text = str(conclusions.part(web).blocks)
    assert "stopping early" in text  # gap 0.5, and the exact solution is 3 points better
    assert "on 8 of 8 sets" in text


def test_the_report_is_one_file_and_shows_what_was_stored(web, tmp_path):
    pytest.importorskip("matplotlib")
    from experiments.report import write_report

    page = write_report(web, tmp_path / "report").read_text()
    assert "http" not in page.replace("http-equiv", "")
    assert 'src="data:image/png;base64,' in page
    folder = tmp_path / "report"
    with (folder / "table_2_accuracy.csv").open() as file:
        w3a = next(row for row in csv.DictReader(file) if row["set"] == "w3a")
    assert float(w3a["FW"]) == pytest.approx(94.8)  # the mean of 95.0 ... 94.6
    assert float(w3a["FW, paper"]) == 97.31
    markdown = (folder / "index.md").read_text()
    assert "94.80 ± 0.2" in markdown
    assert (folder / "figure_web.png").read_bytes()[:4] == b"\x89PNG"


def test_a_report_of_nothing_says_so(results, tmp_path):
    pytest.importorskip("matplotlib")
    from experiments.report import write_report

    page = write_report(results, tmp_path / "report").read_text()
    assert "Too little was run yet" in page
    assert "Nothing was run yet" in page


def test_stopped_cells_are_marked_and_listed_as_cut(results):
    from experiments import setting, tables_2_3
    from experiments.page import markdown
    from experiments.plan import Job

    fill(results, Job("tables", "w1a"), seconds=speeds({"fw": 1e9, "mfw": 40.0}))
    shown = markdown([tables_2_3.part(results), setting.part(results)], "x")
    assert "120*" in shown
    assert "| tables | w1a | FW | 1 | 1 | stopped after 120 s |" in shown
    assert "| tables | w1a | MFW | 1 | 1 | budget of repetitions |" in shown


def test_numbers_are_shown_without_exponents():
    from experiments.page import _shown

    assert _shown(2060.4, "3") == "2,060"
    assert _shown(0.07184, "3") == "0.0718"
    assert _shown(9.996, "3") == "10.00"
    assert _shown((3.14159, "*"), ".2f") == "3.14*"
    assert _shown(None, ".2f") == _shown(float("nan"), ".2f") == ""


def test_the_quick_run_finds_what_is_not_as_stored(web, tmp_path):
    from experiments.cells import Results
    from experiments.quick import differences

    again = tmp_path / "again.jsonl"
    again.write_text(web.path.read_text())
    assert not list(differences(Results(again), web))
    lines = again.read_text().splitlines()
    place, row = next(
        (i, json.loads(line)) for i, line in enumerate(lines) if '"part": "test"' in line
    )
    row["accuracy"] -= 1.0
    lines[place] = json.dumps(row)
    again.write_text("\n".join(lines) + "\n")
    (found,) = differences(Results(again), web)
    assert "accuracy" in found


def test_the_report_in_the_repository_is_made_from_the_stored_results(tmp_path):
    pytest.importorskip("matplotlib")
    from experiments.cells import RESULTS, Results
    from experiments.page import Table, markdown
    from experiments.report import PARTS, REPORT, TITLE

    if not RESULTS.exists():
        pytest.skip("the full run is not stored yet")
    parts = [part.part(Results(RESULTS)) for part in PARTS]
    assert (REPORT / "index.md").read_text() == markdown(parts, TITLE)
    for table in (block for part in parts for block in part.blocks if isinstance(block, Table)):
        assert (REPORT / f"{table.name}.csv").read_text() == table.csv()


@pytest.mark.slow
def test_the_quick_run_agrees_with_the_stored_results(data_folder):
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "--quick"],
        cwd=ROOT,
        env={**os.environ, "FWSVM_DATA": str(data_folder)},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "cells" in done.stdout


def test_results_of_two_rules_do_not_mix(tiny, run_cells):
    from experiments.summary import summaries

    assert len(summaries(run_cells(tiny), "tables")) == len(tiny)
    with pytest.raises(ValueError, match="take the lines"):
        summaries(run_cells([replace(tiny[0], C=1.0)]), "tables")


def test_what_was_stopped_while_others_used_the_cpu_can_be_forgotten(web):
    from experiments.cells import Results, is_disturbed

    text = web.path.read_text()
    assert web.forget(is_disturbed) == 0
    assert web.path.read_text() == text
    cell, row = next(iter(web))
    row["fit_wall_seconds"] = 2 * row["fit_seconds"]
    assert web.forget(is_disturbed) == 1
    stored = Results(web.path)
    assert cell not in stored
    assert len(stored) == len(text.splitlines()) - 2  # a line is the environment
    assert stored.environments == web.environments
