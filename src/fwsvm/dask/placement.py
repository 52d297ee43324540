"""The training set on a cluster: blocks become parts where they are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from distributed import Future

from .. import kernels, parameters
from ..dual import Ints
from ..shards import (
    ROWS_SAMPLED,
    Moments,
    Summary,
    common_form,
    common_width,
    set_classes,
    survey,
)
from .blocks import blocks_of, names_of_features
from .cluster import Cluster, part_here


@dataclass(frozen=True)
class Placed:
    """What the driver knows of the training set."""

    kernel: kernels.Kernel
    counts: Ints  # rows of positive weight of each class
    sizes: list[int]  # of the parts


def place(cluster: Cluster, model: Any, X: Any, y: Any, sample_weight: Any) -> Placed:
    """Makes the parts, and sets what the model knows of its data: classes and the like."""
    blocks: list[Future] = cluster.client.compute(blocks_of(X, y, sample_weight))
    wants_moments = isinstance(model.gamma, str) and model.gamma != "auto"
    most_sampled = max(1, ROWS_SAMPLED // len(blocks))
    what = "Blocks of the training set"
    summaries: list[Summary] = cluster.map(survey, blocks, wants_moments, most_sampled, what=what)
    first = [0, *accumulate(summary.n_given for summary in summaries)]
    present = [number for number, summary in enumerate(summaries) if summary.n_present]
    if not present:
        raise ValueError(
            f"Invalid input: {'all rows have zero weights' if first[-1] else 'X has no rows'}."
        )
    known = [summaries[number] for number in present]
    counts, weights = set_classes(model, known)
    model.n_features_in_ = common_width(known)
    model.shape_fit_ = first[-1], model.n_features_in_
    names = names_of_features(X)
    if names is not None:
        model.feature_names_in_ = names
    kernel = model._kernel = parameters.kernel_of(model, Moments(known), np.empty(0))
    form = common_form(known, kernel)
    parts = [
        cluster.client.submit(
            part_here, blocks[b], number, first[b], form, model.classes_, weights, pure=False
        )
        for number, b in enumerate(present)
    ]
    cluster.keep(parts, form)
    cluster.wait(parts, what, lambda: None)
    return Placed(kernel, counts, [s.n_present for s in known])
