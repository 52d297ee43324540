"""``fwsvm train --memory-limit``."""

import json
from pathlib import Path

import pytest
from command_line import FILES, fwsvm, here

from fwsvm import load_model
from fwsvm.data import read

pytestmark = pytest.mark.usefixtures("own_folder")
LIMIT = ["--memory-limit", "1GB"]


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather", "rows.libsvm", "rows.xz"])
def test_a_file_in_blocks_gives_the_same_model(name):
    Path(name).write_bytes(FILES[name])
    target = ["--target", "kind"] if name in ("rows.parquet", "rows.feather") else []
    common = [name, *target, "--quiet", "-C", 10, "--tol", 1e-6]
    here("train", *common, *LIMIT, "-o", "blocks", "--validate", name)
    here("train", *common, "-o", "table")
    out, _ = here("predict", "blocks", name)
    assert out == here("predict", "table", name)[0]
    table = read(name, target="kind" if target else None)
    assert load_model("blocks").score(table) > 0.9


def test_it_goes_on_from_a_checkpoint():
    Path("rows.parquet").write_bytes(FILES["rows.parquet"])
    command = ["train", "rows.parquet", "--target", "kind", *LIMIT, "--checkpoint", "ck", "--json"]
    first = json.loads(here(*command)[0])
    second = json.loads(here(*command, "--resume")[0])
    assert second["rows"] == 150
    assert second["gap"] == first["gap"]
    _, err = fwsvm(*command, "--resume", "-C", 3, code=1)
    assert "ck is of a fit with other C" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rows.parquet", *LIMIT], "Name their column with --target"),
        (["rows.csv", *LIMIT], "Convert it to Parquet"),
        (["-", "-o", "m", *LIMIT], "needs a file"),
        (["rows.libsvm", "--memory-limit", "much"], "such as 2GB or 500MB"),
        (["rows.libsvm", "--checkpoint", "ck"], "--checkpoint needs --memory-limit"),
        (["rows.libsvm", *LIMIT, "--resume"], "--resume needs --checkpoint"),
        (["rows.libsvm", *LIMIT, "--scale", "standard"], "--scale is not possible"),
        (["rows.libsvm", *LIMIT, "--warm-start"], "--warm-start is not possible"),
        (["rows.libsvm", *LIMIT, "--validate", "0.5"], "takes a file"),
        (["rows.libsvm", *LIMIT, "--class-weight", "1=2"], "only balanced"),
    ],
)
def test_wrong_usage(arguments, message):
    for name in ("rows.parquet", "rows.csv", "rows.libsvm"):
        Path(name).write_bytes(FILES[name])
    _, err = here("train", *arguments, code=2)
    assert message in " ".join(err.split())


def test_a_limit_that_is_too_small_is_one_line():
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    _, err = fwsvm("train", "rows.libsvm", "--memory-limit", "100MB", code=1)
    assert err.startswith("Error: memory_limit must be at least 692 MB")
