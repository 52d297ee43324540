"""Table 8 of the paper: a polynomial kernel, which CVM cannot use."""

from __future__ import annotations

import csv
from typing import Any

from .cells import Results
from .figures import NAMES
from .page import Part, Table
from .script import main
from .sets import PAPER
from .summary import summaries

TITLE = "Table 8: a kernel that CVM cannot use"
CAPTION = "rbf accuracy: of the same solver in Table 2. * stopped by the limit of time."


def refusals(results: Results) -> list[str]:
    """What CVM said to the polynomial kernel."""
    rows = [row for _, row in results.of(experiment="polynomial", solver="cvm")]
    return [row["status"].removeprefix("refused: ") for row in rows if "accuracy" not in row]


def papers() -> dict[tuple[str, str], tuple[float, float]]:
    """Accuracy and seconds by set and solver."""
    with (PAPER / "table8_polynomial.csv").open() as file:
        return {
            (row["dataset"].removeprefix("Web "), row["algorithm"].lower()): (
                float(row["accuracy"]),
                float(row["seconds"]),
            )
            for row in csv.DictReader(file)
        }


def part(results: Results) -> Part:
    found, printed = summaries(results, "polynomial", kernel="poly"), papers()
    if not found:
        return Part(TITLE, ["Nothing was run yet."])
    columns = {"set": "", "solver": "", "C": "g", "accuracy, paper": ".2f", "accuracy": ".2f"}
    columns |= {"± accuracy": ".2g", "rbf accuracy": ".2f", "seconds, paper": "3"}
    columns |= {"seconds": "3", "± seconds": "2", "gap": ".1e", "repetitions": ""}
    gaussian = summaries(results, "tables")
    rows = []
    for (name, solver), each in found.items():
        theirs = printed.get((name, solver), (None, None))
        other = gaussian.get((name, solver))
        row: dict[str, Any] = {"set": name, "solver": NAMES[solver], "C": each.C}
        row |= {"accuracy, paper": theirs[0], "seconds, paper": theirs[1]}
        row |= {"accuracy": each.accuracy, "± accuracy": each.accuracy_std}
        row |= {"rbf accuracy": other.accuracy if other else None}
        row |= {"seconds": (each.seconds, "*" if each.is_stopped else "")}
        row |= {"± seconds": each.seconds_std, "gap": each.gap, "repetitions": each.repetitions}
        rows.append(row)
    said = "".join(f" CVM refuses it here: “{text}”" for text in refusals(results))
    return Part(
        TITLE,
        [
            "The homogeneous polynomial of second order, (gamma x.z)^2, with 1 / gamma the mean "
            f"squared distance; C tuned with MFW.{said}",
            Table("table_8_polynomial", columns, rows, CAPTION),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main(part, "polynomial")
