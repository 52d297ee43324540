"""The package: imports one way, public list, configuration, every instruction set."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import run_python

import fwsvm
from fwsvm import _native

SOURCE = Path(fwsvm.__file__).parent
# Each room may import from the rooms before it, and from the small helpers of the first line.
HELPERS = ("_version", "_native", "threads", "_config", "whole_file")
ROOMS = ("storage", "rows", "kernels", "dual", "solvers", "multiclass", "progress", "training")
ROOMS += ("parameters", "training_set", "layout", "in_memory", "shards", "data", "stream")
ROOMS += (
    "estimators",
    "dask",
    "datasets",
    "model_files",
    "tuning",
    "plots",
    "demo",
    "cli",
    "__main__",
)


def imports_of(path):
    """Names of the package's own modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            if path.parent != SOURCE and node.level == 1:
                continue  # within a room
            if node.module:
                yield node.module.split(".")[0]
            else:
                yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fwsvm"):
            yield node.module.split(".")[1] if "." in node.module else "__init__"
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("fwsvm."))


def test_imports_run_one_way():
    order = {name: i for i, name in enumerate(HELPERS + ROOMS)}
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        assert room in order, f"{room} has no place in the order of imports: add it to ROOMS"
        for imported in imports_of(path):
            allowed = (
                imported == room
                or order[imported] < order[room]
                or (room in HELPERS and imported in HELPERS)
            )
            assert allowed, f"{path.name} imports {imported}, which comes after {room}"


def test_public_list():
    for name in fwsvm.__all__:
        assert hasattr(fwsvm, name)


def test_show_config(capsys):
    assert fwsvm.show_config() is None
    printed = capsys.readouterr().out
    config = fwsvm.show_config(mode="dicts")
    assert config["instruction set"] in config["available"].split(", ")
    for name, value in config.items():
        assert name in printed
        assert str(value) in printed
    with pytest.raises(ValueError, match="mode must be"):
        fwsvm.show_config(mode="json")


AVAILABLE = _native.available_instruction_sets().split(", ")


@pytest.mark.parametrize("name", AVAILABLE)
def test_environment_variable_chooses_the_instruction_set(name):
    code = "import fwsvm; print(fwsvm.show_config(mode='dicts')['instruction set'])"
    assert run_python(code, FWSVM_ISA=name) == name + "\n"


def test_unknown_instruction_set_is_an_error_that_names_the_others():
    code = """
import fwsvm
try:
    fwsvm.show_config()
except RuntimeError as error:
    print(error)
"""
    out = run_python(code, FWSVM_ISA="mmx")
    assert "FWSVM_ISA=mmx" in out
    assert "baseline" in out


@pytest.mark.skipif("FWSVM_ISA" in os.environ, reason="this is the run of one instruction set")
@pytest.mark.parametrize("name", AVAILABLE[:-1])
def test_kernel_tests_pass_with_lower_instruction_sets(name):
    tests = Path(__file__).parent
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(tests / "test_kernels.py"),
    ]
    result = subprocess.run(
        command,
        env={**os.environ, "FWSVM_ISA": name},
        capture_output=True,
        text=True,
        check=False,
        cwd=tests,
    )
    assert result.returncode == 0, result.stdout[-3000:]
