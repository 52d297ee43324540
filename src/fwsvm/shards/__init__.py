"""Training on rows that are not in one place: the default solver's collective over shards.

A `Part` is a block of rows where it is kept; it answers messages and remembers nothing that cannot
be computed anew. `Gathering` is the driver's side of one binary problem: it has the rows that ever
were in the core set, tells the parts of them, and gathers those that the parts find. How messages
travel is for others to know: `fwsvm.dask` sends them to the workers of a cluster.
"""

from .checkpoint import Checkpoint, Halfway
from .gathering import Gathering, Shards, Traffic
from .messages import Binary
from .part import Block, Part, Summary, answer, survey

__all__ = [
    "Binary",
    "Block",
    "Checkpoint",
    "Gathering",
    "Halfway",
    "Part",
    "Shards",
    "Summary",
    "Traffic",
    "answer",
    "survey",
]
