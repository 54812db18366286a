"""What one released table shows about who was in the data: tests that are registered in `MEMORISATION_TESTS`, each a score for every person."""

from .protocol import MEMORISATION_TESTS, MemorisationTest, NotApplicableError, ReleaseCase

# isort: off
# The order of registration: tests run and show in it.
from . import whole_rows, rare_values, distances, key_matches, linkability, predicates, repeated

# isort: on
from .finding import MemorisationFinding

__all__ = [
    "MEMORISATION_TESTS",
    "MemorisationFinding",
    "MemorisationTest",
    "NotApplicableError",
    "ReleaseCase",
]

del whole_rows, rare_values, distances, key_matches, linkability, predicates, repeated
