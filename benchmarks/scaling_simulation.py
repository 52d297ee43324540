"""The solver over shards in this process, with a clock that knows of a network and slow workers.

`record` runs the real algorithm, messages pickled, and measures processor time on both sides of
each round. `seconds_of_round` then lets the same messages travel: copies leave the driver one after
the other, workers compute when theirs arrives, and answers queue at the driver.
"""

from __future__ import annotations

import heapq
import pickle
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from problems import generated
from sklearn.utils import check_random_state

from fwsvm import Rows
from fwsvm.dask.cluster import SMALL_MESSAGES
from fwsvm.estimators import gamma_of
from fwsvm.kernels import RBF
from fwsvm.shards import Binary, Block, Gathering, Part, answer
from fwsvm.shards.messages import News
from fwsvm.solvers import Result, Stopping, corrective

FEATURES, SEED, C, TOL, CACHE_BYTES = 30, 0, 1.0, 1e-3, 200 * 2**20
SAMPLED = 10_000  # rows for gamma: the same for any number of rows


@dataclass(frozen=True)
class Network:
    """Of the driver and its workers, each with one link."""

    latency: float  # seconds of a message beside its bytes
    handling: float  # seconds of the driver for each worker a round
    bandwidth: float  # bytes a second


class Round(NamedTuple):
    """What one question was about and what it took; seconds are of one thread."""

    question: str  # "look" at a level, "scan" of all rows, or another
    shard: float  # rows of a worker
    looked_at: int
    support: int
    core: int
    gathered: int
    found: int
    left: int
    sent: int  # bytes to each worker
    received: list[int]  # bytes of each worker
    driver_seconds: float  # since the round before
    worker_seconds: list[float]

    @property
    def workers(self) -> int:
        return len(self.worker_seconds)


class RecordedShards:
    """Parts that answer one after the other, each as a worker of its own would."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts, self.form = parts, parts[0].rows.form()
        self.rounds: list[Round] = []
        self._began = time.process_time()

    def ask(
        self, question: str, *arguments: Any, check_time: Any, among: Sequence[int] | None = None
    ) -> dict[int, Any]:
        message = pickle.dumps(arguments)
        driver_seconds = time.process_time() - self._began
        chosen = range(len(self.parts)) if among is None else among
        replies, seconds = [], []
        for number in chosen:
            began = time.process_time()
            given = answer([self.parts[number]], question, pickle.loads(message))
            replies.append(pickle.dumps(given))
            seconds.append(time.process_time() - began)
        self._began = time.process_time()
        answers = [pickle.loads(reply) for reply in replies]
        answers = [None if given is None else given[0] for given in answers]
        self.rounds.append(
            Round(
                "scan" if question == "look" and arguments[0].level is None else question,
                sum(len(part.labels) for part in self.parts) / len(self.parts),
                **_counts(question, arguments[0], answers),
                sent=len(message),
                received=[len(reply) for reply in replies],
                driver_seconds=driver_seconds,
                worker_seconds=seconds,
            )
        )
        return dict(zip(chosen, answers, strict=True))


def _counts(question: str, news: Any, answers: list[Any]) -> dict[str, int]:
    told = isinstance(news, News)
    looked = question == "look"
    return {
        "looked_at": sum(a.n_rows for a in answers) if looked else 0,
        "support": len(news.support) if told else 0,
        "core": len(news.inside) if told else 0,
        "gathered": news.begin + len(news.gathered) if told else 0,
        "found": sum(len(a.rows) for a in answers) if looked else 0,
        "left": sum(len(part.places) for part in news.left) if told else 0,
    }


def record(n_rows: int, workers: int) -> tuple[list[Round], Result]:
    """The rounds of a fit of generated rows in as many shards as workers, and its result."""
    X, y = rows_of(n_rows)
    shards = RecordedShards(parts_of(X, y, workers))
    rows = Gathering(shards, binary(), CACHE_BYTES, 1, lambda: None)
    rng = np.random.default_rng(SEED)
    result = corrective.solve_over(rows, Stopping(TOL), rng=rng, began=time.perf_counter())
    result = rows.with_numbers_in_x(result)
    rows.forget()
    return shards.rounds, result


def rows_of(n_rows: int) -> tuple[Any, Any]:
    """Clusters that overlap, and features of noise beside; fewer rows are the first of more."""
    X, y = generated(n_rows, 0.0)
    noise = check_random_state(SEED).standard_normal((n_rows, FEATURES - X.shape[1]))
    return np.hstack([X, noise.astype(np.float32)]), y.astype(np.int64)


def binary() -> Binary:
    return Binary(0, (1, 0), C, RBF(gamma()), SEED)


def gamma() -> float:
    X, _ = rows_of(SAMPLED)
    return float(gamma_of("mean_distance", Rows(X), np.ones(len(X))))


def parts_of(X: Any, y: Any, workers: int) -> list[Part]:
    """As many parts of equal length, which compute on one thread."""
    form, ends = Rows(X).form(), [len(y) * k // workers for k in range(workers + 1)]
    parts = []
    for number, (begin, end) in enumerate(pairwise(ends)):
        block = Block.checked(X[begin:end], y[begin:end], None)
        parts.append(Part.of(block, number, begin, form, np.array([0, 1]), np.ones(2)))
        parts[-1].n_jobs = 1
    return parts


# ------------------------------------------------------------------------------- the virtual clock


class Simulated(NamedTuple):
    """Seconds of a fit; those of rounds include what workers compute."""

    driver: float
    rounds: float

    @property
    def seconds(self) -> float:
        return self.driver + self.rounds


def simulated(rounds: Sequence[Round], network: Network, slowest: float = 1.0) -> Simulated:
    """The recorded rounds on a network, where the first worker takes so many times as long."""
    factors = [slowest, *[1.0] * (rounds[0].workers - 1)]
    passed = sum(seconds_of_round(r, network, factors) for r in rounds)
    return Simulated(sum(r.driver_seconds for r in rounds), passed)


def seconds_of_round(asked: Round, network: Network, factors: Sequence[float]) -> float:
    """From the question to the last answer."""
    arrivals = _arrivals(asked.sent, asked.workers, network)
    ready = [
        arrival + factor * seconds + network.latency
        for arrival, factor, seconds in zip(arrivals, factors, asked.worker_seconds, strict=True)
    ]
    free = 0.0  # when the driver's link is
    for at, nbytes in sorted(zip(ready, asked.received, strict=True)):
        free = max(free, at) + nbytes / network.bandwidth
    return free


def _arrivals(nbytes: int, workers: int, network: Network) -> list[float]:
    """When each worker has the message: from the driver, or from workers that have it already."""
    copy = nbytes / network.bandwidth
    if nbytes * workers < SMALL_MESSAGES:
        leaves = network.handling + copy
        return [network.latency + (k + 1) * leaves for k in range(workers)]
    holders = [network.latency + copy]
    arrived = list(holders)
    while len(arrived) < workers:
        holder = heapq.heappop(holders)
        arrived.append(holder + network.latency + copy)
        heapq.heappush(holders, holder + copy)
        heapq.heappush(holders, arrived[-1])
    return [at + (k + 1) * network.handling for k, at in enumerate(arrived)]
