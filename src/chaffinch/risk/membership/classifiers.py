"""Meta-classifiers by name: from features of synthetic tables to the chance that a target was in the data.

The tables of one shadow share a fit and are not independent: folds are of shadows, never of tables.
"""

from __future__ import annotations

from typing import Any

from ..._base.errors import unknown_name
from .attacker import ATTACKERS, Kind, Learner

KINDS = ("counts", "real")


def learner(name: str = "linear", *, kind: Kind = "counts", **options: Any) -> Learner:
    """Return a learner by the name under which it is registered.

    Parameters
    ----------
    kind
        "counts" (at least 0), or "real" numbers such as log-probabilities, of which those that are not finite are replaced.
    options
        Of linear: `steps` of conjugate gradients; with 12 more bring nothing. Of extra-trees: `draws`, how many settings the random
        search tries; 50 in the literature.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([5, 6, 5, 0, 1, 0, 6, 1])[:, None, None]  # eight shadows, one table each, one count
    >>> attacker = learner().fit(x, x[:, 0, 0] > 2, seed=1)
    >>> attacker.auc, (attacker.chance([[7], [0]]) > 0.5).tolist()
    (1.0, [True, False])
    """
    if kind not in KINDS:
        raise unknown_name("kind", kind, KINDS)
    return ATTACKERS[name].learner(kind, **options)
