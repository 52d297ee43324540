"""What a fit over shards costs: a model in a few constants, which are fitted to recorded rounds.

The support vectors of n rows are taken for s n^g. All that a round moves or computes follows: the
core set, the rows found and those that leave are multiples of the support vectors; a worker
computes rows x support vectors; the driver solves in products with the core set's matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scaling_simulation import SMALL_MESSAGES, Network, Round
from scipy.optimize import nnls

from fwsvm.solvers.corrective import FIRST_LEVEL, GROWTH
from fwsvm.solvers.newton import USUAL_RANK

NUMBER, FLOAT, FLAG = 8, 4, 1  # bytes of a number or coefficient, of a feature, of a mark
FITTED_LEVELS = 5  # the last ones; smaller ones say less about what comes after them


@dataclass(frozen=True)
class Constants:
    """Fitted to recorded rounds; seconds are those of one thread."""

    support: float  # s and
    growth: float  # g of s n^g
    core: float  # rows in the core set for each support vector
    found: float  # rows that a level finds for each support vector it is looked at with
    left: float  # rows that leave the core set before that, likewise
    rescanned: float  # the part of all rows that the last scan looks at
    worker_value: float  # seconds of a kernel value in a scan
    worker_row: float  # of each row of a shard a round
    worker_gathered: float  # of each row gathered so far, on every worker
    worker_round: float
    setup_row: float  # once, before the first round
    driver_pair: float  # of each pair of rows of the core set in a solve
    driver_row: float  # of each of these rows
    driver_round: float
    certificate_pair: float  # of each pair of support vectors, once
    row_bytes: float = 0.0  # memory of a worker for each of its rows


@dataclass(frozen=True)
class Setting:
    """What is trained where."""

    rows: int
    workers: int
    features: int
    network: Network
    slowest: float = 1.0  # so many times as long as the others takes the slowest worker
    worker_threads: int = 1
    driver_threads: int = 1
    support: float | None = None  # vectors, where they are given and not those of s n^g


class Step(NamedTuple):
    """Work of the driver and the round after it: seconds of one thread, and bytes."""

    what: str
    looked_at: float = 0.0  # rows
    support: float = 0.0  # vectors, with which
    driver: float = 0.0
    worker: float = 0.0
    sent: float = 0.0  # to each worker
    received: float = 0.0  # from all together


class Cost(NamedTuple):
    """Seconds and bytes of a round, or of a whole fit."""

    driver: float
    scan: float
    communication: float
    sent: float
    received: float

    @property
    def seconds(self) -> float:
        return self.driver + self.scan + self.communication


def cost(setting: Setting, steps: Sequence[Step]) -> Cost:
    """Of these steps in a setting."""
    return Cost(
        sum(step.driver for step in steps) / setting.driver_threads,
        sum(step.worker for step in steps) * setting.slowest / setting.worker_threads,
        sum(_communication(setting, step) for step in steps),
        sum(step.sent for step in steps),
        sum(step.received for step in steps),
    )


def gathered_bytes(setting: Setting, known: Constants) -> float:
    """Of the rows that the driver and every worker know in the end."""
    known = _for(setting, known)
    return _gathered(known, levels_of(setting.rows)) * _told_bytes(setting.features)


def shard_bytes(setting: Setting, known: Constants) -> float:
    """Of a worker's own rows and what it knows of them."""
    return known.row_bytes * setting.rows / setting.workers


def factor_bytes(setting: Setting, known: Constants) -> float:
    """Of the driver's preconditioner F at its usual rank, which cache_size has to allow."""
    return known.core * support_vectors(setting, known) * USUAL_RANK * NUMBER


def support_vectors(setting: Setting, known: Constants) -> float:
    return _support(_for(setting, known), setting.rows)


def levels_of(rows: int) -> list[int]:
    """The numbers of rows that have been seen after each level, as the solver draws them."""
    levels = [0]
    while levels[-1] < rows:
        level = rows
        while level > max(GROWTH * levels[-1], FIRST_LEVEL):
            level = -(-level // GROWTH)
        levels.append(level)
    return levels


def steps_of(setting: Setting, constants: Constants) -> list[Step]:
    """Set-up, levels, a scan of all rows, the certificate, and two questions at the end."""
    known, levels = _for(setting, constants), levels_of(setting.rows)
    support = _support(known, setting.rows)
    certificate = Step(
        "certificate",
        support=support,
        driver=known.certificate_pair * support**2,
        sent=support * (2 + 2 * known.core) * NUMBER,
    )
    return [
        Step("set-up", worker=known.setup_row * setting.rows / setting.workers),
        *(_look(setting, known, levels[: i + 1]) for i in range(len(levels))),
        certificate,
        Step("numbers in X", sent=2 * NUMBER * support),
        Step("forget"),
    ]


def _look(setting: Setting, known: Constants, levels: Sequence[int]) -> Step:
    """Solves on the rows seen so far, and looks at the next level or at all rows."""
    seen, shard, workers = levels[-1], setting.rows / setting.workers, setting.workers
    support = _support(known, seen)
    core, gathered = known.core * support, _gathered(known, levels)
    is_level = seen < setting.rows
    if is_level:
        looked_at = float(levels_of(setting.rows)[len(levels)] - seen)
        found = known.found * support if seen else looked_at
    else:
        looked_at, found = known.rescanned * setting.rows, 0.0
    new = gathered - _gathered(known, levels[:-1])
    return Step(
        "level" if is_level else "scan",
        looked_at,
        support,
        driver=known.driver_round + known.driver_row * core + known.driver_pair * core**2,
        worker=known.worker_round
        + known.worker_row * shard
        + known.worker_gathered * gathered
        + known.worker_value * support * looked_at / workers,
        sent=new * _told_bytes(setting.features)
        + support * (2 + known.core + 2 * known.left) * NUMBER
        + workers * NUMBER,
        received=found * _found_bytes(setting.features),
    )


def _support(known: Constants, rows: float) -> float:
    return min(rows, known.support * rows**known.growth) if rows else 0.0


def _for(setting: Setting, known: Constants) -> Constants:
    """With the support vectors that are given; fewer rows have fewer, by the same power."""
    if setting.support is None:
        return known
    return replace(known, support=setting.support / setting.rows**known.growth)


def _gathered(known: Constants, levels: Sequence[int]) -> float:
    """Rows found by these levels, of which the first found everything."""
    first = levels[1] if len(levels) > 1 else 0
    return first + sum(known.found * _support(known, seen) for seen in levels[1:-1])


def _told_bytes(features: int) -> float:
    """Of a row with its part and its number there."""
    return features * FLOAT + 2 * NUMBER


def _found_bytes(features: int) -> float:
    """Of a row with number, margin, sign, ridge, and whether it is new."""
    return features * FLOAT + 4 * NUMBER + FLAG


def _communication(setting: Setting, step: Step) -> float:
    """Of one round: there and back, each message handled, and the bytes through the driver."""
    network, workers = setting.network, setting.workers
    copy = step.sent / network.bandwidth
    if step.sent * workers < SMALL_MESSAGES:
        there = workers * copy
    else:  # workers hand it on: those that have it double
        there = copy + math.ceil(math.log2(workers)) * (network.latency + copy)
    back = step.received / network.bandwidth
    return 2 * network.latency + workers * network.handling + there + back


# ---------------------------------------------------------------------------------------- fitting


def fitted(runs: Sequence[Sequence[Round]]) -> Constants:
    """The constants of runs of growing rows; the last is the largest."""
    largest = runs[-1]
    levels = [r for r in largest if r.question == "look"]
    scans = [r for r in largest if r.question == "scan"]
    seen = np.cumsum([r.looked_at for r in levels])[-FITTED_LEVELS:]
    levels = levels[-FITTED_LEVELS:]
    solved = [r.support for r in [*levels[1:], scans[0]]]
    growth, support = np.polyfit(np.log(seen), np.log(solved), 1)
    penalty = next(r for r in largest if r.question == "penalty")
    extents = [r for run in runs for r in run if r.question == "extent"]
    every = [r for run in runs for r in run if r.question in ("look", "scan")]
    value, row, gathered, worker_round = _non_negative(
        [(r.looked_at * r.support / r.workers, r.shard, r.gathered, 1.0) for r in every],
        [float(np.mean(r.worker_seconds)) for r in every],
    )
    pair, driver_row, driver_round = _non_negative(
        [(float(r.core) ** 2, r.core, 1.0) for r in every], [r.driver_seconds for r in every]
    )
    return Constants(
        support=float(np.exp(support)),
        growth=float(growth),
        core=_ratio([r.core for r in levels], levels),
        found=_ratio([r.found for r in levels], levels),
        left=_ratio([r.left for r in levels], levels),
        rescanned=sum(r.looked_at / (r.shard * r.workers) for r in scans),
        worker_value=value,
        worker_row=row,
        worker_gathered=gathered,
        worker_round=worker_round,
        setup_row=float(np.mean([np.mean(r.worker_seconds) / r.shard for r in extents])),
        driver_pair=pair,
        driver_row=driver_row,
        driver_round=driver_round,
        certificate_pair=penalty.driver_seconds / penalty.support**2,
    )


def _ratio(counts: Sequence[float], rounds: Sequence[Round]) -> float:
    return float(sum(counts) / sum(r.support for r in rounds))


def _non_negative(columns: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[float]:
    """Coefficients >= 0 with the least squares of relative errors."""
    target = np.asarray(seconds)
    matrix = np.asarray(columns, dtype=np.float64) / target[:, None]
    scale = np.maximum(matrix.max(axis=0), 1e-300)
    solution, _ = nnls(matrix / scale, np.ones(len(target)))
    return [float(value) for value in solution / scale]
