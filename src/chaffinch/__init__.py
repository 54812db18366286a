"""Chaffinch: privacy-preserving synthetic microdata. Make it, measure it, attack it, decide.

Names are looked up when first used, so that `import chaffinch` and `chaffinch --help` answer at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import errors, trees
    from .counts import Counter, MemoryCounter, StreamCounter, describe
    from .privacy.session import prepare
    from .risk.auditing import audit
    from .risk.membership import ShadowSettings, membership
    from .risk.singling_out import singling_out
    from .risk.study import risk
    from .synth import (
        BayesNet,
        Evolution,
        FieldGroups,
        Independent,
        Network,
        Panel,
        PrivBayes,
        Protected,
    )
    from .synth import load_model as load
    from .table import Column, Schema, Table, read, read_schema, scan, write_schema
    from .utility.study import utility
    from .workflows.check import check
    from .workflows.evolve import evolve
    from .workflows.frontier.run import frontier
    from .workflows.plan import plan
    from .workflows.release import release
    from .workflows.synthesise import synthesise

__version__ = "0.2.0"

_HOMES = {
    "BayesNet": "synth",
    "Column": "table",
    "Counter": "counts",
    "Evolution": "synth",
    "FieldGroups": "synth",
    "Independent": "synth",
    "MemoryCounter": "counts",
    "Network": "synth",
    "Panel": "synth",
    "PrivBayes": "synth",
    "Protected": "synth",
    "Schema": "table",
    "ShadowSettings": "risk.membership",
    "StreamCounter": "counts",
    "Table": "table",
    "audit": "risk.auditing",
    "check": "workflows.check",
    "describe": "counts",
    "evolve": "workflows.evolve",
    "frontier": "workflows.frontier.run",
    "load": "synth:load_model",
    "membership": "risk.membership",
    "plan": "workflows.plan",
    "prepare": "privacy.session",
    "read": "table",
    "read_schema": "table",
    "release": "workflows.release",
    "scan": "table",
    "singling_out": "risk.singling_out",
    "synthesise": "workflows.synthesise",
    "write_schema": "table",
}
"""The module of each name, and after a colon what it is called there."""

_PACKAGES = ("errors", "risk", "trees", "utility")
"""Modules by their own names; `utility` and `risk` are functions too."""

__all__ = [
    "BayesNet",
    "Column",
    "Counter",
    "Evolution",
    "FieldGroups",
    "Independent",
    "MemoryCounter",
    "Network",
    "Panel",
    "PrivBayes",
    "Protected",
    "Schema",
    "ShadowSettings",
    "StreamCounter",
    "Table",
    "__version__",
    "audit",
    "check",
    "describe",
    "errors",
    "evolve",
    "frontier",
    "load",
    "membership",
    "plan",
    "prepare",
    "read",
    "read_schema",
    "release",
    "risk",
    "scan",
    "singling_out",
    "synthesise",
    "trees",
    "utility",
    "write_schema",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'chaffinch' has no attribute '{name}'")
    module, _, original = home.partition(":")
    return getattr(import_module(f".{module}", __name__), original or name)


def __dir__() -> list[str]:
    return sorted(__all__)
