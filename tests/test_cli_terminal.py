"""What a terminal shows, Ctrl-C, and beginning at an earlier model."""

import json
import re
import signal
from pathlib import Path

import pytest
from command_line import (
    FILES,
    Terminal,
    as_libsvm,
    hard_rows,
    here,
    needs_terminal,
    rows_of_three_classes,
)

from fwsvm import load_model

pytestmark = pytest.mark.usefixtures("own_folder")


def test_warm_start_begins_at_the_model_that_is_there():
    Path("rows.libsvm").write_bytes(as_libsvm(*rows_of_three_classes(600)))
    cold = json.loads(here("train", "rows.libsvm", "--solver", "mfw", "--warm-start", "--json")[0])
    warm = json.loads(here("train", "rows.libsvm", "--solver", "mfw", "--warm-start", "--json")[0])
    assert warm["iterations"] < cold["iterations"] / 4
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    _, err = here("train", "rows.libsvm", "--solver", "mfw", "--warm-start")
    assert "of another number of rows: no warm start" in err


@needs_terminal
def test_a_terminal_sees_the_line_move_and_ctrl_c_keeps_the_best_so_far():
    Path("hard.libsvm").write_bytes(hard_rows())
    run = Terminal(
        "train", "hard.libsvm", "--solver", "fw", "--tol", "1e-9", "-C", "1000", "--json"
    )
    run.read_until(r"rows seen 3,000 of 3,000  working set \d+  support vectors \d+  gap .*  \d")
    run.process.send_signal(signal.SIGINT)
    run.read_until("Finishing with the best so far")
    code, out = run.end()
    assert code == 0, run.text
    result = json.loads(out)
    assert result["status"] == {"stopped": 1}
    assert 1e-9 < result["gap"] < 1
    assert re.search(r"Warning: The fit ended early with a relative duality gap", run.text)
    assert load_model("hard.fwsvm").svc.gap_[0] == result["gap"]


@needs_terminal
@pytest.mark.parametrize("command", [["train"], ["tune", "--folds", "2"]])
def test_ctrl_c_twice_stops(command):
    """The first may be enough before the second comes; not five times in a row."""
    Path("hard.libsvm").write_bytes(hard_rows())
    for _ in range(5):
        options = ["--solver", "fw", "--tol", "1e-9", "-C", "1000", "--gamma", "1"]
        run = Terminal(*command, "hard.libsvm", *options, "-o", "m")
        run.read_until(r"rows seen 3,000" if command == ["train"] else "starting")
        run.process.send_signal(signal.SIGINT)
        run.read_until("Finishing with the best so far")
        run.process.send_signal(signal.SIGINT)
        code, out = run.end()
        assert "Traceback" not in run.text
        if "Aborted!" in run.text:
            assert (code, out) == (1, "")
            assert sorted(file.name for file in Path().iterdir()) == ["hard.libsvm"]
            return
        Path("m").unlink(missing_ok=True)
    pytest.fail(run.text)


@needs_terminal
def test_quiet_is_quiet_on_a_terminal_too():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    run = Terminal("train", "rows.libsvm", "--quiet")
    assert run.end() == (0, "")
    assert run.text == ""
