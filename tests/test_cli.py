"""The command line, through its real entry point in its own process."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import numpy as np
import pyarrow.feather
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from fwsvm import SVC, load_model
from fwsvm.cli import main
from fwsvm.cli.parameters import Value
from fwsvm.cli.tune import Values
from fwsvm.data import read

PROGRAM = [sys.executable, "-m", "fwsvm"]


def fwsvm(*arguments, code=0, stdin=b"", **environment):
    """Standard output and standard error of a run that ends with this exit code."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        input=stdin,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done.stdout.decode(), done.stderr.decode()


def here(*arguments, code=0):
    """The same in this process, where a case needs no process of its own."""
    done = CliRunner().invoke(main, list(map(str, arguments)))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done.stdout, done.stderr


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows_of_three_classes(n=150, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = (rng.standard_normal((n, 4)) + 2 * np.eye(3, 4)[y]).astype(np.float32)
    return X, y


def as_libsvm(X, y):
    lines = (
        " ".join([str(label), *(f"{k + 1}:{v!r}" for k, v in enumerate(row) if v)])
        for label, row in zip(y, X.tolist(), strict=True)
    )
    return ("\n".join(lines) + "\n").encode()


def as_csv(X, y, separator=","):
    lines = [separator.join(["a", "b", "c", "d", "kind"])]
    lines += [
        separator.join([*map(repr, row), f"k{k}"]) for row, k in zip(X.tolist(), y, strict=True)
    ]
    return ("\n".join(lines) + "\n").encode()


def as_table(X, y):
    columns = {name: X[:, k] for k, name in enumerate("abcd")}
    return pyarrow.table({**columns, "kind": [f"k{k}" for k in y]})


def written(write):
    sink = io.BytesIO()
    write(sink)
    return sink.getvalue()


X, Y = rows_of_three_classes()
FILES = {
    "rows.libsvm": as_libsvm(X, Y),
    "rows.gz": gzip.compress(as_libsvm(X, Y)),
    "rows.bz2": bz2.compress(as_libsvm(X, Y)),
    "rows.xz": lzma.compress(as_libsvm(X, Y)),
    "rows.csv": as_csv(X, Y),
    "rows.tsv.gz": gzip.compress(as_csv(X, Y, "\t")),
    "rows.parquet": written(lambda sink: pyarrow.parquet.write_table(as_table(X, Y), sink)),
    "rows.feather": written(lambda sink: pyarrow.feather.write_feather(as_table(X, Y), sink)),
    "rows.npz": written(lambda sink: np.savez(sink, X=X, y=Y)),
}


# ---------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_trained_on_and_predicted(name):
    Path(name).write_bytes(FILES[name])
    has_columns = not name.endswith((".libsvm", "rows.gz", "rows.bz2", "rows.xz", ".npz"))
    target = ["--target", "kind"] if has_columns else []
    here("train", name, *target, "--quiet", "-C", 10)
    stored = load_model("rows.fwsvm")
    out, _ = here("predict", "rows.fwsvm", name)
    table = read(name, target="kind" if target else None)
    assert out.split() == [str(label) for label in stored.predict(table)]
    assert stored.score(table) > 0.9
    out, _ = here("evaluate", "rows.fwsvm", name, "--json")
    assert json.loads(out)["accuracy"] == stored.score(table)


def test_standard_input_and_output():
    out, err = fwsvm("train", "-", "-o", "m", "--json", stdin=FILES["rows.xz"])
    assert json.loads(out)["rows"] == 150
    assert err == ""
    out, err = fwsvm("predict", "m", "-", stdin=FILES["rows.gz"])
    assert len(out.split()) == 150
    assert err == ""
    _, err = fwsvm("train", "-", stdin=FILES["rows.xz"], code=2)
    assert "name the model with -o" in err


# ---------------------------------------------------------------------------------------- commands


def test_train_shows_what_came_out():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    out, err = fwsvm("train", "rows.libsvm", "--validate", "0.3", "--gamma", "0.2")
    assert re.search(r"accuracy\s+\d\d\.\d\d% on 45 held-out rows", out)
    assert re.search(r"rows\s+105 of 4 features", out)
    assert re.search(r"gap\s+\d\.\d\de-\d\d \(converged 3; tol 0.001\)", out)
    for word in ("support vectors", "RBF(gamma=0.2), C=1", "training", "memory", "rows.fwsvm"):
        assert word in out
    assert err == ""  # no progress where nobody looks
    svc = load_model("rows.fwsvm").svc
    assert svc.gamma == 0.2


def test_train_validates_on_another_file_and_plots():
    Path("rows.csv").write_bytes(FILES["rows.csv"])
    Path("other.csv").write_bytes(as_csv(*rows_of_three_classes(60, seed=1)))
    out, _ = fwsvm(
        "train",
        "rows.csv",
        "--target",
        "kind",
        "--scale",
        "standard",
        "--validate",
        "other.csv",
        "--plot",
        "p.png",
        "--json",
        "-o",
        "m",
    )
    result = json.loads(out)
    assert result["validation"]["rows"] == 60
    assert result["validation"]["accuracy"] > 0.8
    assert result["preparation"] == ["scale: standard"]
    assert result["converged"] is True
    assert result["gap"] <= 1e-3
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_categories_are_named_and_remembered():
    Path("t.csv").write_bytes(b"size,colour,kind\n1,red,a\n2,blue,b\n1,red,a\n3,blue,b\n")
    _, err = here("train", "t.csv", "--target", "kind")
    assert "column 'colour': one-hot, 2 categories" in err
    Path("new.csv").write_bytes(b"colour,size\nred,1\ngreen,3\n")
    out, err = here("predict", "t.fwsvm", "new.csv")
    assert out.split()[0] == "a"
    assert "Warning: column 'colour' has categories" in err
    _, err = here("predict", "t.fwsvm", "new.csv", "--quiet")
    assert err == ""
    out, _ = here("info", "t.fwsvm")
    assert "one-hot" in out


def test_predict_writes_scores():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    here("train", "rows.libsvm", "--quiet")
    here("predict", "rows.fwsvm", "rows.libsvm", "--scores", "-o", "out.csv")
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0] == "label,0,1,2"
    values = np.array([line.split(",")[1:] for line in lines[1:]], dtype=float)
    model = load_model("rows.fwsvm")
    expected = model.decision_function(read("rows.libsvm"))
    np.testing.assert_array_equal(values, expected)
    out, _ = here("predict", "rows.fwsvm", "rows.libsvm", "--scores", "--json")
    np.testing.assert_array_equal(json.loads(out)["scores"], expected)
    assert sorted(file.name for file in Path().iterdir()) == [
        "out.csv",
        "rows.fwsvm",
        "rows.libsvm",
    ]


def test_large_text_is_predicted_piece_by_piece(monkeypatch):
    monkeypatch.setattr("fwsvm.cli.inputs._ROWS_OF_BLOCK", 7)
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    here("train", "rows.libsvm", "--quiet")
    out, _ = here("predict", "rows.fwsvm", "rows.libsvm")
    assert out.split() == [str(k) for k in load_model("rows.fwsvm").predict(read("rows.libsvm"))]


def test_evaluate_counts():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    here("train", "rows.libsvm", "--quiet")
    result = json.loads(here("evaluate", "rows.fwsvm", "rows.libsvm", "--json")[0])
    predicted = load_model("rows.fwsvm").predict(read("rows.libsvm"))
    for k, row in enumerate(result["classes"]):
        both = ((predicted == k) & (k == Y)).sum()
        assert row["precision"] == pytest.approx(both / (predicted == k).sum())
        assert row["recall"] == pytest.approx(both / (k == Y).sum())
        assert sum(result["confusion"][k]) == row["rows"] == 50
    out, _ = here("evaluate", "rows.fwsvm", "rows.libsvm")
    assert "precision" in out
    assert "predicted as" in out
    out, _ = here("evaluate", "rows.fwsvm", "rows.libsvm", "--quiet")
    assert float(out) == pytest.approx(result["accuracy"], abs=1e-6)


def test_evaluate_of_many_classes_names_the_worst_confusions():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 20
    Path("many.libsvm").write_bytes(as_libsvm(rng.standard_normal((400, 3)), y))
    here("train", "many.libsvm", "--quiet")
    assert "predicted as" in here("evaluate", "many.fwsvm", "many.libsvm")[0]


def test_classes_that_cannot_be_compared_are_refused():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    Path("rows.csv").write_bytes(FILES["rows.csv"])
    here("train", "rows.libsvm", "--quiet")
    _, err = here("evaluate", "rows.fwsvm", "rows.csv", "--target", "kind", code=1)
    assert "cannot be compared" in err


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


def test_info_says_what_is_in_a_file():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    here("train", "rows.libsvm", "--quiet", "-C", 3)
    out, _ = here("info", "rows.fwsvm")
    for word in ("rbf gamma=", "C=3", "3: 0, 1, 2", "of 150 rows", "converged 3", "fwsvm 0."):
        assert word in out
    header = json.loads(here("info", "rows.fwsvm", "--json")[0])
    assert header["parameters"]["C"] == 3
    content = Path("rows.fwsvm").read_bytes()
    Path("rows.fwsvm").write_bytes(content[:-5])
    _, err = fwsvm("info", "rows.fwsvm", "--quiet", code=1)
    assert "Error: rows.fwsvm: damaged, cut short" in err


def test_export_and_models_of_libsvm():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    here("train", "rows.libsvm", "--quiet")
    labels = here("predict", "rows.fwsvm", "rows.libsvm")[0]
    here("export", "rows.fwsvm", "model.txt", "--to", "libsvm")
    assert here("predict", "model.txt", "rows.libsvm")[0] == labels
    assert "LIBSVM" in here("info", "model.txt")[0]
    here("export", "model.txt", "again.fwsvm", "--to", "fwsvm", "--quiet")
    assert here("predict", "again.fwsvm", "rows.libsvm", code=0)[0] == labels
    here("export", "rows.fwsvm", "model.onnx", "--to", "onnx")
    assert Path("model.onnx").stat().st_size > 100
    here("train", "rows.libsvm", "--quiet", "--scale", "standard", "-o", "scaled")
    assert "no place for scaling" in here("export", "scaled", "x", "--to", "libsvm", code=1)[1]
    if shutil.which("svm-predict"):
        command = ["svm-predict", "rows.libsvm", "model.txt", "theirs"]
        subprocess.run(command, check=True, capture_output=True)
        assert Path("theirs").read_text().split() == labels.split()


def test_data_sets_are_listed_and_got():
    out, _ = here("datasets")
    assert "mushrooms" in out
    assert {"name", "rows", "file"} <= json.loads(here("datasets", "--json")[0])[0].keys()
    out, _ = fwsvm("datasets", "get", "dna.scale")
    assert [Path(line).name.split(".xz")[0] for line in out.split()] == ["dna.scale", "dna.scale.t"]
    _, err = fwsvm("datasets", "get", "mushroom", code=1)
    assert "Did you mean mushrooms?" in err


@pytest.mark.slow
def test_demo_writes_its_report():
    out, _ = fwsvm("demo", "-o", "there")
    assert "scikit-learn" in out
    page = Path("there/report.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    assert "http://" not in page
    assert "https://" not in page


def test_the_figures_of_the_demo():
    from fwsvm.demo import pictures

    assert pictures.as_data_url(pictures.ball()).startswith("data:image/png;base64,")
    gradient, objective, delta2 = pictures._ball_of(
        SVC(C=pictures._C, gamma=pictures._GAMMA, tol=1e-8).fit(*pictures.small_problem()),
        *pictures.small_problem(),
    )
    distance2 = delta2 + objective - 2 * gradient
    assert distance2.max() == pytest.approx(delta2 - objective, rel=1e-4)  # the radius


# --------------------------------------------------------------------------------------- parameters


def test_every_parameter_is_an_option_of_its_name():
    options = {name for option in main.commands["train"].params for name in option.opts}
    for name in SVC().get_params():
        assert f"--{name.replace('_', '-')}" in options
    out, _ = fwsvm("train", "--help")
    for text in (
        "[default: 0.001]",
        "certified relative duality gap",
        "[auto|mean_distance|scale|",
    ):
        assert text in " ".join(out.split())


GIVEN = [
    ("C", "2.5", 2.5),
    ("kernel", "poly", "poly"),
    ("degree", "4", 4),
    ("gamma", "scale", "scale"),
    ("gamma", "0.5", 0.5),
    ("coef0", "-1", -1.0),
    ("selection", "59", 59),
    ("selection", "full", "full"),
    ("max_time", "3", 3.0),
    ("epsilon", "none", None),
    ("class_weight", "balanced", "balanced"),
    ("class_weight", "-1=2,1=0.5", {"-1": 2.0, "1": 0.5}),
    ("n_jobs", "2", 2),
    ("random_state", "7", 7),
]


@pytest.mark.parametrize(("name", "text", "value"), GIVEN)
def test_text_becomes_the_value_that_is_meant(name, text, value):
    assert Value(name).convert(text, None, None) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("C", "-1"),
        ("C", "x"),
        ("C", "nan"),
        ("kernel", "magic"),
        ("degree", "0"),
        ("degree", "1.5"),
        ("gamma", "0"),
        ("tol", "2"),
        ("class_weight", "1"),
        ("class_weight", "1=x"),
        ("n_jobs", "two"),
    ],
)
def test_values_that_are_not_allowed_are_wrong_usage(name, text):
    with pytest.raises(click.BadParameter):
        Value(name).convert(text, None, None)


def test_underscores_are_dashes_and_weights_go_by_class():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    here(
        "train",
        "rows.libsvm",
        "--quiet",
        "--max_iter",
        "50",
        "--class_weight",
        "0=2,1=1,2=1.5",
        "--solver",
        "mfw",
        "--selection",
        "59",
        "--break-ties",
    )
    svc = load_model("rows.fwsvm").svc
    assert (svc.max_iter, svc.class_weight, svc.selection) == (50, {0: 2.0, 1: 1.0, 2: 1.5}, 59)
    assert svc.break_ties is True
    _, err = here("train", "rows.libsvm", "--class-weight", "5=2", code=2)
    assert "There are 0, 1, 2" in err


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


# ------------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train"], 2, "Missing argument"),
        (["train", "nothing"], 2, "does not exist"),
        (["train", "rows.libsvm", "--C", "0"], 2, "must be a float in the range"),
        (["train", "rows.libsvm", "--epsilon", "0.1"], 2, "leave it at None"),
        (["train", "rows.libsvm", "--validate", "2"], 2, "within 0 and 1"),
        (["train", "rows.libsvm", "--validate", "absent"], 2, "a fraction"),
        (["train", "rows.libsvm", "-o", "no/where"], 2, "its folder is not there"),
        (["train", "rows.csv"], 2, "--target: a, b, c, d, kind"),
        (["train", "bad.libsvm"], 1, "bad.libsvm, line 2"),
        (["train", "one.libsvm"], 1, "number of classes has to be greater than one"),
        (["predict", "rows.libsvm", "rows.libsvm"], 1, "not a model file"),
        (["tune", "rows.libsvm", "--kernel", "precomputed"], 2, "nothing to tune"),
        (["no-such-command"], 2, "No such command"),
    ],
)
def test_exit_codes(arguments, code, message):
    for name in ("rows.libsvm", "rows.csv"):
        Path(name).write_bytes(FILES[name])
    Path("bad.libsvm").write_bytes(b"1 1:2\n1 1:x\n")
    Path("one.libsvm").write_bytes(b"1 1:2\n1 1:3\n")
    _, err = here(*arguments, code=code)
    assert message in " ".join(err.split())


def test_missing_extras_are_named(monkeypatch):
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    Path("rows.parquet").write_bytes(FILES["rows.parquet"])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    _, err = here("train", "rows.libsvm", "--plot", "p.png", code=1)
    assert "pip install fwsvm[plot]" in err
    assert not Path("rows.fwsvm").exists()  # it said so before the work
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    _, err = here("train", "rows.parquet", "--target", "kind", code=1)
    assert "pip install fwsvm[parquet]" in err


def test_the_program_is_installed():
    program = Path(sys.executable).with_name("fwsvm")
    out = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert out.startswith("fwsvm, version ")


# ---------------------------------------------------------------------- warm start, Ctrl-C


def test_warm_start_begins_at_the_model_that_is_there():
    Path("rows.libsvm").write_bytes(as_libsvm(*rows_of_three_classes(600)))
    cold = json.loads(here("train", "rows.libsvm", "--solver", "mfw", "--warm-start", "--json")[0])
    warm = json.loads(here("train", "rows.libsvm", "--solver", "mfw", "--warm-start", "--json")[0])
    assert warm["iterations"] < cold["iterations"] / 4
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    _, err = here("train", "rows.libsvm", "--solver", "mfw", "--warm-start")
    assert "of another number of rows: no warm start" in err


def hard_rows():
    """Rows on which plain Frank-Wolfe steps take forever to a small gap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5)).astype(np.float32)
    return as_libsvm(X, rng.integers(0, 2, 3000))


class Terminal:
    """A run whose standard error is a terminal."""

    def __init__(self, *arguments):
        self.mine, theirs = os.openpty()
        self.process = subprocess.Popen(
            [*PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "150"},
        )
        os.close(theirs)
        self.text = ""

    def read_until(self, pattern, seconds=60):
        ends = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            assert time.monotonic() < ends, self.text[-2000:]
            if select.select([self.mine], [], [], 0.1)[0]:
                self.text += os.read(self.mine, 4096).decode(errors="replace")

    def end(self):
        """Exit code and standard output."""
        while True:
            try:
                piece = os.read(self.mine, 4096)
            except OSError:  # Linux ends so
                break
            if not piece:
                break
            self.text += piece.decode(errors="replace")
        out, _ = self.process.communicate(timeout=60)
        os.close(self.mine)
        return self.process.returncode, out.decode()


needs_terminal = pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals here")


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
def test_ctrl_c_twice_stops():
    Path("hard.libsvm").write_bytes(hard_rows())
    run = Terminal("tune", "hard.libsvm", "--solver", "fw", "--tol", "1e-9", "--folds", "2")
    run.read_until(r"starting|fit \d+ of")
    run.process.send_signal(signal.SIGINT)
    run.read_until("Finishing with the best so far")
    run.process.send_signal(signal.SIGINT)
    code, out = run.end()
    assert code == 1
    assert out == ""
    assert "Traceback" not in run.text


@needs_terminal
def test_quiet_is_quiet_on_a_terminal_too():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    run = Terminal("train", "rows.libsvm", "--quiet")
    assert run.end() == (0, "")
    assert run.text == ""


def test_verbose_leaves_the_output_to_the_result():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    out, err = fwsvm("train", "rows.libsvm", "--verbose", "--json")
    json.loads(out)
    assert "kernel evaluations" in err
