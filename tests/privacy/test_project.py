"""Project ledgers: what releases add up to, limits, damaged files, and processes that spend at once."""

from __future__ import annotations

import errno
import json
import math
import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

import chaffinch
from chaffinch._base.errors import BudgetError, PrivacyError
from chaffinch.cli.app import app
from chaffinch.cli.ledger import NO_PROMISE
from chaffinch.privacy import accounting as acc
from chaffinch.privacy import project as project_module
from chaffinch.privacy.accounting import amount_to_epsilon, gaussian_delta
from chaffinch.privacy.ledger import ROUNDING, Budget, Charge, Ledger, Plan, Step
from chaffinch.privacy.project import Release, add_up, create_project, is_project, open_project
from chaffinch.privacy.relation import PrivacyUnit

ADD, SWAP = PrivacyUnit("add-remove"), PrivacyUnit("replace-one")


def plan(epsilon, delta=None, unit=ADD, **options) -> Plan:
    return Plan(Budget(epsilon, delta, **options), unit, ())


def account(epsilon=0.5, *, test_only=False):
    book = Ledger(Budget(epsilon), ADD)
    book.charge(
        Charge(
            "table of [bold]age",
            "measure",
            epsilon=0.25,
            mechanism="discrete Laplace",
            noise="scale 4",
        )
    )
    return book.account(test_only=test_only, rows=100, rows_how="measured")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "census.json"


def test_spending_is_written_before_and_survives(path):
    project = create_project(path, epsilon=1.0, delta=1e-6, data="Census 2021")
    assert oct(path.stat().st_mode)[-3:] == "600"
    project.spend(plan(0.5), "first")
    assert [r.label for r in open_project(path).releases] == ["first"]  # by another reader, at once
    after = project.spend(account(0.25), "second")  # from the stale object: the file counts
    assert [r.label for r in after.releases] == ["first", "second"]
    assert open_project(path) == after
    assert oct(path.stat().st_mode)[-3:] == "600"
    text = path.read_bytes()
    with pytest.raises(
        BudgetError,
        match=r"0\.5 asked, 0\.25 left of 1\.0\. These are epsilons of all releases of 'Census 2021' .* come to 1\.25",
    ):
        after.spend(plan(0.5), "third")
    assert path.read_bytes() == text
    assert after.spend(plan(0.25), "third").totals.epsilon == pytest.approx(1.0)
    assert sorted(p.name for p in path.parent.iterdir()) == [
        path.name
    ]  # no lock and no half file left


def test_a_change_of_relation_counts_what_went_before_anew(path):
    project = create_project(path, epsilon=3.0, data="d")
    project.spend(plan(1.5), "first")
    with pytest.raises(
        BudgetError, match=r"1\.5 asked, 0\.0 left of 3\.0.*replace one record.*come to 4\.5"
    ):
        project.spend(plan(1.5, unit=SWAP), "second")
    assert project.spend(plan(1.5), "second").totals.epsilon == 3.0


def test_deltas_are_limited_too(path):
    project = create_project(path, epsilon=5.0, data="d")
    with pytest.raises(
        BudgetError, match=r"deltas would add up to 1e-09, and the limit of 'd' has no delta"
    ):
        project.spend(plan(0.1, 1e-9), "gaussian")
    with_delta = create_project(path.with_name("b.json"), epsilon=5.0, delta=1e-9, data="d")
    with pytest.raises(BudgetError, match="has a delta of 1e-09"):
        with_delta.spend(plan(0.1, 1e-6, accounting="pure"), "pure with a delta")
    # The zCDP sum needs no more than its own delta, however large the deltas of releases.
    with_delta.spend(plan(0.1, 1e-6), "zcdp")
    assert open_project(with_delta.path).totals.delta == 1e-9


def test_without_a_limit_all_is_added_up_and_nothing_refused(path):
    project = create_project(path, data="d")
    for _ in range(3):
        project = project.spend(plan(100.0, 1e-3), "big")
    assert project.totals.basic == (300.0, pytest.approx(3e-3))
    assert project.spend(account(test_only=True), "seeded").totals.test_only == 1


def test_test_only_fits_need_a_word(path):
    project = create_project(path, epsilon=1.0, data="d")
    with pytest.raises(PrivacyError, match="test-only: noise from a seed protects nothing"):
        project.spend(account(test_only=True), "seeded")
    with pytest.raises(PrivacyError, match="test-only"):
        project.spend(plan(0.1), "seeded", test_only=True)
    with pytest.raises(chaffinch.errors.InputError, match="cannot be False"):
        project.spend(account(test_only=True), "seeded", test_only=False, allow_test_only=True)
    assert open_project(path).releases == ()
    after = project.spend(account(test_only=True), "seeded", allow_test_only=True)
    assert (after.releases[0].test_only, after.totals.epsilon) == (True, 0.0)


def test_making_one(path):
    create_project(path, epsilon=1.0, data="d")
    text = path.read_bytes()
    with pytest.raises(chaffinch.errors.FileError, match="the file exists"):
        create_project(path, epsilon=9.0, data="d")
    assert path.read_bytes() == text
    for options in (
        {"epsilon": 0},
        {"epsilon": 1.0, "delta": 0},
        {"delta": 1e-9},
        {"data": ""},
        {"data": "a\x1b[2J"},
    ):
        with pytest.raises(chaffinch.errors.InputError):
            create_project(path.with_name("new.json"), **({"data": "d"} | options))
    assert not path.with_name("new.json").exists()
    with pytest.raises(chaffinch.errors.FileError, match="no folder"):
        create_project(path.parent / "none" / "a.json", data="d")
    with pytest.raises(chaffinch.errors.InputError, match="label of a release"):
        open_project(path).spend(plan(0.1), "two\nlines")


def test_a_link_to_a_ledger_is_that_ledger(path):
    create_project(path, epsilon=1.0, data="d")
    link = path.with_name("link.json")
    link.symlink_to(path)
    open_project(link).spend(plan(0.6), "through the link")
    assert link.is_symlink()
    with pytest.raises(BudgetError):
        open_project(path).spend(plan(0.6), "directly")


def test_a_ledger_with_two_names_is_refused(path):
    """A release replaces the file of one name: the other name would keep the old balance, and could be spent again."""
    project = create_project(path, epsilon=1.0, data="d")
    second = path.with_name("second.json")
    os.link(path, second)
    text = path.read_bytes()
    for one in (path, second):
        with pytest.raises(
            chaffinch.errors.FileError, match=r"has 2 names \(hard links\).*remove the others"
        ):
            open_project(one)
    with pytest.raises(chaffinch.errors.FileError, match="hard links"):
        project.spend(plan(0.6), "through an object that was opened before")
    assert path.read_bytes() == second.read_bytes() == text
    second.unlink()
    second.symlink_to(path)
    open_project(second).spend(plan(0.6), "through a symbolic link")
    with pytest.raises(BudgetError):
        open_project(path).spend(plan(0.6), "directly")


def test_a_ledger_keeps_the_rule_that_it_was_made_with(path):
    project = create_project(path, epsilon=3.0, delta=1e-6, data="d")
    assert project.rule == open_project(path).rule == "gaussian"
    assert (
        create_project(path.with_name("open.json"), data="d").rule == "smaller"
    )  # adds up, and refuses nothing
    # Made before there were rules: the smaller of two sums, and it says what that means.
    old = json.loads(path.read_text())
    old["version"] = 1
    del old["rule"]
    path.write_text(json.dumps(old))
    assert open_project(path).rule == "smaller"
    open_project(path).spend(plan(1.0), "pure")
    after = open_project(path).spend(plan(1.0, 1e-7), "gaussian")
    assert json.loads(path.read_text())["rule"] == after.rule == "smaller"
    assert after.totals.epsilon == 2.0  # epsilons, though not all are pure
    assert (
        "chosen after seeing earlier releases, the delta that holds is 2e-07"
        in after.totals.sentence
    )
    settled = create_project(path.with_name("new.json"), epsilon=3.0, delta=1e-6, data="d").spend(
        plan(1.0), "pure"
    )
    with pytest.raises(BudgetError):
        settled.spend(plan(1.0, 1e-7), "gaussian")
    basic = create_project(
        path.with_name("basic.json"), epsilon=3.0, delta=1e-6, data="d", rule="basic"
    )
    assert basic.spend(plan(1.0), "pure").spend(plan(1.0, 1e-7), "gaussian").totals.epsilon == 2.0


def test_every_damage_is_found_and_the_file_left_as_it_is(path):
    project = create_project(path, epsilon=1.0, delta=1e-6, data="d")
    project.spend(plan(0.1, 1e-9, reserved_delta=1e-10), "first")
    good = json.loads(path.read_text())
    texts = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        path.read_bytes()[:-20],
        b'{"format": NaN}',
    ]
    texts.append(path.read_bytes().replace(b'"data": "d"', b'"data": "d", "data": "e"'))
    texts.append(path.read_bytes().replace(b'"epsilon": 1.0', b'"epsilon": 1.0, "epsilon": 100'))
    bad = [None, True, -1, 1.5, "x", "a\x1b[2J", [], {}, [None], 10**400]
    for name, value in good.items():
        texts.append(json.dumps({k: v for k, v in good.items() if k != name}).encode())
        fine = {"data": ["x"], "epsilon": [1.5], "delta": [None], "releases": [[]]}.get(name, [])
        texts += [
            json.dumps({**good, name: b}).encode() for b in bad if b != value and b not in fine
        ]
    first = good["releases"][0]
    for name, value in first.items():
        if name != "by_person":  # ledgers that are older do not have it
            texts.append(
                json.dumps(
                    {**good, "releases": [{k: v for k, v in first.items() if k != name}]}
                ).encode()
            )
        fine = {
            "label": ["x"],
            "when": ["x"],
            "test_only": [True],
            "by_person": [True],
            "epsilon": [1.5],
            "rows_per_person": [10**400],
        }.get(name, [])
        for b in bad:
            if b != value and not any(b is f or (type(b) is type(f) and b == f) for f in fine):
                texts.append(json.dumps({**good, "releases": [{**first, name: b}]}).encode())
    texts.append(json.dumps({**good, "more": 1}).encode())
    texts.append(json.dumps({**good, "releases": [{**first, "more": 1}]}).encode())
    assert len(texts) > 150
    for text in texts:
        path.write_bytes(text)
        with pytest.raises(chaffinch.errors.FileError):
            open_project(path)
        with pytest.raises(chaffinch.errors.FileError):
            project.spend(plan(0.1), "more")
        assert path.read_bytes() == text
    path.write_text(json.dumps({**good, "version": 3}))
    with pytest.raises(chaffinch.errors.FileError, match="newer release"):
        open_project(path)
    path.unlink()
    with pytest.raises(chaffinch.errors.FileError, match="No such file"):
        open_project(path)
    with pytest.raises(chaffinch.errors.FileError, match="No such file"):
        project.spend(plan(0.1), "more")
    with pytest.raises(chaffinch.errors.FileError):
        open_project(path.parent)


def test_what_is_no_file_is_refused(path):
    if hasattr(os, "mkfifo"):  # which would be waited for
        os.mkfifo(path)
    else:
        path.mkdir()
    for refused in (path, path.parent, os.devnull):
        with pytest.raises(
            chaffinch.errors.FileError, match="no file that a project ledger could be kept in"
        ):
            open_project(refused)


FAULTS = {
    "a folder that may not be written": ("os.access", lambda *_: False, "not writable"),
    "a disk that is read only": (
        "os.replace",
        OSError(errno.EROFS, "Read-only file system"),
        "Read-only file system",
    ),
    "a disk that is full": (
        "os.fsync",
        OSError(errno.ENOSPC, "No space left on device"),
        "No space left",
    ),
    "a share without locks": (
        "fcntl.flock",
        OSError(errno.ENOLCK, "No locks available"),
        "Keep it on a local disk",
    ),
    "a share whose file went stale": (
        "fcntl.flock",
        OSError(errno.ESTALE, "Stale file handle"),
        "Keep it on a local disk",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_release_that_cannot_be_entered_is_refused_and_the_file_stays(path, fault, monkeypatch):
    """Nothing is spent, so nothing may be touched: whoever charges first stops here."""
    where, what, words = FAULTS[fault]
    if where.startswith("fcntl") and project_module.fcntl is None:
        pytest.skip("this system has no flock")
    project = create_project(path, epsilon=1.0, data="d")
    text = path.read_bytes()

    def refuse(*_):
        raise what

    monkeypatch.setattr(where, refuse if isinstance(what, OSError) else what)
    with pytest.raises(chaffinch.errors.FileError, match=words):
        project.spend(plan(0.5), "r")
    monkeypatch.undo()
    assert path.read_bytes() == text
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert project.spend(plan(0.5), "r").totals.epsilon == 0.5


def test_a_ledger_that_is_replaced_while_it_is_waited_for(path, monkeypatch):
    """Another process puts a new file in place between opening and locking: the lock on the old one guards nothing."""
    if project_module.fcntl is None:
        pytest.skip("this system has no flock")
    project = create_project(path, epsilon=1.0, data="d")
    real, entered = project_module.fcntl.flock, []

    def flock(handle, how):
        if not entered:
            entered.append(True)
            project.spend(plan(0.7), "the other process")
        real(handle, how)

    monkeypatch.setattr(project_module.fcntl, "flock", flock)
    with pytest.raises(BudgetError, match=r"0\.7 asked, 0\.3 left"):
        project.spend(plan(0.7), "this one")
    assert [release.label for release in open_project(path).releases] == ["the other process"]


SPENDER = """
import sys
from chaffinch._base.errors import BudgetError
from chaffinch.privacy.ledger import Budget
from chaffinch.privacy.ledger import Plan
from chaffinch.privacy import project as p
from chaffinch.privacy.relation import PrivacyUnit
if sys.argv[2] == "file":
    p.fcntl = None
project, spent = p.open_project(sys.argv[1]), 0
sys.stdin.readline()
for i in range(6):
    try:
        project.spend(Plan(Budget(0.1), PrivacyUnit("add-remove"), ()), "r")
        spent += 1
    except BudgetError:
        pass
print(spent)
"""


@pytest.mark.parametrize("lock", ["flock", "file"])
def test_processes_that_spend_at_once_never_overspend(path, lock):
    if lock == "flock" and project_module.fcntl is None:
        pytest.skip("this system has no flock")
    create_project(path, epsilon=2.5, data="d")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SPENDER, str(path), lock],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    for one in running:  # all are started before any may spend
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    spent = [int(one.communicate(timeout=60)[0]) for one in running]
    assert sum(spent) == len(open_project(path).releases) == 25  # 48 asked for
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


def test_a_lock_that_stays_is_named(path, monkeypatch):
    project = create_project(path, epsilon=1.0, data="d")
    monkeypatch.setattr(project_module, "fcntl", None)
    monkeypatch.setattr(project_module, "WAIT_SECONDS", 0.05)
    lock = path.with_name(f".{path.name}.lock")
    lock.touch()
    with pytest.raises(chaffinch.errors.FileError, match=r"is locked.*remove"):
        project.spend(plan(0.1), "r")
    lock.unlink()
    project.spend(plan(0.1), "r")
    assert not lock.exists()


def run(*arguments):
    return CliRunner().invoke(app, ["ledger", *map(str, arguments)])


def test_the_command_on_a_project(path, tmp_path):
    made = run(path, "--new", "--epsilon", 3, "--delta", 1e-6, "--data", "Census [red]")
    assert made.exit_code == 0, made.output
    assert (
        "Project ledger of 'Census [red]': limit epsilon 3, delta 1e-06; releases: 0."
        in made.output
    )
    project = open_project(path).spend(plan(1.0, 1e-9), "spring [bold]")
    project.spend(account(test_only=True), "trial", allow_test_only=True)
    out = tmp_path / "out.json"
    done = run(path, "--json", out)
    assert done.exit_code == 0, done.output
    assert "spring [bold]" in done.output
    assert "trial (TEST ONLY)" in done.output
    # A delta of 1e-6 in place of 1e-9 lowers the epsilon of the same rho.
    total = add_up(open_project(path).releases, delta=1e-6).epsilon
    assert 0.7 < total < acc.rho_to_epsilon(acc.epsilon_to_rho(1.0, 1e-9), 1e-6)
    assert f"Left of the limit: epsilon {3 - total:.6g}" in done.output
    assert json.loads(out.read_text())["totals"]["epsilon"] == pytest.approx(total, rel=1e-6)
    assert isinstance(run(path, "--new").exception, chaffinch.errors.FileError)
    assert isinstance(run(path, "--epsilon", 1).exception, chaffinch.errors.InputError)
    assert isinstance(run(path, "--rule", "basic").exception, chaffinch.errors.InputError)
    other = tmp_path / "other.json"
    assert "Did you mean 'basic'" in str(
        run(other, "--new", "--epsilon", 1, "--rule", "bassic").exception
    )
    assert "Unknown rule 'smaller'" in str(
        run(other, "--new", "--epsilon", 1, "--rule", "smaller").exception
    )
    assert not other.exists()
    assert run(other, "--new", "--epsilon", 1, "--rule", "basic").exit_code == 0
    assert open_project(other).rule == "basic"
    assert isinstance(run(tmp_path / "none.json").exception, chaffinch.errors.FileError)
    assert is_project(path)


def test_the_command_on_a_model(coded, tmp_path, monkeypatch):
    table = coded(np.random.default_rng(1).integers(0, 3, (3, 60)), [3, 3, 3])
    file = tmp_path / "m.chaffinch"
    chaffinch.Independent().fit(table, seed=1).save(file)
    out = tmp_path / "out.json"
    done = run(file, "--json", out)
    assert done.exit_code == 0, done.output
    assert done.output.strip() == NO_PROMISE
    assert json.loads(out.read_text()) == {"privacy": None}

    class Private:
        privacy = account()

    monkeypatch.setattr("chaffinch.synth.load_model", lambda _path: Private)
    out.unlink()
    done = run(file, "--json", out)
    assert done.exit_code == 0, done.output
    assert "Differentially private (epsilon 0.5; add or remove one record)" in done.output
    assert "table of [bold]age" in done.output
    assert "Spent epsilon 0.25 of 0.5, which is epsilon 0.25; unspent epsilon 0.25." in done.output
    assert json.loads(out.read_text())["privacy"] == account().to_dict()


def test_a_plan_with_charges_is_spent_as_its_whole_budget(path):
    step = Step(
        Charge("a table", "measure", epsilon=0.1, mechanism="discrete Laplace", noise="scale 10"), 3
    )
    project = create_project(path, data="d").spend(Plan(Budget(1.0), ADD, (step,)), "r")
    assert project.totals.epsilon == 1.0  # what may be spent, not what is planned
    assert os.path.samefile(project.path, path)


def release(epsilon, delta=None, unit=ADD, *, test_only=False, **options) -> Release:
    return Release("r", "2025-01-01", Budget(epsilon, delta, **options), unit, test_only)


def test_sums_by_hand():
    nothing = add_up([])
    assert (nothing.epsilon, nothing.delta, nothing.zcdp) == (0.0, 0.0, None)
    two = add_up([release(0.5), release(0.25)])
    assert (two.epsilon, two.delta, two.unit) == (0.75, 0.0, ADD)
    # Mixed relations: the add-remove half doubles, the other does not.
    mixed = add_up([release(0.5), release(0.25, unit=SWAP)])
    assert (mixed.epsilon, mixed.unit) == (1.25, SWAP)
    assert (
        add_up(
            [
                release(1.0, unit=PrivacyUnit("add-remove", 5)),
                release(1.0, unit=PrivacyUnit("add-remove", 2)),
            ]
        ).unit.rows_per_person
        == 2
    )
    seeded = add_up([release(0.5), release(9.0, test_only=True)])
    assert (seeded.epsilon, seeded.test_only) == (0.5, 1)
    assert "TEST ONLY" in seeded.sentence


def test_rhos_add_and_beat_epsilons_for_many_releases():
    many = add_up([release(0.1, 1e-9, accounting="zcdp")] * 20, delta=1e-6, rule="zcdp")
    rho = 20 * acc.epsilon_to_rho(0.1, 1e-9)
    assert many.zcdp is not None
    assert many.zcdp[0] == pytest.approx(rho, rel=1e-8)
    assert many.epsilon == many.zcdp[1] == pytest.approx(acc.rho_to_epsilon(rho, 1e-6), rel=1e-7)
    assert many.epsilon < many.basic[0] == pytest.approx(2.0)
    # One pure release among them has a rho too; one that is pure with a delta has none.
    assert add_up([release(0.1, 1e-9), release(0.1)], delta=1e-6).zcdp is not None
    assert (
        add_up([release(0.1, 1e-9), release(0.1, 1e-9, accounting="pure")], delta=1e-6).zcdp is None
    )
    # Deltas kept for approximate touches come off the delta that converts.
    kept = add_up([release(0.1, 1e-9, accounting="zcdp", reserved_delta=5e-10)] * 20, delta=1e-6)
    rho = 20 * acc.epsilon_to_rho(0.1, 5e-10)
    assert kept.zcdp is not None
    assert kept.zcdp[1] == pytest.approx(acc.rho_to_epsilon(rho, 1e-6 - 1e-8), rel=1e-6)


def test_mixed_relations_in_rho_and_delta():
    both = [release(0.1, 1e-9, accounting="zcdp"), release(0.1, 1e-9, unit=SWAP, accounting="zcdp")]
    mixed = add_up(both, delta=1e-6)
    assert mixed.zcdp is not None
    assert mixed.zcdp[0] == pytest.approx(
        5 * acc.epsilon_to_rho(0.1, 1e-9), rel=1e-8
    )  # four times and once
    assert mixed.basic == (pytest.approx(0.3), pytest.approx((1 + math.exp(0.1)) * 1e-9 + 1e-9))
    kept = add_up(
        [release(0.1, 1e-9, reserved_delta=1e-10), release(0.1, 1e-9, unit=SWAP)], delta=1e-6
    )
    assert kept.zcdp is None  # group privacy of approximate zCDP is not claimed
    assert kept.gaussian is None
    exact = add_up([release(0.1, 1e-9), release(0.1, 1e-9, unit=SWAP)], delta=1e-6)
    assert exact.gaussian is not None
    assert exact.gaussian[0] == pytest.approx(
        5 * Budget(0.1, 1e-9).total, rel=1e-8
    )  # mu doubles, so four times and once
    wide = add_up([release(1e6, 1e-9), release(0.1, unit=SWAP)], rule="smaller")
    assert wide.basic[1] == 1.0
    assert wide.epsilon > 1e6


def test_doubling_against_every_law_on_a_small_domain():
    # Brute force: laws on two outcomes, P ~ M ~ Q neighbours in pairs; the claim for P against Q, to the last law.
    epsilon, delta = 0.4, 0.05
    grid = np.linspace(0, 1, 101)

    def private(p, q, e, d):
        return all(
            a <= math.exp(e) * b + d + 1e-12
            for a, b in ((p, q), (1 - p, 1 - q), (q, p), (1 - q, 1 - p))
        )

    worst = 0.0
    near = {p: [m for m in grid if private(p, m, epsilon, delta)] for p in grid}
    for p in grid:
        for q in {q for m in near[p] for q in near[m]}:
            assert private(p, q, 2 * epsilon, (1 + math.exp(epsilon)) * delta)
            worst = max(worst, p - math.exp(2 * epsilon) * q)
    assert worst > 0.8 * (1 + math.exp(epsilon)) * delta  # two deltas alone would not do
    assert worst > 2 * delta


def test_amounts_of_gaussian_privacy_add_up():
    many = add_up([release(0.1, 1e-9)] * 20, delta=1e-6)
    amount = 20 * Budget(0.1, 1e-9).total
    assert many.gaussian is not None
    assert many.gaussian[0] == pytest.approx(amount, rel=1e-8)
    assert many.epsilon == many.gaussian[1]
    assert many.epsilon == pytest.approx(
        amount_to_epsilon(amount, 1e-6) + 20 * ROUNDING * 0.1, rel=1e-4
    )
    # Each Gaussian release has a rho too, the same number: zCDP turns it into a larger epsilon.
    assert many.zcdp is not None
    assert many.zcdp[0] == pytest.approx(amount, rel=1e-8)
    assert many.epsilon < 0.96 * many.zcdp[1]
    # Others are taken by their epsilon, as randomised response, and their delta comes off.
    mixed = add_up(
        [release(0.1, 1e-9), release(0.1), release(0.2, 1e-8, accounting="zcdp")], delta=1e-6
    )
    assert mixed.gaussian is not None
    mus = [2 * norm.ppf(1 / (1 + math.exp(-epsilon))) for epsilon in (0.1, 0.2)]
    amount = Budget(0.1, 1e-9).total + sum(mu**2 for mu in mus) / 2
    assert mixed.gaussian[:2] == (
        pytest.approx(amount, rel=1e-6),
        pytest.approx(amount_to_epsilon(amount, 1e-6 - 1e-8), rel=1e-4),
    )


def test_a_rule_says_beforehand_which_sum_counts():
    pure, exact = [release(0.5)], [release(1.0, 1e-6)]
    for rule in ("gaussian", "zcdp"):
        # Pure releases alone add up by epsilon, at a delta of 0; with another one they do not.
        assert (
            add_up(pure * 2, delta=1e-6, rule=rule).epsilon,
            add_up(pure * 2, delta=1e-6, rule=rule).delta,
        ) == (1.0, 0.0)
        assert (
            add_up(pure + exact, delta=1e-5, rule=rule).epsilon
            > 1.5
            == add_up(pure + exact, delta=1e-5).basic[0]
        )
        # One release fits into a limit that is its own promise.
        assert add_up(exact, delta=1e-6, rule=rule).epsilon <= 1.0 + (
            0.1 if rule == "zcdp" else 0.0
        )
    assert add_up(exact * 2, delta=1e-6, rule="basic").epsilon == math.inf
    assert add_up(exact * 2, delta=2e-6, rule="basic").epsilon == 2.0
    smaller = add_up(pure + exact, delta=1e-5, rule="smaller")
    assert smaller.epsilon == 1.5
    assert (
        "if budgets were chosen after seeing earlier releases, the delta that holds is 2e-06"
        in smaller.sentence
    )
    settled = add_up(pure + exact, delta=1e-5)
    assert (
        "amounts of Gaussian privacy, or epsilons while all releases are pure" in settled.sentence
    )
    assert "chosen after" not in settled.sentence
    assert "settled beforehand" in add_up(pure, limited=False, rule="smaller").sentence


def test_a_chooser_who_sees_releases_keeps_to_delta_under_a_settled_rule():
    """By enumeration. One pure release, randomised response, or else one of normal noise (as fine steps): chosen by a first, pure, answer.

    By a settled rule epsilons count at a delta of 0 only, so a chooser has one of two ways; both together keep to delta.
    """
    limit, first, delta = 1.0, 0.1, 1e-3
    answer = np.array([math.exp(first), 1.0]) / (1 + math.exp(first))
    one = 2 * norm.ppf(answer[0])
    rest = (
        Budget(limit, delta, "gaussian").total - one**2 / 2
    )  # what Gaussian releases may still spend after it
    steps = np.linspace(-9, 9, 20_001)

    def excess(p, q, epsilon):
        return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())

    pure = np.array([math.exp(limit - first), 1.0]) / (1 + math.exp(limit - first))
    mu = math.sqrt(2 * rest)
    normal = tuple(np.diff(norm.cdf(steps, centre)) for centre in (mu / 2, -mu / 2))
    ways = [(pure, pure[::-1]), normal]
    worst = 0.0
    for choice in product(range(2), repeat=2):
        worst = max(
            worst,
            sum(
                excess(answer[i] * ways[way][0], answer[1 - i] * ways[way][1], limit)
                for i, way in enumerate(choice)
            ),
        )
    assert 0.5 * delta < worst <= delta
    assert gaussian_delta(math.sqrt(2 * Budget(limit, delta, "gaussian").total), limit) <= delta
