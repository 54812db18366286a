"""Chaffinch: privacy-preserving synthetic microdata. Make it, measure it, attack it, decide.

Names are looked up when first used, so that `import chaffinch` and `chaffinch --help` answer at once.
"""

from typing import TYPE_CHECKING

from ._base.lazy import offer_names

if TYPE_CHECKING:
    from . import errors as errors
    from . import trees as trees
    from .counts import Counter as Counter
    from .counts import MemoryCounter as MemoryCounter
    from .counts import StreamCounter as StreamCounter
    from .counts import describe as describe
    from .privacy.session import prepare as prepare
    from .risk.auditing import audit as audit
    from .risk.membership import ShadowSettings as ShadowSettings
    from .risk.membership import SinglingOutSettings as SinglingOutSettings
    from .risk.membership import membership as membership
    from .risk.singling_out import singling_out as singling_out
    from .risk.study import risk as risk
    from .synth import BayesNet as BayesNet
    from .synth import Evolution as Evolution
    from .synth import FieldGroups as FieldGroups
    from .synth import Independent as Independent
    from .synth import Network as Network
    from .synth import Panel as Panel
    from .synth import PrivBayes as PrivBayes
    from .synth import Protected as Protected
    from .synth.model_file import load as load
    from .table import Column as Column
    from .table import Schema as Schema
    from .table import Table as Table
    from .table import read as read
    from .table import read_schema as read_schema
    from .table import scan as scan
    from .table import write_schema as write_schema
    from .utility.study import utility as utility
    from .workflows.check import check as check
    from .workflows.evolve import evolve as evolve
    from .workflows.frontier.run import frontier as frontier
    from .workflows.plan import plan as plan
    from .workflows.release import release as release
    from .workflows.synthesise import synthesise as synthesise

__version__ = "0.2.0"

offer_names(__name__)
