"""The paper's experiment on C: four sets, thirteen values."""

from __future__ import annotations

from functools import partial

from .cells import Results
from .figures import NAMES, effect_of_c
from .page import Part, Picture, Table
from .plan import SETS_OF_C
from .script import main
from .summary import over_c


def part(results: Results) -> Part:
    of_sets = {name: found for name in SETS_OF_C if (found := over_c(results, name))}
    title = "The effect of C"
    if not of_sets:
        return Part(title, ["Nothing was run yet."])
    caption = (
        "Test accuracy and training time over C; the width of the kernel is the mean distance on "
        "all four. A cross: stopped by the limit of time."
    )
    columns = {"set": "", "solver": "", "C": "g", "accuracy": ".2f", "seconds": "3"}
    columns |= {"gap": ".1e", "support vectors": ".0f", "repetitions": ""}
    rows = [
        {
            "set": name,
            "solver": NAMES[each.solver],
            "C": each.C,
            "accuracy": each.accuracy,
            "seconds": (each.seconds, "*" if each.is_stopped else ""),
            "gap": each.gap,
            "support vectors": each.n_support,
            "repetitions": each.repetitions,
        }
        for name, found in of_sets.items()
        for each in found.values()
        if each.C in (1.0, 64.0, 4096.0)
    ]
    return Part(
        title,
        [
            Picture("figure_c", partial(effect_of_c, of_sets), caption),
            Table("effect_of_c", columns, rows, "Three of the thirteen values of C."),
        ],
    )


if __name__ == "__main__":
    main(part, "C")
