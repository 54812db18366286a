"""What a synthetic table is worth: each metric a file that measures it, says it and registers it in `METRICS`.

The package is a function too: `chaffinch.utility(original, synthetic)` measures every metric in one go.
"""

from typing import TYPE_CHECKING

from .._base.lazy import offer_names

if TYPE_CHECKING:
    from .composite import baseline_weights as baseline_weights
    from .composite import composite as composite
    from .composite import sweep as sweep
    from .delta import delta as delta
    from .impossible import impossible_pairs as impossible_pairs
    from .jensen_shannon import jensen_shannon as jensen_shannon
    from .learning import learning as learning
    from .metric import METRICS as METRICS
    from .metric import Metric as Metric
    from .metric import References as References
    from .metric import UtilityRun as UtilityRun
    from .metric import choices as choices
    from .mu import mu as mu
    from .mu import mu_from as mu_from
    from .pearson import pearson as pearson
    from .phi_k import phi_k as phi_k
    from .pmse import pmse as pmse
    from .regression import regression as regression
    from .result import UtilityResult as UtilityResult
    from .result import VerdictRow as VerdictRow
    from .rules import broken_rules as broken_rules
    from .settings import UtilitySettings as UtilitySettings
    from .study import measure_utility as measure_utility
    from .tvd import marginal_distance as marginal_distance

offer_names(__name__, answer="study.utility")
