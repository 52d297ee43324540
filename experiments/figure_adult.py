"""The paper's second figure: the Adult sets, of growing size."""

from __future__ import annotations

from .cells import Results
from .figures import part_of_group
from .page import Part
from .script import main
from .sets import names_of_group

GROUP = "Adult"


def part(results: Results) -> Part:
    return part_of_group(results, GROUP, "The Adult sets")


if __name__ == "__main__":
    main(part, "tables", names_of_group(GROUP))
