"""What a check is asked to do: the attack and its searches, the outputs and what was released before, and what is written. Nothing heavy is imported here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ..._base.errors import InputError
from ..._base.options import FILES, LEARN, MEASURE, PRIVACY, Declared, Option
from ...table.settings import KeyColumns, Reading, SensitiveColumns
from ..solve.settings import SearchSettings

if TYPE_CHECKING:
    from ..document import Outputs
    from ..rules import Policy

CheckStart = Literal["margins", "fold", "published", "uniform"]
LeaveOneOut = Literal["excess", "always", "never"]

LEVEL = 0.95
"""The confidence of intervals."""


@dataclass(frozen=True, kw_only=True)
class CheckSettings(Declared):
    """What is measured of outputs.

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
    start
        What an attacker knows beside the outputs, and datasets begin with: the univariate `margins` of every column (as published, where outputs or
        `weights` tell them; else of all people, held out or not), those of the `fold` behind the outputs in place of all people's, `published` ones
        alone, of which there must be some, or nothing but levels (`uniform`).
    search
        How each dataset is searched for.
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

    keys: KeyColumns = ()
    sensitive: SensitiveColumns = ()
    rules_only: Annotated[
        bool,
        Option("Ask the rules alone, in a second or two: measure nothing.", basic=True),
    ] = False
    key_sizes: Annotated[
        tuple[int, int] | None,
        Option("Sizes of key subsets to try, as 3-6 or 4. Default: 3 to all.", panel=MEASURE),
    ] = None
    syntheses: Annotated[
        int,
        Option("Datasets to evolve for each fold.", panel=MEASURE, unit="datasets", ge=2),
    ] = 50
    holdout_share: Annotated[
        float, Option("Share of the people to hold out of a fold.", panel=MEASURE, gt=0, le=0.5)
    ] = 0.5
    repeat_splits: Annotated[
        int, Option("Random splits of the people into folds.", panel=MEASURE, ge=1)
    ] = 1
    start: Annotated[
        CheckStart,
        Option(
            "What attackers know beside the outputs: margins of columns (of all, fold, published), or uniform.",
            panel=LEARN,
        ),
    ] = "margins"
    search: SearchSettings = field(default_factory=SearchSettings)
    tau: Annotated[
        float,
        Option("TCAP: share of rows with a key that agree, from which it answers.", gt=0.5, le=1),
    ] = 1.0
    level: Annotated[float, Option("Confidence of intervals.", gt=0, lt=1)] = LEVEL
    cumulative: Annotated[
        bool,
        Option(
            "Assess all outputs at once alone, and not one after the other.",
            flag="--no-cumulative",
            panel=MEASURE,
        ),
    ] = True
    leave_one_out: Annotated[
        LeaveOneOut,
        Option(
            "Assess outputs without each of them: after an excess, always or never.", panel=MEASURE
        ),
    ] = "excess"
    threshold: Annotated[
        int | None,
        Option(
            "Records that must share a value or a cell before it shows. Default: that of the rules.",
            panel=PRIVACY,
            unit="records",
            ge=1,
        ),
    ] = None

    def check_attack(self) -> None:
        """Raise unless there is somebody to attack with and something to find out, or the rules alone are asked."""
        for name, what in (("keys", "keys"), ("sensitive", "sensitive attributes")):
            columns = getattr(self, name)
            if not columns and not self.rules_only:
                raise InputError(
                    f"A check needs {what}. Got none. Name them with --{name}; or ask for the rules alone, which need none: --rules-only."
                )
            if len(set(columns)) < len(columns):
                raise InputError(f"The {what} must differ from each other. Got one twice.")

    def display_threshold(self, policy: Policy | None) -> int:
        """Return the smallest count that is shown: the threshold, or that of the rules."""
        from ..rules import Policy

        return (policy or Policy()).threshold if self.threshold is None else self.threshold


@dataclass(frozen=True, kw_only=True)
class SourceSettings(Declared):
    """Which outputs are checked, by which rules, and beside what was released before.

    `released` may be recipes, too, and `rules` a `Policy`.
    """

    only: Annotated[
        Sequence[str],
        Option(
            "Check this output alone; may be given again, or as A,B.",
            basic=True,
            panel=MEASURE,
            repeated=True,
            metavar="NAME",
        ),
    ] = ()
    exclude: Annotated[
        Sequence[str],
        Option(
            "Check all outputs but this one; may be given again, or as A,B.",
            flag="--except",
            panel=MEASURE,
            repeated=True,
            metavar="NAME",
        ),
    ] = ()
    accept_ignored: Annotated[
        bool, Option("Let outputs that outputs.toml ignores leave without an assessment.")
    ] = False
    released: Annotated[
        Path | Outputs | None,
        Option(
            "File of outputs that this project has released already.",
            basic=True,
            panel=FILES,
            leaves=False,
            read=Path,
        ),
    ] = None
    record: Annotated[
        bool,
        Option(
            "Add the outputs to the file of --released, if they pass; made if absent.", panel=FILES
        ),
    ] = False
    rules: Annotated[
        Path | Policy | None,
        Option(
            "Rules to check by (TOML). Default: the ACRO folder's, or the usual ones.",
            panel=FILES,
            leaves=False,
            read=Path,
        ),
    ] = None
    recipes: Annotated[
        Path | None,
        Option(
            "ACRO folder: file of outputs, named as results that cannot be read.",
            panel=FILES,
            leaves=False,
            read=Path,
        ),
    ] = None
    replace_readable: Annotated[
        bool, Option("Judge recipes in the place of results that can be read, too.")
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.only and self.exclude:
            raise InputError(
                "Give --only or --except, not both: each says which outputs are checked."
            )
        if self.record and not isinstance(self.released, str | os.PathLike):
            raise InputError(
                "--record needs --released FILE: the file that the outputs are to be added to."
            )
        if self.replace_readable and self.recipes is None:
            raise InputError(
                "--replace-readable needs --recipes FILE: the recipes that may stand for results."
            )


@dataclass(frozen=True, kw_only=True)
class DeliverySettings(Declared):
    """What is written beside the result, and whether mitigations are looked for.

    `acro_write_back` is a folder for a copy of the ACRO folder, with the result as one more output and comments. Mitigated outputs (`write`) are a document and CSV
    tables, written only if they pass; the search is `result.mitigation`, the check of the changed outputs `result.mitigated`.
    """

    confidential: Annotated[
        Path | None,
        Option(
            "Write exposed classes and the cells behind each rule: confidential, readable by you alone.",
            panel=FILES,
            leaves=False,
            read=Path,
        ),
    ] = None
    acro_write_back: Annotated[
        Path | None,
        Option(
            "Copy the ACRO folder here, with the result as an output and comments.",
            panel=FILES,
            leaves=False,
            read=Path,
        ),
    ] = None
    mitigate: Annotated[
        bool,
        Option(
            "Look for the least change after which the outputs pass, and check again.",
            basic=True,
            panel=MEASURE,
        ),
    ] = False
    write: Annotated[
        Path | None,
        Option(
            "With --mitigate: new folder for the mitigated outputs, if they pass.",
            panel=FILES,
            leaves=False,
            read=Path,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.write is not None and not self.mitigate:
            raise InputError("--write is for mitigated outputs: add --mitigate.")


@dataclass(frozen=True, kw_only=True)
class CheckJob(Declared):
    """A check from files to a result: what is measured, which outputs are checked, how records are read, what is written."""

    settings: CheckSettings = field(default_factory=CheckSettings)
    sources: SourceSettings = field(default_factory=SourceSettings)
    delivery: DeliverySettings = field(default_factory=DeliverySettings)
    reading: Reading = field(default_factory=lambda: Reading(rare="keep"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reading.rare != "keep":
            raise InputError(
                f"rare must be 'keep' in a check, since outputs are of all levels. Got '{self.reading.rare}'. Leave out --rare."
            )
