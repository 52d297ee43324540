"""The paper's third and fourth figure: the single sets."""

from __future__ import annotations

from .cells import Results
from .figures import part_of_group
from .page import Part
from .script import main
from .sets import names_of_group

GROUP = "single"


def part(results: Results) -> Part:
    return part_of_group(results, GROUP, "The single sets")


if __name__ == "__main__":
    main(part, "tables", names_of_group(GROUP))
