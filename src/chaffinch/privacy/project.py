"""A project ledger: a file that adds up the releases made from the same data, and refuses the one that would be too much.

A release is written down before its data are touched, with the whole budget it may spend, so a fit that fails or is killed stays
counted. The file holds names, labels and budgets, nothing of the data. It is confidential all the same: readable by its owner only.

Proof sketch of the sums. Epsilons and deltas of releases add (basic composition). Rhos of zCDP add (Bun and Steinke 2016, Lemma 1.7), where every
release has one: a pure one has epsilon^2 / 2, a Gaussian one its total, since each of its touches is zCDP with no more than it costs. Amounts
of Gaussian privacy add (`accounting`); a release that has another accounting is taken by its (epsilon, delta): up to a chance of delta it is
epsilon-private (Kairouz, Oh and Viswanath 2015).

With different neighbour relations the total is stated for replace-one. To replace is to remove and then to add, so through the table in
between, P <= e^eps M + delta and M <= e^eps Q + delta give P <= e^(2 eps) Q + (1 + e^eps) delta: epsilon doubles; mu doubles too (Dong, Roth and
Su 2022), so amounts and rhos are taken four times (of zCDP, Bun and Steinke, Proposition 1.9). With different bounds on the
rows of a person, it is stated for the least, as a promise to people with many rows holds for those with few.

Which sum counts is the rule, settled when a ledger is made, so that a limit on it holds also if each budget is chosen after seeing
earlier releases (basic: Rogers, Roth, Ullman and Vadhan 2016; zCDP: Feldman and Zrnic 2021; Gaussian: the head of `accounting`).
"gaussian" and "zcdp" take the smaller of that sum at delta and of the epsilons at a delta of 0, which pure releases have. Split
the outcomes by which of the two held at the end. Those of the one part obey e^epsilon with delta, those of the other e^epsilon with 0: together
delta. "smaller", of ledgers made before there were rules, takes the smaller of the basic sum and of zCDP, both at delta: if it
hangs on what was seen which of them that is, the same argument gives delta twice, and the sentence says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from math import exp, fsum, inf
from pathlib import Path
from typing import Any, Literal, cast, get_args

from .._base.errors import (
    BudgetError,
    ChaffinchError,
    FileError,
    InputError,
    PrivacyError,
    unknown_name,
)
from .._base.files import check_writable, write_text
from .accounting import (
    amount_to_epsilon,
    check_delta,
    check_epsilon,
    pure_to_rho,
    rho_to_epsilon,
    width_to_amount,
)
from .ledger import ROUNDING, SLACK, Account, Budget, Plan, six_digits
from .relation import PrivacyUnit

Rule = Literal["gaussian", "zcdp", "basic", "smaller"]
RULES: tuple[str, ...] = get_args(Rule)
_WORDS = {
    "gaussian": "amounts of Gaussian privacy, or epsilons while all releases are pure",
    "zcdp": "rhos of zCDP, or epsilons while all releases are pure",
    "basic": "epsilons and deltas",
    "smaller": "the smaller of the basic sum and of zCDP",
}


@dataclass(frozen=True)
class Release:
    """One release: its label, when it was written down, the whole budget it may spend, and under which relation."""

    label: str
    when: str
    budget: Budget
    unit: PrivacyUnit
    test_only: bool = False

    def __post_init__(self) -> None:
        check_text(self.label, "label of a release")
        check_text(self.when, "time of a release")
        if not isinstance(self.test_only, bool):
            raise InputError("test_only of a release must be true or false.")

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain data."""
        fields = {"label": self.label, "when": self.when, "test_only": self.test_only}
        return {**fields, **asdict(self.budget), **asdict(self.unit)}


@dataclass(frozen=True)
class Totals:
    """What releases add up to: by the rule, and by each sum that holds by itself.

    `epsilon` is infinity where no sum of the rule keeps within the delta that was asked for. Test-only releases are not in it.
    """

    unit: PrivacyUnit
    epsilon: float
    delta: float
    basic: tuple[float, float]
    zcdp: tuple[float, float, float] | None
    """rho, epsilon and delta."""
    gaussian: tuple[float, float, float] | None
    """rho (mu^2 / 2), epsilon and delta."""
    test_only: int
    rule: Rule
    limited: bool

    @property
    def counted(self) -> str:
        """What counts by the rule, in words."""
        return _WORDS[self.rule]

    @property
    def sentence(self) -> str:
        """The totals in words."""
        text = (
            f"In all epsilon {self.epsilon:.6g}, delta {self.delta:.6g} ({self.unit.description})."
        )
        if self.epsilon == inf:
            text = f"In all no epsilon holds at a delta of {self.delta:.6g}: the deltas of the releases add up to more."
        text += f" By basic composition epsilon {self.basic[0]:.6g}, delta {self.basic[1]:.6g}"
        for name, total in (("zCDP", self.zcdp), ("Gaussian privacy", self.gaussian)):
            if total is not None:
                text += f"; by {name} rho {total[0]:.6g}: epsilon {total[1]:.6g} at delta {total[2]:.6g}"
        text += f". What counts: {self.counted}"
        if not self.limited:
            text += "; without a limit this holds for budgets that were settled beforehand, not for those chosen after seeing a release"
        elif self.rule == "smaller":
            text += (
                f"; if budgets were chosen after seeing earlier releases, the delta that holds is {2 * self.delta:.6g}. "
                "A ledger made now settles its rule beforehand"
            )
        if self.test_only:
            text += f". TEST ONLY releases, which protect nothing and are not in the total: {self.test_only}"
        return text + "."


def add_up(
    releases: Sequence[Release],
    *,
    delta: float | None = None,
    replaced: bool = False,
    rule: Rule = "gaussian",
    limited: bool = True,
) -> Totals:
    """Return the totals of releases by a rule at `delta`; where None, at the sum of their own deltas.

    They are stated for add-remove if all releases are, unless `replaced`; for replace-one otherwise. Promises for a person and for a record add up to one
    for a person who has as many rows as each of them covers.

    Examples
    --------
    >>> once = Release("first", "2025-01-01", Budget(1.0), PrivacyUnit("add-remove"))
    >>> add_up([once, Release("second", "2025-01-02", Budget(1.0), PrivacyUnit("replace-one"))]).epsilon
    3.0
    """
    counted = [release for release in releases if not release.test_only]
    replaced = replaced or any(release.unit.bounded for release in counted)
    rows = min((release.unit.rows_per_person for release in counted), default=1)
    unit = PrivacyUnit(
        "replace-one" if replaced else "add-remove",
        rows,
        any(release.unit.by_person for release in counted),
    )
    doubled = [replaced and not release.unit.bounded for release in counted]
    budgets = [release.budget for release in counted]
    epsilons = [
        budget.epsilon * (2 if twice else 1) for budget, twice in zip(budgets, doubled, strict=True)
    ]
    deltas = [
        (budget.delta or 0.0) * (1 + (exp(min(budget.epsilon, 700.0)) if twice else 0.0))
        for budget, twice in zip(budgets, doubled, strict=True)
    ]
    basic = fsum(epsilons), min(1.0, fsum(deltas))
    target = basic[1] if delta is None else delta
    zcdp, gaussian = _zcdp(budgets, doubled, target), _gaussian(budgets, doubled, target)
    # Beside another sum, epsilons count at a delta of 0 only: see the head of the module.
    max_delta = target * (1 + SLACK) if rule in ("basic", "smaller") else 0.0
    guarantees = [basic] if basic[1] < 1 and basic[1] <= max_delta else []
    other = {"gaussian": gaussian, "zcdp": zcdp, "smaller": zcdp, "basic": None}[rule]
    if other is not None:
        guarantees.append(other[1:])
    epsilon, delta_spent = min(guarantees, default=(inf, target))
    return Totals(
        unit,
        epsilon,
        delta_spent,
        basic,
        zcdp,
        gaussian,
        len(releases) - len(counted),
        rule,
        limited,
    )


def _zcdp(
    budgets: Sequence[Budget], doubled: Sequence[bool], target: float
) -> tuple[float, float, float] | None:
    """Return the rho of releases in all, and its epsilon at delta; None where some has no rho, or too little of delta is left."""
    rhos = [_rho(budget, doubled=twice) for budget, twice in zip(budgets, doubled, strict=True)]
    rest = target - fsum(budget.reserved_delta for budget in budgets)
    if not rhos or None in rhos or not 0 < rest < 1:
        return None
    rho = fsum(rho for rho in rhos if rho is not None)
    return rho, rho_to_epsilon(rho, rest), target


def _rho(budget: Budget, *, doubled: bool) -> float | None:
    """Return the rho of a release; None where none is known (an approximate promise that is pure, or to be doubled)."""
    if budget.kind == "pure":
        rho = None if budget.delta else pure_to_rho(budget.epsilon)
    else:
        rho = None if doubled and budget.reserved_delta else budget.total * (1 + SLACK)
    return rho if rho is None or not doubled else 4 * rho


def _gaussian(
    budgets: Sequence[Budget], doubled: Sequence[bool], target: float
) -> tuple[float, float, float] | None:
    """Return the amount of releases in all, and its epsilon at delta; None where too little of delta is left, or one is to be doubled."""
    amounts, taken, rounding = [], [], []
    for budget, twice in zip(budgets, doubled, strict=True):
        exact = budget.kind == "gaussian"
        amount = budget.total * (1 + SLACK) if exact else width_to_amount(2 * budget.epsilon)
        reserved = budget.reserved_delta if exact else budget.delta or 0.0
        if twice and reserved:
            return None
        amounts.append(amount * (4 if twice else 1))
        taken.append(reserved)
        rounding.append(ROUNDING * budget.epsilon if exact else 0.0)
    rest, loss = target - fsum(taken), fsum(rounding)
    exact_rest = rest * exp(-loss / 2)
    if not amounts or not 0 < exact_rest < 1:
        return None
    amount = fsum(amounts)
    return amount, amount_to_epsilon(amount, exact_rest) + loss, target


def checked_rule(name: str | None) -> Rule | None:
    """Return the rule of a name; raise for one that is none."""
    for rule in get_args(Rule):
        if name == rule:
            return cast(Rule, rule)
    if name is not None:
        raise unknown_name("rule of a project ledger", name, RULES)
    return None


def check_text(value: object, name: str) -> None:
    """Raise unless a value is text that can be printed in a line."""
    if (
        not isinstance(value, str)
        or not value.strip()
        or len(value) > 200
        or not value.isprintable()
    ):
        raise InputError(
            f"The {name} must be text of 1 to 200 characters that can be printed, in one line."
        )


try:
    import fcntl
except ImportError:  # not a POSIX system: a lock file serves there
    fcntl = None  # type: ignore[assignment]


FORMAT = "chaffinch-ledger"
VERSION = 2
OLD_VERSION = 1
"""Files of this version have no rule: they keep the one that held then, the smaller of two sums."""
MOST_BYTES = 16 << 20
WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class Project:
    """A project ledger as it stood when it was read: its file, name of the data, limit (None: no limit), rule and releases."""

    path: Path
    data: str
    epsilon: float | None
    delta: float | None
    releases: tuple[Release, ...] = ()
    rule: Rule = "gaussian"

    def __post_init__(self) -> None:
        check_text(self.data, "name of the data")
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if self.delta is not None:
            object.__setattr__(self, "delta", check_delta(self.delta))
            if self.epsilon is None:
                raise InputError("A limit on delta needs one on epsilon. Give both, or neither.")
        if checked_rule(self.rule) is None:
            raise InputError("A project ledger needs a rule.")

    @property
    def totals(self) -> Totals:
        """What the releases add up to, at the delta of the limit where there is one; a limit without a delta has a delta of 0."""
        return add_up(
            self.releases, delta=self._target, rule=self.rule, limited=self.epsilon is not None
        )

    @property
    def _target(self) -> float | None:
        return 0.0 if self.delta is None and self.epsilon is not None else self.delta

    def spend(
        self,
        what: Account | Plan,
        label: str,
        *,
        test_only: bool | None = None,
        allow_test_only: bool = False,
    ) -> Project:
        """Write a release down before its data are touched, and return the project with it.

        The file is read anew under a lock, so that processes that spend at once cannot exceed the limit together. Raises BudgetError
        if it would be exceeded, and PrivacyError for a test-only fit under a limit: seeded noise protects nothing.
        """
        seeded = (
            test_only if test_only is not None else isinstance(what, Account) and what.test_only
        )
        if isinstance(what, Account) and what.test_only and not seeded:
            raise InputError(
                "test_only cannot be False for an account of a test-only fit: its noise came from a seed."
            )
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        release = Release(label, now, what.budget, what.unit, seeded)
        with _lock(self.path):
            current = open_project(self.path)
            if seeded and current.epsilon is not None and not allow_test_only:
                raise PrivacyError(
                    f"The project ledger of '{current.data}' has a limit, and this fit is test-only: noise from a seed protects "
                    "nothing. Fit without a seed, or without the ledger if nothing made from it will leave."
                )
            after = replace(current, releases=(*current.releases, release))
            if not seeded:
                _admit(current, after, release)
            write_text(
                self.path,
                json.dumps(after._file(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
                mode=0o600,
                overwrite=True,
            )
        return after

    def _file(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "data": self.data,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rule": self.rule,
            "releases": [release.to_dict() for release in self.releases],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the project as plain data, with its totals."""
        totals = self.totals
        plain = asdict(totals) | {
            "epsilon": None if totals.epsilon == inf else totals.epsilon,
            "sentence": totals.sentence,
        }
        return {**self._file(), "totals": plain}


def _admit(before: Project, after: Project, release: Release) -> None:
    """Raise BudgetError if the limit would be exceeded."""
    limit, total = after.epsilon, after.totals
    if limit is None or total.epsilon <= limit * (1 + SLACK):
        return
    if total.epsilon == inf:
        had = "no delta" if after.delta is None else f"a delta of {after.delta:.6g}"
        raise BudgetError(
            f"Privacy budget exceeded: with '{release.label}' the deltas would add up to {total.basic[1]:.6g}, and the limit of "
            f"'{after.data}' has {had}. Nothing was touched. Ask for a smaller delta, or for none."
        )
    doubled = total.unit.bounded and not release.unit.bounded
    asked = release.budget.epsilon * (2 if doubled else 1)
    earlier = add_up(
        before.releases, delta=before._target, replaced=total.unit.bounded, rule=before.rule
    )
    remaining = max(0.0, limit - earlier.epsilon)
    raise BudgetError(
        f"Privacy budget exceeded: {six_digits(asked)} asked, {six_digits(remaining)} left of {six_digits(limit)}. These are epsilons of all releases of "
        f"'{after.data}' ({total.unit.description}; the ledger counts {total.counted}); with '{release.label}' they would come to "
        f"{six_digits(total.epsilon)}. Nothing was touched."
    )


def create_project(
    path: str | os.PathLike[str],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    data: str,
    rule: Rule | None = None,
) -> Project:
    """Write a new project ledger and return it; never over a file that exists. Without an epsilon it adds up and refuses nothing.

    `rule` says which sum of the releases is held to the limit, from now on: "gaussian", "zcdp" or "basic" (see above). Unless given it is
    "gaussian"; without a limit "smaller", which shows the smaller of two sums.
    """
    settled: Rule = rule if rule is not None else "smaller" if epsilon is None else "gaussian"
    if settled == "smaller" and epsilon is not None:
        raise InputError(
            "A limit needs a rule that says beforehand which sum counts: 'gaussian', 'zcdp' or 'basic'."
        )
    project = Project(check_writable(path).resolve(), data, epsilon, delta, rule=settled)
    text = json.dumps(project._file(), indent=2, ensure_ascii=False) + "\n"
    try:
        # Not `write_text`, which replaces: of two that create at once, one must fail.
        handle = os.open(project.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise FileError(
            f"Cannot make the ledger '{path}': the file exists. Name another, or spend from that one."
        ) from None
    except OSError as error:
        raise FileError(
            f"Cannot write '{path}': {error.strerror or 'the system refused'}."
        ) from error
    return project


def is_project(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as JSON, as a project ledger does and a model file does not."""
    try:
        with open(path, "rb") as file:
            return file.read(1) == b"{"  # a model file begins with a multiple of 8
    except OSError:
        return False


def open_project(path: str | os.PathLike[str]) -> Project:
    """Return the project in a file; raise FileError for any other or damaged file, and leave that as it is.

    Symbolic links lead to their file. A file with several names (hard links) is refused, since each would have a balance of its own.
    """
    file = Path(path).resolve()
    if file.exists() and not file.is_file():  # a pipe would be waited for
        raise FileError(f"'{path}' is no file that a project ledger could be kept in. Name one.")
    try:
        with open(file, "rb") as handle:
            raw, links = handle.read(MOST_BYTES + 1), os.fstat(handle.fileno()).st_nlink
    except FileNotFoundError:
        raise FileError(
            f"No such file: '{path}'. `chaffinch ledger PATH --new` makes a project ledger."
        ) from None
    except OSError as error:
        raise FileError(f"Cannot read '{path}': {error.strerror}.") from error
    if links > 1:
        # A release is written to a new file that takes the place of one name: the others would keep the old balance.
        raise FileError(
            f"'{path}' has {links} names (hard links), and a release that is entered under one would not be seen under another. Keep "
            "the name that has all releases and remove the others; a symbolic link may stand in their place."
        )
    try:
        if len(raw) > MOST_BYTES:
            raise ValueError
        data = json.loads(raw.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError
    except (ValueError, RecursionError):
        raise FileError(
            f"'{path}' is not a project ledger, or it is damaged. It was left as it is."
        ) from None
    version = data.get("version")
    if version not in (OLD_VERSION, VERSION) or isinstance(version, bool):
        raise FileError(
            f"'{path}' has another version; this release reads up to {VERSION}. Use a newer release."
        )
    try:
        if version == OLD_VERSION:
            if "rule" in data:
                raise ValueError
            data["rule"] = "smaller"
        releases = tuple(_release(entry) for entry in data["releases"])
        project = Project(
            file, data["data"], data["epsilon"], data["delta"], releases, data["rule"]
        )
        if set(project._file()) != set(data) or not isinstance(data["releases"], list):
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, ChaffinchError):
        raise FileError(
            f"'{path}' is damaged: it is not as Chaffinch writes it. It was left as it is."
        ) from None
    return project


def _release(entry: dict[str, Any]) -> Release:
    budget = Budget(entry["epsilon"], entry["delta"], entry["accounting"], entry["reserved_delta"])
    unit = PrivacyUnit(entry["neighbours"], entry["rows_per_person"], entry.get("by_person", False))
    release = Release(entry["label"], entry["when"], budget, unit, entry["test_only"])
    if set(release.to_dict()) != {"by_person", *entry} or entry["accounting"] is None:
        raise ValueError
    return release


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; a name given twice could show one budget to us and another to the next reader."""
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError
    return entries


def _no_constant(_name: str) -> None:
    raise ValueError


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the only lock on a project ledger."""
    with contextlib.ExitStack() as stack:
        try:
            if fcntl is None:
                _lock_file(path, stack)
            else:
                _flock(path, stack)
        except FileNotFoundError:
            raise FileError(f"No such file: '{path}'. It was there when it was opened.") from None
        except FileError:
            raise
        except OSError as error:
            raise FileError(
                f"Cannot lock '{path}': {error.strerror}. Keep it on a local disk."
            ) from error
        yield


def _flock(path: Path, stack: contextlib.ExitStack) -> None:
    while True:
        handle = os.open(path, os.O_RDONLY)
        closing = stack.enter_context(contextlib.ExitStack())
        closing.callback(os.close, handle)
        fcntl.flock(handle, fcntl.LOCK_EX)
        # Whoever held the lock before has put a new file in place: a lock on the old one guards nothing.
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return
        closing.close()


def _lock_file(path: Path, stack: contextlib.ExitStack) -> None:
    lock, until = path.with_name(f".{path.name}.lock"), time.monotonic() + WAIT_SECONDS
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            if time.monotonic() > until:
                raise FileError(
                    f"'{path}' is locked. If no other process uses it, remove '{lock}'."
                ) from None
            time.sleep(0.02)
        else:
            stack.callback(lock.unlink, missing_ok=True)
            return
