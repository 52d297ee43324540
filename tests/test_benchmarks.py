"""The comparison with other trainers, on a problem so small that only its machinery is tested."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGALRM"), reason="the limit of a run is an alarm, which is not here"
)
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SMALL = ["--threads", "1", "--repeats", "2", "--limit", "60"]


def run(script, *arguments):
    command = [sys.executable, str(BENCHMARKS / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import peers_tables

    return peers_tables


def test_peers_writes_merges_and_shows_results(tmp_path):
    output = tmp_path / "peers.json"
    wanted = [*SMALL, "--output", str(output), "--sets", "generated@600", "--trainers"]
    first = run("peers.py", *wanted, "scikit-learn")
    assert first.returncode == 0, first.stderr
    both = run("peers.py", *wanted, "fwsvm")
    assert both.returncode == 0, both.stderr
    content = json.loads(output.read_text())
    assert content["environment"]["threads"] == 1
    assert "scikit-learn" in content["environment"]
    rows = {row["trainer"]: row for row in content["rows"]}
    assert set(rows) == {"scikit-learn", "fwsvm"}
    for row in rows.values():
        assert row["status"] == "ok"
        assert row["repeats"] == len(row["all_fit_seconds"]) in (1, 2)  # 1: the other was disturbed
        assert min(row["all_fit_seconds"]) > 0
        assert row["predict_seconds"] > 0
        assert 80 < row["accuracy"] <= 100
        assert 0 < row["n_support"] <= 600
    assert rows["fwsvm"]["converged"] == 1
    assert 0 <= rows["fwsvm"]["gap"] <= 1e-3
    assert rows["fwsvm"]["peak_mb"] > rows["fwsvm"]["data_mb"] > 0
    assert f"{rows['fwsvm']['accuracy']:.2f}" in both.stdout
    assert "*" in both.stdout  # measured in different runs


def test_results_of_other_versions_do_not_mix(tmp_path):
    output = tmp_path / "peers.json"
    old = {"environment": {"cpu": "another"}, "rows": [{"set": "a9a", "trainer": "fwsvm"}]}
    output.write_text(json.dumps(old))
    wanted = ["--output", str(output), "--sets", "generated@200", "--trainers", "fwsvm"]
    done = run("peers.py", *SMALL, *wanted)
    assert done.returncode == 0, done.stderr
    assert "begins anew" in done.stdout
    assert [row["set"] for row in json.loads(output.read_text())["rows"]] == ["generated@200"]


def test_a_run_past_its_limit_says_so():
    code = "import trainers, json; " + (
        "print(json.dumps(trainers.run('generated@3000', 'scikit-learn', threads=1, limit=1e-3)))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, cwd=BENCHMARKS
    )
    measured = json.loads(done.stdout)
    assert measured["status"] == "> 0.001 s"
    assert "fit_seconds" not in measured


def test_an_absent_trainer_fails_with_its_name(tables):
    from runner import ending

    errors = "x\nModuleNotFoundError: No module named 'y'\n"
    assert ending(1, errors, 1) == "failed: ModuleNotFoundError: No module named 'y'"
    assert ending(-6, "", 1) == "died of SIGABRT"
    assert ending(0, "a warning", 1) == "ok"


def test_unknown_set_is_refused():
    done = run("peers.py", "--sets", "nothing", "--tables")
    assert done.returncode == 2
    assert "nothing" in done.stderr


def result(trainer, fit, accuracy, predict=1.0, **more):
    row = {"set": "usps", "trainer": trainer, "status": "ok", "run": "now", "n_support": 7}
    return row | {"fit_seconds": fit, "predict_seconds": predict, "accuracy": accuracy} | more


def test_bars_are_measured_against_the_fastest_peer(tables):
    from problems import PROBLEMS

    of_set = {
        "fwsvm": result("fwsvm", 1.0, 95.0, 0.01),
        "scikit-learn": result("scikit-learn", 4.0, 95.1, 0.2),
        "sklearnex": result("sklearnex", 1.6, 92.0, 0.02),
        "nystroem": result("nystroem", 0.5, 94.0),
    }
    usps = PROBLEMS["usps"]
    fit = tables.fit_cells(usps, of_set)
    assert (fit["ours / fastest"], fit["bar"]) == ("0.625", "<= 0.5 NO")
    of_set["sklearnex"]["fit_seconds"] = 2.0
    assert tables.fit_cells(usps, of_set)["bar"] == "<= 0.5 yes"
    of_set["nystroem"]["accuracy"] = 95.0  # now as good as the others, so it counts
    assert tables.fit_cells(usps, of_set)["ours / fastest"] == "2"
    assert tables.accuracy_cells(usps, of_set)["bar"] == ">= -0.15 yes"
    of_set["fwsvm"]["accuracy"] = 94.9
    assert tables.accuracy_cells(usps, of_set)["bar"] == ">= -0.15 NO"
    prediction = tables.prediction_cells(usps, of_set)
    assert (prediction["bar 30"], prediction["bar 1"]) == ("NO", "yes")


def test_disturbed_runs_count_only_without_better_ones(tables):
    from peers import _median

    runs = [
        {"status": "ok", "fit_seconds": s, "cpus_of_others": o} for s, o in ((1, 0.0), (9, 1.0))
    ]
    assert _median(runs)["fit_seconds"] == 1
    assert _median(runs[1:])["fit_seconds"] == 9
    failed = {"status": "> 5 s", "cpus_of_others": 0.0}
    assert _median([runs[0], failed])["status"] == "> 5 s"


def test_slope_of_growth(tables):
    from growth import exponent

    assert exponent([1, 10, 100], [3, 30, 300]) == pytest.approx(1)
    assert exponent([1, 10, 100], [1, 100, 10_000]) == pytest.approx(2)
