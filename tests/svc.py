"""Data, and every solver, for the tests of SVC."""

import pytest
from sklearn.datasets import make_classification

from fwsvm.parameters import SOLVERS

each_solver = pytest.mark.parametrize("solver", SOLVERS)


def make_data(n=150, n_classes=2, seed=0, n_features=4):
    """Overlapping classes, so that many rows are support vectors at a bound."""
    return make_classification(
        n,
        n_features,
        n_informative=n_features,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=0.8,
        random_state=seed,
    )
