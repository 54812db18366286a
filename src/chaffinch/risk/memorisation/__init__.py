"""What one released table shows about who was in the data: tests that are registered in `MEMORISATION_TESTS`, each a score for every person."""

from .protocol import MEMORISATION_TESTS, MemorisationTest, NotApplicableError, ReleaseCase

# isort: off
# The order of registration: tests run and show in it.
from . import (
    exact_row,
    copied_row,
    rare_value,
    rare_combination,
    density_ratio,
    nearest_row,
    k_map,
    replicated_uniques,
    linkability,
    predicates,
    repeated,
)

# isort: on
from .finding import MemorisationFinding

__all__ = [
    "MEMORISATION_TESTS",
    "MemorisationFinding",
    "MemorisationTest",
    "NotApplicableError",
    "ReleaseCase",
]

del (
    exact_row,
    copied_row,
    rare_value,
    rare_combination,
    density_ratio,
    nearest_row,
    k_map,
    replicated_uniques,
    linkability,
    predicates,
    repeated,
)
