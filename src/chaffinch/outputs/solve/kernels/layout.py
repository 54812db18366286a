"""Where the parts of a flat problem stand, and how kernels are compiled.

The compiler's cache notices changes of the file that a function stands in, and not of those that it calls: after a change here, remove the
`__pycache__` of this folder.
"""

from __future__ import annotations

import numba

# Places in a row of `Program.system`.
FAMILY, PART, WIDTH, EQUATIONS, FIRST_SUM, FIRST_WEIGHT, DIAGONAL = range(7)
TERMS, TERMS_END, KEEP, KEEP_END, ETA, ETA_END, LABEL, FIRST_MULTIPLIER, PREDICTORS = range(7, 16)

# Kinds of moves.
CHANGE, STEP, SWAP, NEAR_SWAP, COPY, COPY_TWO, REPAIR = range(7)

NEAR = 16

SCORE, WEIGHT, LOGLIK, PEARSON = range(4)
MULTINOMIAL = 11
TINY = 1e-12
HALF_LOG_TWO_PI = 0.9189385332046727

njit = numba.njit(nogil=True, cache=True)
