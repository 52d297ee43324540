"""A fit on a source: survey, binary problems over its parts, and a checkpoint."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .. import parameters, progress
from ..in_memory import Trained
from ..shards import Checkpoint, Problems, checkpoint_of, tasks_of, union
from ..training import Training
from .source import Source
from .survey import Survey, Surveyed


def train(model: Any, source: Source, y: Any, sample_weight: Any, clock: progress.Clock) -> Trained:
    """Sets what the model knows of its data, and solves its binary problems."""
    _check(model, y, sample_weight)
    random = check_random_state(model.random_state)
    seed = int(random.randint(np.iinfo(np.int32).max))
    wants_moments = isinstance(model.gamma, str) and model.gamma != "auto"
    survey = Survey(source, model.cache_size, wants_moments, seed)
    survey.read()
    surveyed = survey.finish(model, model.n_jobs)
    del survey
    tasks = tasks_of(model.multiclass, surveyed.counts)
    seeds = [int(s) for s in random.randint(np.iinfo(np.int32).max, size=len(tasks))]
    checkpoint = _checkpoint(model, source, surveyed)
    watch = progress.Progress(model, tasks, source, None, None)
    passes = surveyed.passes
    problems = Problems(model, passes, surveyed.kernel, tasks, seeds, checkpoint)
    results = Training(tasks, problems.solve, model.n_jobs, clock, watch).run()
    return Trained(*union(passes, tasks, results), watch)


def _check(model: Any, y: Any, sample_weight: Any) -> None:
    if y is not None or sample_weight is not None:
        raise ValueError(
            "A source has the classes and weights of its rows itself: give it alone to fit(), and "
            "name their columns where you make it."
        )
    if model.solver != "auto":
        raise ValueError(f"A source needs solver='auto'. Got solver={model.solver!r}.")
    if model.warm_start:
        raise ValueError("warm_start is for rows in memory; sources have checkpoint= and resume=.")
    if parameters.is_precomputed(model.kernel):
        raise ValueError("A source holds rows. Got kernel='precomputed': use a kernel of rows.")


def _checkpoint(model: Any, source: Source, surveyed: Surveyed) -> Checkpoint:
    digest = 0
    for part in surveyed.passes.parts:
        digest = zlib.crc32(part.labels.astype(np.int32).tobytes(), digest)
    settings = source.settings
    return checkpoint_of(
        model,
        surveyed.kernel,
        settings.checkpoint,
        every=1,
        resume=settings.resume,
        rows=model.shape_fit_[0],
        labels=digest,
    )
