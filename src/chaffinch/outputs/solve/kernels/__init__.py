"""The compiled kernels of the incremental search: sums from scratch, what a move changes, and the search itself.

A move changes one or two records in one or two columns. What it does to the objective is worked out from the touched terms alone:
cells of tables are bumped (and bumped back when the move is refused); the change d of a system's sums S, a few entries, changes its
quadratic Q by d'g + d'Ad, where A is the weight matrix and g = 2A(S - aim). Numbers that drift by rounding are summed afresh
between blocks (`sums_from_scratch`).
"""

from .local_search import candidates, search
from .records import COPY_TWO, gram, square_sums, sums_from_scratch

__all__ = ["COPY_TWO", "candidates", "gram", "search", "square_sums", "sums_from_scratch"]
