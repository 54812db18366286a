"""Is a promise of privacy kept? Runs on neighbouring tables, and what they prove about epsilon."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from .canaries import Canaries as Canaries
    from .canaries import CanaryRuns as CanaryRuns
    from .canaries import attack_canaries as attack_canaries
    from .canaries import made_canaries as made_canaries
    from .canaries import run_canaries as run_canaries
    from .claims import MEASURES as MEASURES
    from .claims import Claim as Claim
    from .claims import Guessed as Guessed
    from .claims import Measure as Measure
    from .claims import Rule as Rule
    from .claims import Threshold as Threshold
    from .claims import bonferroni_level as bonferroni_level
    from .claims import choose_rule as choose_rule
    from .claims import choose_threshold as choose_threshold
    from .claims import claim_of as claim_of
    from .claims import epsilon_lower as epsilon_lower
    from .claims import guess as guess
    from .claims import power as power
    from .mechanism import MechanismRuns as MechanismRuns
    from .mechanism import attack_mechanism as attack_mechanism
    from .mechanism import couple as couple
    from .mechanism import run_mechanism as run_mechanism
    from .pairs import Pair as Pair
    from .pairs import Skipped as Skipped
    from .pairs import average_pair as average_pair
    from .pairs import made_pair as made_pair
    from .result import AuditResult as AuditResult
    from .result import ClaimVerdict as ClaimVerdict
    from .settings import BOXES as BOXES
    from .settings import MADE as MADE
    from .settings import PAIRS as PAIRS
    from .settings import AuditSettings as AuditSettings
    from .study import audit as audit

offer_names(__name__)
