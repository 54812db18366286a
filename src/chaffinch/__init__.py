"""Chaffinch: privacy-preserving synthetic microdata. Make it, measure it, attack it, decide.

Names are looked up when first used, so that `import chaffinch` and `chaffinch --help` answer at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._base.errors import (
        BudgetError,
        ChaffinchError,
        ClosedError,
        FileError,
        InputError,
        MissingExtraError,
        PersonalDataWarning,
        PrivacyError,
        SchemaError,
        TooLargeError,
        UnknownNameError,
    )
    from .counts import Counter, Description, Marginal, MemoryCounter, StreamCounter, describe
    from .outputs.check import CheckResult
    from .outputs.document import Outputs, Recipes, Spec, read_outputs, read_recipes, read_spec
    from .outputs.evolve_result import EvolveResult
    from .outputs.rules import Policy, read_policy
    from .privacy.opening import prepare
    from .risk import RiskResult
    from .risk.attribution.study import risk
    from .risk.auditing import AuditResult, audit
    from .risk.membership import MembershipResult, ShadowSettings, membership
    from .risk.singling_out import SinglingOutResult, singling_out
    from .synth import BayesNet, Evolution, FieldGroups, Independent, Network, PrivBayes
    from .synth import load_model as load
    from .table import Column, Note, Scan, Schema, Table, read, read_schema, scan, write_schema
    from .utility.result import UtilityResult
    from .utility.study import utility
    from .workflows.check import check
    from .workflows.evolve import evolve

__version__ = "0.1.0"

_HOMES = {
    "_base.errors": (
        "BudgetError",
        "ChaffinchError",
        "ClosedError",
        "FileError",
        "InputError",
        "MissingExtraError",
        "PersonalDataWarning",
        "PrivacyError",
        "SchemaError",
        "TooLargeError",
        "UnknownNameError",
    ),
    "counts": ("Counter", "Description", "Marginal", "MemoryCounter", "StreamCounter", "describe"),
    "risk": ("RiskResult",),
    "risk.auditing": ("AuditResult", "audit"),
    "risk.membership": ("MembershipResult", "ShadowSettings", "membership"),
    "risk.singling_out": ("SinglingOutResult", "singling_out"),
    "utility": ("UtilityResult",),
    "outputs.check": ("CheckResult",),
    "workflows.check": ("check",),
    "workflows.evolve": ("evolve",),
    "outputs.evolve_result": ("EvolveResult",),
    "outputs.document": ("Outputs", "Recipes", "Spec", "read_outputs", "read_recipes", "read_spec"),
    "outputs.rules": ("Policy", "read_policy"),
    "privacy.opening": ("prepare",),
    "synth": ("BayesNet", "Evolution", "FieldGroups", "Independent", "Network", "PrivBayes"),
    "table": ("Column", "Note", "Scan", "Schema", "Table", "read", "read_schema", "scan", "write_schema"),
}

_CALLABLE = ("risk", "utility")
"""Packages that are functions too."""

__all__ = [
    "AuditResult",
    "BayesNet",
    "BudgetError",
    "ChaffinchError",
    "CheckResult",
    "ClosedError",
    "Column",
    "Counter",
    "Description",
    "Evolution",
    "EvolveResult",
    "FieldGroups",
    "FileError",
    "Independent",
    "InputError",
    "Marginal",
    "MembershipResult",
    "MemoryCounter",
    "MissingExtraError",
    "Network",
    "Note",
    "Outputs",
    "PersonalDataWarning",
    "Policy",
    "PrivBayes",
    "PrivacyError",
    "Recipes",
    "RiskResult",
    "Scan",
    "Schema",
    "SchemaError",
    "ShadowSettings",
    "SinglingOutResult",
    "Spec",
    "StreamCounter",
    "Table",
    "TooLargeError",
    "UnknownNameError",
    "UtilityResult",
    "__version__",
    "audit",
    "check",
    "describe",
    "evolve",
    "load",
    "membership",
    "prepare",
    "read",
    "read_outputs",
    "read_policy",
    "read_recipes",
    "read_schema",
    "read_spec",
    "risk",
    "scan",
    "singling_out",
    "utility",
    "write_schema",
]


def __getattr__(name: str) -> Any:
    if name == "load":
        return import_module(".synth", __name__).load_model
    if name in _CALLABLE:
        return import_module(f".{name}", __name__)
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module 'chaffinch' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
