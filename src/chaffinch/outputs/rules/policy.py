"""The policy of a research environment: the numbers that rules of thumb are run with, from a small TOML file with a hash.

    format = "chaffinch-policy"
    version = 1
    name = "our environment"
    threshold = 10

    [kinds.histogram]
    threshold = 5

`docs/rules.md` explains every key. The hash goes into results, so that a decision can be traced to the rules it was made by.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic import Field as Key

from ..._base.checks import check_name
from ..._base.documents import check_head, read_toml, validate_document
from ..._base.masking import THRESHOLD

FORMAT = "chaffinch-policy"
VERSION = 1
MAX_BYTES = 1 << 20

_Share = Annotated[float, Key(gt=0, le=1, allow_inf_nan=False)]
_Count = Annotated[int, Key(ge=1, le=1_000_000)]


class _Rules(BaseModel):
    """The numbers, all of which a kind of output may have for itself."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    threshold: _Count = THRESHOLD
    zeros_are_disclosive: bool = True
    nk_n: _Count = 2
    nk_k: _Share = 0.9
    p_ratio: Annotated[float, Key(ge=0, le=1, allow_inf_nan=False)] = 0.1
    residual_dof: Annotated[int, Key(ge=0, le=1_000_000)] = 10
    pattern_threshold: _Count | None = None
    saturation: _Share = 0.8
    survival_threshold: _Count = 10
    protection: _Count = 1


class Policy(_Rules):
    """The numbers that rules are run with, by the keys of the file. The defaults are ACRO's, where ACRO has the rule.

    Examples
    --------
    >>> policy = Policy(threshold=5, kinds={"histogram": {"threshold": 3}})
    >>> policy.for_kind("table").threshold, policy.for_kind("histogram").threshold, policy.for_kind("logit").pattern_least
    (5, 3, 5)
    """

    name: Annotated[str, Key(min_length=1, max_length=200)] = "default"
    differencing: bool = True
    household: Annotated[str, Key(min_length=1)] | None = None
    weight: Annotated[str, Key(min_length=1)] | None = None
    kinds: dict[str, dict[str, Any]] = Key(default_factory=dict)

    @model_validator(mode="after")
    def _kinds_fit(self) -> Policy:
        from ..kinds import KINDS

        for kind, numbers in self.kinds.items():
            check_name("kind of output", kind, KINDS.names)
            for key in numbers:
                check_name(f"key of [kinds.{kind}]", key, _Rules.model_fields)
            validate_document(_Rules, numbers, f"[kinds.{kind}]")
        return self

    def for_kind(self, kind: str) -> Policy:
        """Return the policy for a kind of output, its own numbers in place."""
        numbers = self.kinds.get(kind)
        return (
            self
            if not numbers
            else self.model_copy(
                update={**_Rules(**numbers).model_dump(include=set(numbers)), "kinds": {}}
            )
        )

    @property
    def pattern_least(self) -> int:
        """The fewest people behind a pattern of covariates."""
        return self.threshold if self.pattern_threshold is None else self.pattern_threshold

    def to_dict(self) -> dict[str, Any]:
        """Return everything in force, by name; columns only where they are named."""
        numbers = {
            "format": FORMAT,
            "version": VERSION,
            **self.model_dump(),
            "pattern_threshold": self.pattern_least,
        }
        numbers = {key: value for key, value in numbers.items() if value is not None}
        numbers["kinds"] = {
            kind: _Rules(**numbers).model_dump(include=set(numbers))
            for kind, numbers in sorted(self.kinds.items())
            if numbers
        }
        return numbers

    @property
    def hash(self) -> str:
        """The SHA-256 of the numbers in force as canonical JSON: the same for two files that say the same."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


class _File(Policy):
    format: Literal["chaffinch-policy"]
    version: Literal[1]
    comment: str | None = None


def read_policy(path: str | os.PathLike[str] | None = None) -> Policy:
    """Return the policy in a TOML file; the default policy without one.

    Examples
    --------
    >>> read_policy().threshold
    10
    """
    if path is None:
        return Policy()
    where = f"'{Path(path)}'"
    next_step = "Name a TOML file that holds the policy."
    data = read_toml(path, what="policy", max_bytes=MAX_BYTES, next_step=next_step)
    check_head(data, where, what="policy", format_=FORMAT, version=VERSION)
    model = validate_document(_File, data, where)
    return Policy(**model.model_dump(exclude={"format", "version", "comment"}, exclude_unset=True))


_OF_ACRO = {
    "safe_threshold": "threshold",
    "safe_dof_threshold": "residual_dof",
    "safe_nk_n": "nk_n",
    "safe_nk_k": "nk_k",
    "safe_pratio_p": "p_ratio",
    "zeros_are_disclosive": "zeros_are_disclosive",
    "survival_safe_threshold": "survival_threshold",
}
_NOT_RULES = (
    "check_missing_values",
    "safe_round_base",
    "federated",
    "blocked_extensions",
    "suppress",
)
"""Keys of ACRO's configuration that are about other things than these rules."""


def policy_of_acro(config: Mapping[str, Any], *, name: str = "ACRO") -> Policy:
    """Return the policy that an ACRO configuration (config.json, default.yaml) amounts to; keys it lacks have the defaults.

    Examples
    --------
    >>> policy_of_acro({"safe_threshold": 5, "suppress": False}).threshold
    5
    """
    known = (*_OF_ACRO, *_NOT_RULES)
    for key in config:
        check_name("key", key, known, prefix="The ACRO configuration: ")
    values = {ours: config[theirs] for theirs, ours in _OF_ACRO.items() if theirs in config}
    return validate_document(Policy, {"name": name, **values}, "The ACRO configuration")
