"""A model that takes tables as they were read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Preparation, Table
from ..dual import Floats
from ..estimators import SVC


@dataclass(frozen=True)
class TableModel:
    """A `Preparation` and the SVC that was fitted to what it makes.

    Parameters
    ----------
    preparation : Preparation
    svc : SVC
    target_name : str, optional
        Column of the targets in the training table.
    """

    preparation: Preparation
    svc: SVC
    target_name: str | None = None

    def predict(self, table: Table) -> NDArray[Any]:
        """The class of each row."""
        return self.svc.predict(self.preparation.apply(table))

    def decision_function(self, table: Table) -> Floats:
        """Scores, as `SVC.decision_function` gives them."""
        return self.svc.decision_function(self.preparation.apply(table))

    def score(self, table: Table) -> float:
        """Accuracy on the targets of the table."""
        if table.y is None:
            raise ValueError("expected a table with targets")
        return float(np.mean(self.predict(table) == table.y))
