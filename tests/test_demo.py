"""The demo and its pictures."""

import json
from pathlib import Path

import pytest
from command_line import fwsvm

from fwsvm import SVC

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.mark.slow
def test_demo_writes_its_report():
    out, err = fwsvm("demo", "-o", "there", "--json")
    assert err == ""
    result = json.loads(out)
    assert {line["program"] for line in result["lines"]} == {"fwsvm", "scikit-learn"}
    large = [line for line in result["lines"] if line["rows_of_set"] == 100_000]
    assert [line["set"] for line in large[::2]] == ["noisy spiral", "clusters"]
    for ours, theirs in zip(large[::2], large[1::2], strict=True):
        assert ours["rows"] == 100_000
        assert ours["gap"] <= 1e-3
        assert ours["accuracy"] > theirs["accuracy"] - 0.01
    page = Path(result["report"]).read_text()
    assert page.count("data:image/png;base64,") == 8
    assert "How the sets were chosen" in page
    assert "http://" not in page
    assert "https://" not in page


def test_the_figures_of_the_demo():
    from fwsvm.demo import pictures

    drawn = pictures.ball()
    assert all(url.startswith("data:image/png;base64,") for _, url in drawn)
    assert "every row inside" in drawn[-1].caption
    gradient, objective, delta2 = pictures._ball_of(
        SVC(C=pictures._C, gamma=pictures._GAMMA, tol=1e-8).fit(*pictures.small_problem()),
        *pictures.small_problem(),
    )
    distance2 = delta2 + objective - 2 * gradient
    assert distance2.max() == pytest.approx(delta2 - objective, rel=1e-4)  # the radius
