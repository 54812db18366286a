"""What a synthetic table is worth: each metric a file that measures it, says it and registers it in `METRICS`.

The package is a function too: `chaffinch.utility(original, synthetic)` measures every metric in one go.
"""

from .._base.registry import make_callable
from .metric import METRICS, Metric, References, UtilityRun, choices

# isort: off
# The order of registration: metrics run in it, and one that is derived comes after those it is made of.
from .phi_k import phi_k
from .mu import mu, mu_from
from .pearson import pearson
from .jensen_shannon import jensen_shannon
from .tvd import marginal_distance
from .impossible import impossible_pairs
from .rules import broken_rules
from .pmse import pmse
from .regression import regression
from .learning import learning
from .delta import delta
from .composite import baseline_weights, composite

# isort: on
from .composite import sweep
from .metric import UtilitySettings
from .result import UtilityResult, VerdictRow
from .study import measure_utility, utility

__all__ = [
    "METRICS",
    "Metric",
    "References",
    "UtilityResult",
    "UtilityRun",
    "UtilitySettings",
    "VerdictRow",
    "baseline_weights",
    "broken_rules",
    "choices",
    "composite",
    "delta",
    "impossible_pairs",
    "jensen_shannon",
    "learning",
    "marginal_distance",
    "measure_utility",
    "mu",
    "mu_from",
    "pearson",
    "phi_k",
    "pmse",
    "regression",
    "sweep",
]

make_callable(__name__, utility)
