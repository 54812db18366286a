"""What one released table shows about who was in the data: attackers that need no keys, each a score for every person."""

from .protocol import NotApplicableError, ReleaseCase

# isort: off
# The order of registration: tests run and show in it.
from . import whole_rows, rare_values, distances, key_matches, linkability, predicates, repeated

# isort: on

__all__ = [
    "NotApplicableError",
    "ReleaseCase",
]

del whole_rows, rare_values, distances, key_matches, linkability, predicates, repeated
