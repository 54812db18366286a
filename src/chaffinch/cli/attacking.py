"""What commands that attack share: their options, the plan and the policy these amount to, and how they show what was found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .measuring import run_facts
from .options import console, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._base.progress import Progress
    from ..risk.attribution.plan import RiskPlan
    from ..table import Table
    from .settings import Choice

__all__ = [
    "Attackers",
    "KeySizes",
    "MaxExcess",
    "TcapConvention",
    "Tolerance",
    "end",
    "named",
    "policy_of",
    "release_risk",
    "risk_plan",
    "show_attacks",
    "too_much",
]

KeySizes = Annotated[str | None, typer.Option(help="Sizes of key subsets to try, as 3-6 or 4; all keys unless given.")]
Attackers = Annotated[
    str | None,
    typer.Option(help="Some of gcap, nb, svm, knn, rf, lr, as A,B; all unless there are more than three key sets."),
]
Tolerance = Annotated[
    list[str] | None,
    typer.Option(
        help="COLUMN=WIDTH: its numbers are rounded to multiples of the width, then equal or not; may be given again."
    ),
]
TcapConvention = Annotated[
    str, typer.Option(help="How TCAP counts: p1, p1_zero, certain, matched or conditional; printed with the result.")
]
MaxExcess = Annotated[
    float | None,
    typer.Option(help="End with 1 if the simultaneous lower bound of the excess is above this; needs a holdout."),
]


def release_risk(
    table: Table,
    outputs: Sequence[Path],
    holdout: Path | None,
    choice: Choice,
    *,
    plan: RiskPlan,
    seed: int | None,
    threads: int | None,
    progress: Progress,
    input: Path,
    limit: float | None,
) -> tuple[dict[str, Any], float | None]:
    """Return what a release gives away as plain data, and the lower bound of its excess.

    Without a holdout the excess is that of models fitted on each half of the people in turn.
    """
    from ..risk import cross_fit, study_risk
    from ..risk.attribution.crossfit import HALF_SIZE

    options: dict[str, Any] = {"plan": plan, "seed": seed, "threads": threads, "progress": progress}
    study = study_risk(table, list(outputs), holdout, **options)
    data = study.to_dict()
    named(data, input, list(outputs), holdout)
    bound = study.lower_bound
    if holdout is None:
        crossed = cross_fit(table, choice.settings, **options)
        told = crossed.to_dict()
        kept = ("about", "attacks", "family", "by_measure", "by_attacker")
        data["cross_fit"] = {**{name: told[name] for name in kept}, "note": HALF_SIZE}
        bound = crossed.lower_bound
    data["policy"] = {"max_excess": limit, "lower_bound": bound, "passed": not too_much(bound, limit)}
    data["run"].update(run_facts())
    return data, bound


def end(bound: float | None, limit: float | None) -> None:
    """End with 1 where the policy says no."""
    if too_much(bound, limit):
        typer.echo(f"The excess is above {bound:.3g} with 95 % confidence; the policy allows {limit:g}.", err=True)
        raise typer.Exit(1)


def too_much(bound: float | None, limit: float | None) -> bool:
    """Return whether a lower bound of the excess is above what a policy allows."""
    return bound is not None and limit is not None and bound > limit


def named(data: dict[str, Any], original: Path, synthetics: list[Path], holdout: Path | None) -> None:
    """Put the names of files into what a study was about."""
    about = data["about"]
    about["original"]["name"] = original.name
    for told, path in zip(about["synthetic"], synthetics, strict=True):
        told["name"] = path.name
    if holdout is not None:
        about["holdout"]["name"] = holdout.name


def risk_plan(
    *,
    keys: str,
    sensitive: str,
    key_sizes: str | None,
    label: str | None,
    attackers: str | None,
    convention: str,
    numeric: str,
    missing: str,
    repeats: int,
    svm_rows: int,
    tolerance: list[str] | None = None,
) -> RiskPlan:
    """Return the plan that the options amount to."""
    from .._base.errors import InputError, unknown_name
    from ..risk.attribution.plan import RiskPlan
    from .journey import names_of

    for what, word, known in (
        ("--numeric", numeric, ("bins", "values")),
        ("--missing", missing, ("level", "wildcard")),
    ):
        if word not in known:
            raise unknown_name(f"{what} mode", word, known)
    if repeats < 1:
        raise InputError(f"repeats must be at least 1. Got {repeats}.")
    return RiskPlan(
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
            raise InputError(f"--tolerance takes COLUMN=WIDTH, as age=5. Got '{word}'.") from None
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

    limit, told = max_excess, {}
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
        told = {"file": path.name, "sha256": hashlib.sha256(text).hexdigest()}
    if limit is None:
        return None, told
    if not 0 <= limit <= 1:
        raise InputError(f"max_excess must lie between 0 and 1. Got {limit:g}.")
    if holdout is None:
        raise InputError(
            "An excess cannot be judged without a holdout: name people who are not in the data with --holdout, or leave out "
            "--max-excess and --policy."
        )
    return limit, told


def show_attacks(data: dict[str, Any]) -> None:
    """Print the attacks, the worst first where there are many."""
    from rich.table import Table as RichTable

    screen = console()
    screen.print(data["about"]["scenario"], markup=False)
    head = (
        "attack",
        "on",
        "keys",
        "value",
        "guess",
        "holdout",
        "original",
        "label only",
        "excess",
        "95 % interval",
        "p, all together",
    )
    table = RichTable(*head, box=None, pad_edge=False)
    attacks = sorted(data["attacks"], key=lambda a: -(a["excess"] if a["excess"] is not None else a["value"] or 0.0))
    for a in attacks[:30]:
        between = a["excess_interval"]
        name = f"{a['measure']} ({a['convention']})" if a["convention"] else a["measure"]
        numbers = [number(a[side]) for side in ("value", "guess", "holdout", "original", "label_only", "excess")]
        ends = f"{number(between[0])} to {number(between[1])}" if between else ""
        table.add_row(name, a["sensitive"], ", ".join(a["keys"]), *numbers, ends, number(a["p_family"]))
    screen.print(table)
    if len(attacks) > 30:
        screen.print(f"The 30 worst of {len(attacks)} attacks; the others are in the JSON.")
    family = data["family"]
    reason = family.get("reason") or family.get("not_applicable")
    if family["p_value"] is None:
        screen.print(reason, markup=False)
    else:
        screen.print(
            f"All attacks together: p = {family['p_value']:.3g} that members and others are alike; some excess is above "
            f"{family['lower_bound']:.3g} with 95 % confidence.",
            markup=False,
        )
