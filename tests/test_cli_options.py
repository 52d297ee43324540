"""Options, wrong usage and exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command_line import FILES, fwsvm, here

from fwsvm import SVC, load_model
from fwsvm.cli import main
from fwsvm.cli.parameters import Value

pytestmark = pytest.mark.usefixtures("own_folder")


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
        (["train", "rows.libsvm", "--plot", "no/where"], 2, "its folder is not there"),
        (["tune", "rows.libsvm", "-o", "no/where"], 2, "its folder is not there"),
        (["tune", "rows.libsvm", "--plot", "no/where"], 2, "its folder is not there"),
        (["predict", "rows.libsvm", "rows.libsvm", "-o", "no/m"], 2, "its folder is not there"),
        (["export", "rows.libsvm", "no/m", "--to", "onnx"], 2, "its folder is not there"),
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


def test_verbose_leaves_the_output_to_the_result():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    out, err = fwsvm("train", "rows.libsvm", "--verbose", "--json")
    json.loads(out)
    assert "kernel evaluations" in err


def commands(group=main, *path):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *path, name)
        yield [*path, name], command


@pytest.mark.parametrize(("path", "command"), list(commands()))
def test_every_command_has_json_quiet_and_help(path, command):
    options = {name for parameter in command.params for name in parameter.opts}
    assert {"--json", "--quiet"} <= options
    out, _ = here(*path, "--help")
    assert len(out.split("\n\n")[1].strip()) > 30  # it says what it does
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
