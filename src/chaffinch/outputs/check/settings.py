"""What a check is asked to do: the attack, the ensembles and what is assessed beside, as one type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ..._base.checks import check_at_least, check_name
from ..._base.errors import InputError
from ..evolve import EngineName
from ..margins import KnownMargins
from ..rules import Policy
from .attribution import LEVEL

CheckStart = Literal["margins", "fold", "published", "uniform"]
LeaveOneOut = Literal["excess", "always", "never"]


@dataclass(frozen=True, kw_only=True)
class CheckSettings:
    """What a check is asked to do.

    Parameters
    ----------
    keys, sensitive
        Columns that an attacker may know, and those that an attacker wants to know. Those that are in no output are left out. Not needed for rules
        alone.
    rules_only
        Whether to ask the rules alone, and measure nothing.
    key_sizes
        The least and largest number of keys in a set; 3 to all of them if absent.
    syntheses
        Datasets in the ensemble of each fold.
    holdout_share, repeat_splits
        Who is held out, and how many random splits.
    engine, tolerance
        As in `evolve`, for each dataset.
    start
        What an attacker knows beside the outputs, and datasets begin with: the univariate `margins` of every column (as published, where outputs or
        `weights` tell them; else of all people, held out or not), those of the `fold` behind the outputs in place of all people's, `published` ones
        alone, of which there must be some, or nothing but levels (`uniform`).
    seconds, proposals
        When a search gives up, for each dataset, as in `evolve`; 20 seconds if neither is given. Seconds stand for the proposals that all
        outputs together allow in that time; every search of the check may take as many.
    tau
        The share of a key's rows that must have one value before the attacker takes it.
    level
        Of intervals; those of marginal risks hold for all attributes and conventions together.
    cumulative
        Whether to assess outputs one by one, too (in at most eight steps, so a few at a time where there are many).
    leave_one_out
        Whether to assess the set without each of its outputs: where an `excess` was found, `always` or `never`.
    threshold
        Counts below it are not told; the policy's threshold if absent.
    """

    keys: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    rules_only: bool = False
    key_sizes: tuple[int, int] | None = None
    syntheses: int = 50
    holdout_share: float = 0.5
    repeat_splits: int = 1
    engine: EngineName = "incremental"
    start: CheckStart = "margins"
    seconds: float | None = None
    proposals: int | None = None
    tolerance: float | None = None
    tau: float = 1.0
    level: float = LEVEL
    cumulative: bool = True
    leave_one_out: LeaveOneOut = "excess"
    threshold: int | None = None

    def __post_init__(self) -> None:
        for name, what in (("keys", "keys"), ("sensitive", "sensitive attributes")):
            columns = getattr(self, name)
            names = (columns,) if isinstance(columns, str) else tuple(columns)
            if not names and not self.rules_only:
                raise InputError(
                    f"A check needs {what}. Got none. Name them with --{name}; or ask for the rules alone, which need none: --rules-only."
                )
            if len(set(names)) < len(names):
                raise InputError(f"The {what} must differ from each other. Got one twice.")
            object.__setattr__(self, name, names)
        if self.syntheses < 2:
            raise InputError(
                f"An ensemble needs at least 2 syntheses, and 50 for a fair interval. Got {self.syntheses}."
            )
        check_name("start", self.start, get_args(CheckStart))
        check_name("--leave-one-out mode", self.leave_one_out, get_args(LeaveOneOut))
        check_at_least("The threshold", self.threshold, 1, optional=True)

    def least_shown(self, policy: Policy | None) -> int:
        """Return the smallest count that is told: the threshold, or that of the rules."""
        return (policy or Policy()).threshold if self.threshold is None else self.threshold


@dataclass(frozen=True, kw_only=True)
class ResolvedSettings:
    """The settings that a check ran with, as a result tells them: key sizes, proposals and policy as they came out."""

    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    key_sizes: tuple[int, int]
    key_sets: int  # How many sets of keys there were
    syntheses: int
    holdout_share: float
    repeat_splits: int
    engine: str
    start: str
    proposals: int  # How many each search might take at most; with the seed it repeats the check
    tau: float
    level: float
    seed: int | None
    policy: str
    policy_hash: str  # The SHA-256 of what the rules say
    rules_only: bool = (
        False  # Whether the rules alone were asked for: then nothing above but the policy was used
    )
    margins: KnownMargins = field(
        default_factory=KnownMargins
    )  # The columns whose margins datasets started from, and how these were known

    @classmethod
    def of(cls, settings: CheckSettings, **resolved: Any) -> ResolvedSettings:
        """Return what was asked for, with what became of it."""
        asked = (
            "keys",
            "sensitive",
            "syntheses",
            "holdout_share",
            "repeat_splits",
            "engine",
            "start",
            "tau",
            "level",
            "rules_only",
        )
        return cls(**{name: getattr(settings, name) for name in asked}, **resolved)
