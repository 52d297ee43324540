"""Training on rows that are not in one place: the default solver's collective over shards.

A `Part` is a block of rows where it is kept; it answers messages and remembers nothing that cannot
be computed anew. `Gathering` is the driver's side of one binary problem: it has the rows that ever
were in the core set, tells the parts of them, and gathers those that the parts find. How messages
travel is for others to know: `fwsvm.dask` sends them to the workers of a cluster.
"""

from .checkpoint import Checkpoint, Halfway
from .gathering import Gathering, Shards, Traffic
from .messages import Binary
from .overview import ROWS_SAMPLED, Moments, common_form, common_width, set_classes
from .part import Block, Part, Summary, answer, survey
from .problems import Problems, checkpoint_of, tasks_of, union

__all__ = [
    "ROWS_SAMPLED",
    "Binary",
    "Block",
    "Checkpoint",
    "Gathering",
    "Halfway",
    "Moments",
    "Part",
    "Problems",
    "Shards",
    "Summary",
    "Traffic",
    "answer",
    "checkpoint_of",
    "common_form",
    "common_width",
    "set_classes",
    "survey",
    "tasks_of",
    "union",
]
