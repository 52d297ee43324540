"""Tables 6 and 7 of the paper: are the differences significant?"""

from __future__ import annotations

from .cells import OF_PAPER, Results
from .page import Part, Table
from .script import main
from .significance import Test, printed, tests, tests_of_paper
from .summary import sets_of, summaries

FEWEST = 5  # sets for a test to mean anything
NAMES = {
    "fw_cvm": "W, FW and CVM",
    "mfw_cvm": "W, MFW and CVM",
    "fw_mfw": "W, FW and MFW",
    "friedman": "F, all three",
}


def ours(results: Results) -> list[Test]:
    """The tests on our results; none where there are too few sets."""
    found = summaries(results, "tables")
    names = sets_of(found, OF_PAPER)
    if len(names) < FEWEST:
        return []
    times = {s: [found[n, s].seconds for n in names] for s in OF_PAPER}
    accuracies = {s: [found[n, s].accuracy for n in names] for s in OF_PAPER}
    return [*tests("time", times), *tests("accuracy", accuracies)]


def part(results: Results) -> Part:
    n_sets = len(sets_of(summaries(results, "tables"), OF_PAPER))
    columns = {"quantity": "", "statistic": ""}
    for whose in ("printed", "recomputed", "ours"):
        columns |= {whose: ".5g", f"p, {whose}": ".3g"}
    rows = {
        (t.quantity, t.name): {"quantity": t.quantity, "statistic": NAMES[t.name]}
        for t in printed()
    }
    by_whom = {"printed": printed(), "recomputed": tests_of_paper(), "ours": ours(results)}
    for whose, found in by_whom.items():
        for test in found:
            rows[test.quantity, test.name] |= {whose: test.statistic, f"p, {whose}": test.p}
    return Part(
        "Tables 6 and 7: statistical tests",
        [
            "Wilcoxon's signed ranks (zeros as by Pratt, exact) and Friedman's test with the "
            "correction of Iman and Davenport, by SciPy. Small p: FW or MFW faster, or less "
            "accurate, than CVM; FW and MFW different in time, or FW less accurate than MFW.",
            Table("tables_6_7_tests", columns, list(rows.values()),
                  "printed: in the paper; recomputed: our code on the paper's Tables 2 and 3; "
                  f"ours: on our {n_sets} sets."),
            _recomputed(),
        ],
    )  # fmt: skip


def _recomputed() -> str:
    """How near our code comes to the paper's statistics on the paper's tables."""
    ours = {(test.quantity, test.name): test for test in tests_of_paper()}
    rows = [(test, ours[test.quantity, test.name]) for test in printed()]
    equal = {
        quantity: sum(
            round(own.statistic, 3) == theirs.statistic
            for theirs, own in rows
            if theirs.quantity == quantity
        )
        for quantity in ("time", "accuracy")
    }
    of_f = " and ".join(f"{t.p / own.p:.2g}" for t, own in rows if t.name == "friedman")
    return (
        f"On the paper's own tables our code finds {equal['time']} of the 4 printed statistics of "
        f"the times, and {equal['accuracy']} of the 4 of the accuracies, which are printed with "
        "two decimals, so that some become equal. The printed p of F divided by ours is "
        f"{of_f}: where it is 2, they count both tails."
    )


if __name__ == "__main__":
    main(part, "tables")
