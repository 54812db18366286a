"""What commands that attack a table share: their options, the settings and the policy these amount to, and how they show results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .measuring import run_facts
from .options import console

if TYPE_CHECKING:

    from ..risk import RiskResult, RiskSettings
    from ..risk.attribution.result import CrossFit

__all__ = [
    "Attackers",
    "KeySizes",
    "MaxExcess",
    "TcapConvention",
    "Tolerance",
    "end",
    "policy_of",
    "risk_settings",
    "show_attacks",
    "with_policy",
]

KeySizes = Annotated[str | None, typer.Option(help="Sizes of key subsets to try, as 3-6 or 4; all keys unless given.")]
Attackers = Annotated[
    str | None,
    typer.Option(help="Some of {attackers}, as A,B; all unless there are more than three key sets."),
]
Tolerance = Annotated[
    list[str] | None,
    typer.Option(
        help="COLUMN=WIDTH: its numbers are rounded to multiples of the width, then equal or not; may be given again."
    ),
]
TcapConvention = Annotated[str, typer.Option(help="How TCAP counts: {conventions}; printed with the result.")]
MaxExcess = Annotated[
    float | None,
    typer.Option(help="End with 1 if the simultaneous lower bound of the excess is above this; needs a holdout."),
]


def with_policy(result: RiskResult, limit: float | None, file: dict[str, Any] | None = None) -> RiskResult:
    """Return a result with what was allowed, whether it keeps to that, and what ran it."""
    bound = result.lower_bound
    policy = {**(file or {}), "max_excess": limit, "lower_bound": bound, "passed": not _too_much(bound, limit)}
    return replace(result, policy=policy, run=replace(result.run, **run_facts()))


def end(bound: float | None, limit: float | None) -> None:
    """End with 1 where the policy says no."""
    if _too_much(bound, limit):
        typer.echo(f"The excess is above {bound:.3g} with 95 % confidence; the policy allows {limit:g}.", err=True)
        raise typer.Exit(1)


def _too_much(bound: float | None, limit: float | None) -> bool:
    return bound is not None and limit is not None and bound > limit


def risk_settings(
    *, keys: str, sensitive: str, key_sizes: str | None, label: str | None, attackers: str | None, convention: str, numeric: str = "bins",
    missing: str = "level", repeats: int = 1000, svm_rows: int, tolerance: list[str] | None = None,
) -> RiskSettings:  # fmt: skip
    """Return the settings that the options amount to."""
    from .._base.errors import InputError, unknown_name
    from ..risk import RiskSettings
    from .journey import names_of

    for what, word, known in (
        ("--numeric", numeric, ("bins", "values")),
        ("--missing", missing, ("level", "wildcard")),
    ):
        if word not in known:
            raise unknown_name(f"{what} mode", word, known)
    if repeats < 1:
        raise InputError(f"repeats must be at least 1. Got {repeats}.")
    return RiskSettings(
        keys=names_of(keys), sensitive=names_of(sensitive), key_sizes=_sizes(key_sizes), label=label,
        attackers=names_of(attackers) or None, convention=convention, numeric=numeric, missing=missing,  # type: ignore[arg-type]
        resamples=repeats, svm_rows=svm_rows or None, tolerance=_widths(tolerance),
    )  # fmt: skip


def _widths(words: list[str] | None) -> dict[str, float]:
    from .._base.errors import InputError

    out = {}
    for word in words or ():
        name, _, width = word.rpartition("=")
        try:
            out[name] = float(width)
        except ValueError:
            name = ""
        if not name:
            raise InputError(f"--tolerance takes COLUMN=WIDTH, as age=5. Got '{word}'.")
    return out


def _sizes(words: str | None) -> tuple[int, int] | None:
    from .._base.errors import InputError

    if words is None:
        return None
    low, _, high = words.partition("-")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise InputError(f"--key-sizes takes a size or a range, as 4 or 3-6. Got '{words}'.") from None


def policy_of(path: Path | None, max_excess: float | None, holdout: Path | None) -> tuple[float | None, dict[str, Any]]:
    """Return the excess that is allowed, and the policy file's name and hash; raise where it cannot be judged."""
    import hashlib
    import tomllib

    from .._base.errors import FileError, InputError

    limit, file = max_excess, {}
    if path is not None:
        try:
            text = path.read_bytes()
            data = tomllib.loads(text.decode("utf-8"))
        except OSError as error:
            raise FileError(f"Cannot read '{path}': {error.strerror or 'the system refused'}.") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            raise InputError(f"'{path}' is no policy: it is not TOML. Write max_excess = 0.02 in it.") from None
        if unknown := sorted(set(data) - {"max_excess"}):
            raise InputError(f"'{path}': unknown key '{unknown[0]}'. Keys: max_excess.")
        given = data.get("max_excess")
        if not isinstance(given, int | float) or isinstance(given, bool):
            raise InputError(f"'{path}': max_excess must be a number from 0 to 1.")
        limit = float(given) if limit is None else limit
        file = {"file": path.name, "sha256": hashlib.sha256(text).hexdigest()}
    if limit is None:
        return None, file
    if not 0 <= limit <= 1:
        raise InputError(f"max_excess must lie between 0 and 1. Got {limit:g}.")
    if holdout is None:
        raise InputError(
            "An excess cannot be judged without a holdout: name people who are not in the data with --holdout, or leave out "
            "--max-excess and --policy."
        )
    return limit, file


def show_attacks(result: RiskResult | CrossFit) -> None:
    """Print the attacks, the worst first where there are many."""
    from rich.table import Table as RichTable

    from ..risk.attribution.result import HEAD, MOST, attack_rows

    screen = console()
    screen.print(result.about.scenario, markup=False)
    table = RichTable(*HEAD, box=None, pad_edge=False)
    rows = attack_rows(result.attacks)
    for row in rows[:MOST]:
        table.add_row(*row)
    screen.print(table)
    if len(rows) > MOST:
        screen.print(f"The {MOST} worst of {len(rows)} attacks; the others are in the JSON.")
    family = result.family
    if family.p_value is None or family.lower_bound is None:
        screen.print(family.reason, markup=False)
    else:
        screen.print(
            f"All attacks together: p = {family.p_value:.3g} that members and others are alike; some excess is above "
            f"{family.lower_bound:.3g} with 95 % confidence.",
            markup=False,
        )
