"""`fwsvm tune`: the grid, and that it is cross-validation."""

import json
import signal
from pathlib import Path

import click
import numpy as np
import pytest
from command_line import FILES, Terminal, X, Y, fwsvm, hard_rows, here, needs_terminal

from fwsvm import SVC, load_model
from fwsvm.cli.tune import Values

pytestmark = pytest.mark.usefixtures("own_folder")


def test_tune_finds_the_best_of_the_grid():
    Path("rows.csv").write_bytes(FILES["rows.csv"])
    out, err = fwsvm(
        "tune",
        "rows.csv",
        "--target",
        "kind",
        "-C",
        "0.1:10",
        "--gamma",
        "0.01,0.1,1",
        "--folds",
        "3",
        "--plot",
        "map.png",
        "-o",
        "best",
        "--scale",
        "minmax",
        "--json",
    )
    result = json.loads(out)
    scores = np.array(result["grid"]["scores"])
    assert scores.shape == (3, 3)
    assert result["accuracy"] == scores.max()
    place = result["grid"]["gamma"].index(result["gamma"]), result["grid"]["C"].index(result["C"])
    assert scores[place] == scores.max()
    best = load_model("best").svc
    assert (best.C, best.gamma) == (result["C"], result["gamma"])
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")
    assert "wrote best" in err
    out, _ = here(
        "tune",
        "rows.csv",
        "--target",
        "kind",
        "--kernel",
        "linear",
        "--folds",
        "2",
        "--score",
        "f1-macro",
        "--multiclass",
        "ovr",
    )
    assert "f1-macro of 2 folds" in out


def test_tuning_is_cross_validation():
    from sklearn.metrics import accuracy_score
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    from fwsvm.data import Table
    from fwsvm.tuning import search

    for n_jobs in (1, 2):
        grid = search(
            Table(X, Y),
            SVC(tol=1e-6, n_jobs=n_jobs),
            [1.0, 100.0],
            [0.1, 1.0],
            scale="none",
            n_folds=4,
            score=accuracy_score,
            seed=3,
        )
        for i, gamma in enumerate((0.1, 1.0)):
            for j, C in enumerate((1.0, 100.0)):
                folds = StratifiedKFold(4, shuffle=True, random_state=3)
                expected = cross_val_score(SVC(C=C, gamma=gamma, tol=1e-6), X, Y, cv=folds)
                np.testing.assert_array_equal(grid.folds[i, j], expected)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", (1.0,)),
        ("10,0.1,1", (0.1, 1.0, 10.0)),
        ("0.01:100", (0.01, 0.1, 1.0, 10.0, 100.0)),
        ("1:8:2", (1.0, 2.0, 4.0, 8.0)),
        ("1:7:2", (1.0, 2.0, 4.0)),
    ],
)
def test_values_of_the_grid(text, values):
    assert Values().convert(text, None, None) == values


@pytest.mark.parametrize("text", ["", "a", "0,1", "-1", "10:1", "1:10:1", "1:inf", "nan"])
def test_grids_that_make_no_sense(text):
    with pytest.raises(click.BadParameter):
        Values().convert(text, None, None)


# ---------------------------------------------------------------------------------------- Ctrl-C

# The fits of the first C are over at once, those of the second take forever.
ENDLESS = ["--solver", "fw", "--tol", "1e-7", "-C", "0.0001,1000", "--gamma", "1", "--folds", "2"]


@needs_terminal
def test_ctrl_c_once_ends_with_what_was_measured():
    Path("hard.libsvm").write_bytes(hard_rows())
    run = Terminal("tune", "hard.libsvm", *ENDLESS, "--json", "-o", "m", "--plot", "map.png")
    run.read_until(r"fit 1 of 4")
    run.process.send_signal(signal.SIGINT)
    run.read_until("Finishing with the best so far")
    code, out = run.end()
    assert code == 0, run.text
    result = json.loads(out)
    assert result["C"] == 0.0001
    (score, nothing) = result["grid"]["scores"][0]
    assert 0 < score < 1
    assert nothing is None
    assert result["stopped"] is True
    assert load_model("m").svc.C == 0.0001
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")


@needs_terminal
def test_ctrl_c_before_anything_was_measured_is_a_failure():
    Path("hard.libsvm").write_bytes(hard_rows())
    options = [text if text != "0.0001,1000" else "1000" for text in ENDLESS]
    run = Terminal("tune", "hard.libsvm", *options, "-o", "m")
    run.read_until("starting")
    run.process.send_signal(signal.SIGINT)
    code, out = run.end()
    assert (code, out) == (1, "")
    assert "stopped before any point of the grid was measured" in run.text
    assert not Path("m").exists()
