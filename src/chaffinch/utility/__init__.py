"""What a synthetic table is worth: each measure a function of (original, synthetic) that returns a frozen result."""

from .association import mu, mu_from, pearson, phi_k
from .composite import composite, sweep
from .delta import delta
from .distances import jensen_shannon, marginal_distance
from .impossible import impossible_pairs
from .learning import learning
from .propensity import pmse
from .regression import regression
from .study import MEASURES, UtilityStudy, study_utility

__all__ = [
    "MEASURES",
    "UtilityStudy",
    "composite",
    "delta",
    "impossible_pairs",
    "jensen_shannon",
    "learning",
    "marginal_distance",
    "mu",
    "mu_from",
    "pearson",
    "phi_k",
    "pmse",
    "regression",
    "study_utility",
    "sweep",
]
