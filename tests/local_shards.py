"""Parts in this process, for tests of what a cluster does to them."""

import pickle
from itertools import pairwise

import numpy as np

from fwsvm import Rows
from fwsvm.shards import Binary, Block, Gathering, Part, answer
from fwsvm.solvers import Stopping, corrective


class LocalShards:
    """Answers as workers do that have some of the parts each; messages are pickled."""

    def __init__(self, parts, workers=None):
        self.parts, self.form = parts, parts[0].rows.form()
        self.workers = [range(len(parts))] if workers is None else workers
        self.asked = []

    def ask(self, question, *arguments, check_time, among=None):
        check_time()
        self.asked.append(question)
        answers = {}
        for numbers in self.workers:
            numbers = [k for k in numbers if among is None or k in among]
            if numbers:
                sent = pickle.loads(pickle.dumps(arguments))
                given = answer([self.parts[k] for k in numbers], question, sent)
                given = [None] * len(numbers) if given is None else given
                answers |= dict(zip(numbers, pickle.loads(pickle.dumps(given)), strict=True))
        return answers


def parts_of(X, y, cuts, weights=None, classes=(0, 1)):
    """Parts that end at these rows."""
    form = Rows(X).form()
    weights = np.ones(len(y)) if weights is None else weights
    ends = [0, *cuts, len(y)]
    parts = []
    for begin, end in pairwise(ends):
        if end > begin:
            some = slice(begin, end)
            block = Block.checked(X[some], y[some], weights[some])
            factors = np.ones(len(classes))
            parts.append(Part.of(block, len(parts), begin, form, np.array(classes), factors))
    return parts


def gathering_of(shards, kernel, C=1.0, seed=0):
    return Gathering(shards, Binary(0, (1, 0), C, kernel, seed), 200 * 2**20, 1, lambda: None)


def solve(shards, kernel, C=1.0, tol=1e-3, seed=0):
    """The result of a binary problem, with numbers of X, and its gathering."""
    rows, rng = gathering_of(shards, kernel, C, seed), np.random.default_rng(seed)
    result = corrective.solve_over(rows, Stopping(tol), rng=rng, began=0.0)
    return rows.with_numbers_in_x(result), rows
