"""The tests of the paper's Tables 6 and 7, by SciPy: Wilcoxon's signed ranks for two solvers,
Friedman's with the correction of Iman and Davenport for three (Demsar 2006).

Zeros are ranked as by Pratt, p-values are exact, and one- or two-tailed as the paper's Table 5
designs them: faster and less accurate than CVM are one-tailed, so is FW less accurate than MFW.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats

from .cells import OF_PAPER
from .sets import PAPER

DIGITS = 9  # of differences: 83.56 - 83.55 and 83.41 - 83.40 shall be ties
PAIRS = (("fw", "cvm"), ("mfw", "cvm"), ("fw", "mfw"))
ALTERNATIVES = {  # of each pair
    "time": ("less", "less", "two-sided"),
    "accuracy": ("less", "less", "less"),
}
Columns = Mapping[str, Sequence[float]]  # a value for each set, by solver


@dataclass(frozen=True)
class Test:
    """A statistic with its p-value; ``name`` as in the paper's table."""

    quantity: str
    name: str
    statistic: float
    p: float


def tests(quantity: str, columns: Columns) -> list[Test]:
    """The three binary tests and the multiple one, of times or of accuracies."""
    found = [
        Test(quantity, f"{a}_{b}", *wilcoxon(columns[a], columns[b], alternative))
        for (a, b), alternative in zip(PAIRS, ALTERNATIVES[quantity], strict=True)
    ]
    return [*found, Test(quantity, "friedman", *friedman([columns[s] for s in OF_PAPER]))]


def wilcoxon(
    first: Sequence[float], second: Sequence[float], alternative: str
) -> tuple[float, float]:
    """W, the smaller sum of ranks, and p; the first is "less" than the second, or only differs."""
    differences = np.round(np.subtract(first, second), DIGITS)
    options = {"zero_method": "pratt", "method": "exact"}
    smaller = scipy.stats.wilcoxon(differences, **options).statistic
    p = scipy.stats.wilcoxon(differences, alternative=alternative, **options).pvalue
    return float(smaller), float(p)


def friedman(columns: Sequence[Sequence[float]]) -> tuple[float, float]:
    """F = (N - 1) chi^2 / (N (k - 1) - chi^2) of N sets and k solvers, and p."""
    n_sets, n_solvers = len(columns[0]), len(columns)
    chi_squared = scipy.stats.friedmanchisquare(*columns).statistic
    freedom = n_solvers - 1
    rest = n_sets * freedom - chi_squared  # 0 where all sets agree
    F = (n_sets - 1) * chi_squared / rest if rest > 0 else np.inf
    return float(F), float(scipy.stats.f.sf(F, freedom, freedom * (n_sets - 1)))


# ---------------------------------------------------------------------------------------- the paper


def of_paper(file: str) -> dict[str, dict[str, float]]:
    """The columns of the paper's Table 2 or 3, by name and set."""
    with (PAPER / file).open() as opened:
        rows = list(csv.DictReader(opened))
    columns = [name for name in rows[0] if name != "dataset"]
    return {name: {row["dataset"]: float(row[name]) for row in rows} for name in columns}


def accuracies_of_paper() -> dict[str, dict[str, float]]:
    return of_paper("table2_accuracy.csv")


def seconds_of_paper() -> dict[str, dict[str, float]]:
    return of_paper("table3_seconds.csv")


def tests_of_paper() -> list[Test]:
    """What our code finds in the paper's own tables."""
    tables = {"time": seconds_of_paper(), "accuracy": accuracies_of_paper()}
    return [
        test
        for quantity, table in tables.items()
        for test in tests(quantity, {s: list(table[s].values()) for s in OF_PAPER})
    ]


def printed() -> list[Test]:
    """What the paper's Tables 6 and 7 say."""
    with (PAPER / "tables6_7_tests.csv").open() as file:
        return [
            Test(row["quantity"], row["comparison"], float(row["statistic"]), float(row["p"]))
            for row in csv.DictReader(file)
        ]
