"""The README and the documents say what is so."""

import doctest
import importlib
import inspect
import json
import re
from pathlib import Path

import pytest
from processes import run_python

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCES = [
    pytest.param(code, id=f"{page.stem}-{i}")
    for page in PAGES
    for i, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("code", FENCES)
def test_every_python_example_runs(code):
    run_python(code)


def test_the_examples_of_docstrings_run():
    for module in ("fwsvm.estimators", "fwsvm.dask.estimator"):
        outcome = doctest.testmod(importlib.import_module(module))
        assert outcome.attempted > 3
        assert outcome.failed == 0


MODULES = ["rows", "kernels", "dual", "multiclass", "estimators", "parameters"]
MODULES += [f"solvers.{name}" for name in ("loop", "state", "start", "selection", "core_vector")]


def test_the_notation_names_what_is_in_the_code():
    modules = [importlib.import_module(f"fwsvm.{name}") for name in MODULES]
    known = {name: value for module in modules for name, value in vars(module).items()}
    source = "".join(map(inspect.getsource, modules))
    cells = re.findall(r"^\|.*\|$", (ROOT / "docs" / "math.md").read_text(), re.MULTILINE)
    names = re.findall(r"`([A-Za-z_.]+)`", "".join(cells))
    assert len(names) > 40
    for name in names:
        owner, _, attribute = name.partition(".")
        if attribute:
            of_owner = inspect.getsource(known[owner])
            assert re.search(rf"\b{attribute}\b", of_owner), f"{owner} has no {attribute}"
        else:
            assert re.search(rf"\b{name}\b", source), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_make_commands_of_the_documents_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"make ([a-z][a-z-]+)\b(?=`|\s+#)", page.read_text())) <= targets


def test_the_tables_of_the_readme_are_the_measured_ones(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from peers_tables import summary
    from problems import PROBLEMS
    from runner import RESULTS, table

    readme = (ROOT / "README.md").read_text()
    engine, peers = (
        json.loads((RESULTS / f"{name}.json").read_text())["rows"]
        for name in ("kernel_engine", "peers")
    )
    assert table(engine) in readme
    assert summary(peers, list(PROBLEMS)) in readme


def test_the_tables_of_scaling_follow_from_what_was_measured(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    pytest.importorskip("distributed")
    from runner import RESULTS
    from scaling import tables

    page = (ROOT / "docs" / "scaling.md").read_text()
    for title, lines in tables(json.loads((RESULTS / "scaling.json").read_text())).items():
        assert lines in page, title
