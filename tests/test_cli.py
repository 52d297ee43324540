"""The commands, through their real entry point: what they read, print and write."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_line import (
    FILES,
    X,
    Y,
    as_csv,
    as_libsvm,
    fwsvm,
    here,
    rows_of_three_classes,
)

from fwsvm import load_model
from fwsvm.data import read

pytestmark = pytest.mark.usefixtures("own_folder")


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
    out, err = here("export", "rows.fwsvm", "model.onnx", "--to", "onnx", "--json")
    assert json.loads(out) == {"model": "rows.fwsvm", "output": "model.onnx", "format": "onnx"}
    assert err == ""
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


def test_text_may_have_features_that_the_training_rows_lack():
    Path("rows.libsvm").write_bytes(as_libsvm(X[:, :3], Y))
    Path("other.libsvm").write_bytes(as_libsvm(X, Y))
    _, err = here("train", "rows.libsvm", "--validate", "other.libsvm")
    assert "features up to 4, and those of training up to 3" in err
    out, err = here("predict", "rows.fwsvm", "other.libsvm")
    assert err.count("features up to 4, and those of training up to 3") == 1
    narrow, wide = load_model("rows.fwsvm"), read("other.libsvm")
    padded = np.hstack([narrow.svc.support_vectors_, np.zeros((len(narrow.svc.support_), 1))])
    with pytest.warns(UserWarning, match="features up to 4"):
        widened = narrow.as_wide_as(wide)
    assert out.split() == [str(label) for label in widened.predict(wide)]
    np.testing.assert_array_equal(widened.svc.support_vectors_, padded)
    _, err = here("evaluate", "rows.fwsvm", "other.libsvm", "--quiet")
    assert err == ""


def test_results_go_to_devices(tmp_path):
    Path("rows.libsvm").write_bytes(FILES["rows.libsvm"])
    here("train", "rows.libsvm", "--quiet")
    labels, _ = fwsvm("predict", "rows.fwsvm", "rows.libsvm")
    out, _ = fwsvm("predict", "rows.fwsvm", "rows.libsvm", "-o", "/dev/stdout")
    assert out == labels
    fwsvm("predict", "rows.fwsvm", "rows.libsvm", "-o", os.devnull)
    assert not Path(os.devnull).is_file()
