"""attack membership, attack singling-out and audit, as a person uses them: what they write, what they refuse, and what never leaves."""

from __future__ import annotations

import csv
import json
import stat

import numpy as np
import pytest

import chaffinch

SMALL = (
    "--shadows",
    10,
    "--test-shadows",
    10,
    "--tables-per-shadow",
    1,
    "--targets",
    2,
    "--threads",
    1,
    "--seed",
    1,
)


@pytest.fixture(scope="module")
def sixty_people(tmp_path_factory):
    """Sixty people with six columns; the name of a level is a word that shows wherever it leaks."""
    path = tmp_path_factory.mktemp("attack") / "people.csv"
    with open(path, "w", newline="") as handle:
        out = csv.writer(handle)
        out.writerow("abcdef")
        rng = np.random.default_rng(1)
        for row in dict.fromkeys(
            tuple(rng.integers(0, j + 3) for j in range(6)) for _ in range(61)
        ):
            out.writerow([f"SECRET{v}" for v in row])
    return path


DECLARED = 'format = "chaffinch-schema"\nversion = 1\npublic = true\n' + "".join(
    f'[columns.{name}]\nkind = "categorical"\nlevels = [{", ".join(repr(f"SECRET{v}") for v in range(j + 3))}]\n'
    for j, name in enumerate("abcdef")
)


@pytest.mark.parametrize("kind", ["membership", "singling-out"])
def test_an_attack_writes_what_may_leave_and_keeps_the_rest_inside(
    run_here, sixty_people, tmp_path, timings_in, kind
):
    told, page, secrets = tmp_path / "a.json", tmp_path / "a.html", tmp_path / "secrets.json"
    more = () if kind == "membership" else ("--releases", 20)
    done = run_here(
        "attack",
        kind,
        sixty_people,
        "--synth",
        "bayesnet:parents=1",
        *SMALL,
        *more,
        "--json",
        told,
        "--html",
        page,
        "--confidential",
        secrets,
    )
    assert done.code == 0, done.err
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    kept, left = json.loads(secrets.read_text()), json.loads(told.read_text())
    assert kept["confidential"] is True
    assert len(kept["targets" if kind == "membership" else "predicates"]) == 2
    assert "SECRET" in secrets.read_text()
    for text in (told.read_text(), page.read_text(), done.out, done.err):
        assert "SECRET" not in text
    assert left["format"] == f"chaffinch-{kind}"
    assert left["about"]["data"] == "people.csv"
    assert left["run"]["versions"]["chaffinch"] == chaffinch.__version__
    assert left["policy"] == {}  # no limit was set: nothing passed one
    assert timings_in(told) == ["seconds_of_fits"]
    assert "<script" not in page.read_text()
    # The same numbers as Python gives: the second opinion on every option's way to its place.
    settings = chaffinch.BayesNet(parents=1)
    options = {
        "shadows": 10,
        "test_shadows": 10,
        "tables_per_shadow": 1,
        "targets": 2,
        "seed": 1,
        "workers": 1,
    }
    read = chaffinch.read(sixty_people)
    if kind == "membership":
        study = chaffinch.membership(read, settings, **options)
        assert left["findings"] == study.to_dict()["findings"]
        assert left["findings"][0]["value"] == study.auc
        assert left["pooled"] == study.to_dict()["pooled"]
    else:
        study = chaffinch.singling_out(read, settings, releases=20, **options)
        assert left["findings"] == study.to_dict()["findings"]
        assert left["isolations"] == study.to_dict()["isolations"]
    assert study.sentence.split(";")[0][:60] in done.out


def test_options_reach_the_plan(run_here, sixty_people, tmp_path):
    told = tmp_path / "a.json"
    done = run_here(
        "attack",
        "singling-out",
        sixty_people,
        "--synth",
        "independent",
        *SMALL,
        "--releases",
        10,
        "--rows",
        15,
        "--design",
        "neighbours",
        "--target-share",
        "natural",
        "--features",
        "histogram",
        "--learner",
        "linear",
        "--combine",
        "weighted",
        "--ranking",
        "cosine",
        "--duplicates",
        "keep",
        "--grid",
        "population",
        "--json",
        told,
        "--quiet",
    )
    assert (done.code, done.out, done.err) == (0, "", "")
    left = json.loads(told.read_text())
    expected = {
        "shadows": 10,
        "test_shadows": 10,
        "tables_per_shadow": 1,
        "design": "neighbours",
        "target_share": "natural",
        "access": "blackbox",
        "features": "histogram",
        "learner": "linear",
        "combine": "weighted",
        "grid": "population",
        "releases": 10,
    }
    assert {key: left["settings"][key] for key in expected} == expected
    assert left["subset_rows"] == 15
    assert left["ranked"] == {"cosine": left["targets"]}
    done = run_here(
        "attack",
        "membership",
        sixty_people,
        "--synth",
        "independent",
        *SMALL,
        "--access",
        "whitebox",
        "--json",
        told,
        "--overwrite",
    )
    assert done.code == 0, done.err
    assert json.loads(told.read_text())["settings"]["access"] == "whitebox"


def test_a_policy_is_compared_with_the_lower_end(run_here, sixty_people, tmp_path):
    told = tmp_path / "a.json"
    spec = ("--synth", "bayesnet:parents=1", *SMALL, "--json", told, "--overwrite")
    run_here("attack", "membership", sixty_people, *spec)
    low = json.loads(told.read_text())["findings"][0]["interval"][0]
    done = run_here("attack", "membership", sixty_people, *spec, "--max-auc", max(low - 0.01, 0.0))
    assert done.code == 1
    assert done.out.startswith("EXCEEDS THE LIMIT: ")
    assert json.loads(told.read_text())["policy"]["passed"] is False
    within = (*spec, "--max-auc", low + 0.01)
    done = run_here("attack", "membership", sixty_people, *within)
    assert (done.code, done.out.split()[0]) == (0, "UNDECIDED:")
    policy = json.loads(told.read_text())["policy"]
    assert (policy["state"], policy["passed"]) == ("undecided", None)
    assert run_here("attack", "membership", sixty_people, *within, "--require-shown").code == 1
    done = run_here("attack", "membership", sixty_people, *spec, "--max-auc", 1, "--require-shown")
    assert (done.code, done.out.startswith("SHOWN TO KEEP THE LIMIT: ")) == (0, True)
    assert run_here("attack", "membership", sixty_people, *spec, "--require-shown").code == 2
    assert run_here("attack", "membership", sixty_people, *spec, "--max-auc", 2).code == 2


def test_a_private_synthesiser_needs_a_declared_domain(
    run_here, sixty_people, tmp_path, timings_in
):
    pytest.importorskip("opendp", reason="private fits need the extra")
    told, schema = tmp_path / "a.json", tmp_path / "s.toml"
    done = run_here(
        "attack",
        "membership",
        sixty_people,
        "--synth",
        "bayesnet:epsilon=1",
        *SMALL,
        "--json",
        told,
    )
    assert done.code == 2
    assert "schema" in done.err
    assert not told.exists()
    schema.write_text(DECLARED)
    done = run_here(
        "attack",
        "membership",
        sixty_people,
        "--synth",
        "bayesnet:epsilon=1,parents=1",
        *SMALL,
        "--schema",
        schema,
        "--json",
        told,
    )
    assert done.code == 0, done.err
    assert "SECRET" not in told.read_text() + done.out + done.err
    assert timings_in(told) == []
    more = (
        "--releases",
        20,
        "--synth",
        "bayesnet:epsilon=1,parents=1",
        "--schema",
        schema,
        "--json",
        told,
        "--overwrite",
    )
    assert run_here("attack", "singling-out", sixty_people, *SMALL, *more).code == 0
    assert timings_in(told) == []
    schema.write_text(
        DECLARED.replace("levels = ['SECRET0', 'SECRET1', 'SECRET2']", "discover = true")
    )
    done = run_here(
        "attack",
        "membership",
        sixty_people,
        "--synth",
        "bayesnet:epsilon=1,delta=1e-6",
        *SMALL,
        "--schema",
        schema,
        "--json",
        told,
        "--overwrite",
    )
    assert done.code == 2
    assert "discover = true" in done.err


def test_a_population_is_read_with_the_schema_of_the_table(run_here, sixty_people, tmp_path):
    people = sixty_people.read_text().splitlines()
    first, rest, told = tmp_path / "first.csv", tmp_path / "rest.csv", tmp_path / "a.json"
    first.write_text("\n".join(people[:31]) + "\n")
    rest.write_text("\n".join([people[0], *people[31:]]) + "\n")
    done = run_here(
        "attack",
        "membership",
        first,
        "--population",
        rest,
        "--synth",
        "independent",
        *SMALL,
        "--json",
        told,
    )
    assert done.code == 0, done.err
    left = json.loads(told.read_text())
    assert left["subset_rows"] == 30
    assert left["about"]["population"] == "rest.csv"
    rest.write_text(
        "\n".join([people[0], *people[31:], "SECRETX,SECRETX,SECRETX,SECRETX,SECRETX,SECRETX"])
        + "\n"
    )
    done = run_here(
        "attack",
        "membership",
        first,
        "--population",
        rest,
        "--synth",
        "independent",
        *SMALL,
        "--json",
        told,
        "--overwrite",
    )
    assert done.code == 2
    assert "rest.csv" in done.err
    assert "--schema" in done.err
    assert "SECRET" not in done.err


def test_a_run_goes_on_from_what_was_kept(run_here, sixty_people, tmp_path):
    told, folder = tmp_path / "a.json", tmp_path / "kept"
    spec = (
        "--synth",
        "independent",
        *SMALL,
        "--shadow-folder",
        folder,
        "--json",
        told,
        "--overwrite",
    )
    assert run_here("attack", "membership", sixty_people, *spec).code == 0
    first = json.loads(told.read_text())
    assert (folder / "learn").is_dir()
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0
    assert run_here("attack", "membership", sixty_people, *spec).code == 0
    again = json.loads(told.read_text())
    for one in (first, again):
        one.pop("run")
    assert first == again
    done = run_here(
        "attack",
        "membership",
        sixty_people,
        "--synth",
        "bayesnet",
        *SMALL,
        "--shadow-folder",
        folder,
        "--json",
        told,
        "--overwrite",
    )
    assert done.code == 2
    assert "other data or other settings" in done.err


def test_a_stop_says_where_shadows_are(run_here, sixty_people, tmp_path, monkeypatch):
    import chaffinch.risk.membership.study as study

    def stop(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "membership", stop)
    done = run_here(
        "attack",
        "membership",
        sixty_people,
        "--synth",
        "independent",
        *SMALL,
        "--shadow-folder",
        tmp_path / "kept",
    )
    assert done.code == 130
    assert "goes on from there" in done.err
    done = run_here("attack", "membership", sixty_people, "--synth", "independent", *SMALL)
    assert done.code == 130
    assert "goes on" not in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--synth", "bayesnt"), "Did you mean 'bayesnet'?"),
        (
            ("--synth", "bayesnet", "--design", "share"),
            "Unknown design 'share'. Did you mean 'shared'?",
        ),
        (("--synth", "bayesnet", "--access", "queries"), "Unknown access 'queries'"),
        (("--synth", "bayesnet", "--features", "blackbox"), "Unknown features"),
        (("--synth", "bayesnet", "--learner", "forest"), "Unknown learner"),
        (("--synth", "bayesnet", "--ranking", "euclid"), "Unknown ranking"),
        (("--synth", "bayesnet", "--duplicates", "double"), "Unknown duplicates"),
        (("--synth", "bayesnet", "--rare", "drop"), "Unknown rare"),
        (
            ("--synth", "bayesnet", "--shadows", "2"),
            "shadows must be a whole number of at least 10. Got 2.",
        ),
        (("--synth", "independent", "--rows", "100"), "Got 100 rows of"),
        (("--synth", "independent", "--targets", "100"), "Got 100"),
        (
            ("--synth", "independent", "--time-limit", "0"),
            "time_limit must be a number above 0. Got 0",
        ),
    ],
)
def test_bad_use_is_named_and_nothing_is_written(
    run_here, sixty_people, tmp_path, options, message
):
    told = tmp_path / "a.json"
    done = run_here("attack", "membership", sixty_people, *SMALL, *options, "--json", told)
    assert done.code == 2, done.out + done.err
    assert message in done.err
    assert "SECRET" not in done.err
    assert not told.exists()


def test_outputs_are_checked_before_any_work(run_here, sixty_people, tmp_path, monkeypatch):
    def never(*_args, **_options):
        raise AssertionError("the data were read")

    monkeypatch.setattr("chaffinch.cli.reading.read_for", never)
    for option in ("--json", "--html", "--confidential"):
        done = run_here(
            "attack",
            "membership",
            sixty_people,
            "--synth",
            "bayesnet",
            option,
            tmp_path / "none" / "a",
        )
        assert done.code == 2, done.err
        done = run_here(
            "attack", "membership", sixty_people, "--synth", "bayesnet", option, sixty_people
        )
        assert done.code == 2
        assert "it is the input" in done.err
    other = tmp_path / "p.csv"
    other.write_text("a\n")
    done = run_here(
        "attack",
        "membership",
        sixty_people,
        "--population",
        other,
        "--synth",
        "bayesnet",
        "--json",
        other,
    )
    assert "it is the input" in done.err


pytest.importorskip("opendp", reason="private fits need the extra")


@pytest.fixture
def run_audit(run_here):
    """Run `chaffinch audit ...` in this process."""
    return lambda *arguments: run_here("audit", *arguments)


QUICK = ("--runs", 80, "--pairs", "narrow", "--threads", 1, "--seed", 1)


def test_what_promises_nothing_breaks_any_claim(run_audit, tmp_path):
    told, page = tmp_path / "a.json", tmp_path / "a.html"
    done = run_audit(
        "--synth",
        "independent",
        "--epsilon",
        0.1,
        "--neighbours",
        "add-remove",
        *QUICK,
        "--json",
        told,
        "--html",
        page,
    )
    assert done.code == 1, done.err
    assert "claim broken" in done.out
    left = json.loads(told.read_text())
    assert left["format"] == "chaffinch-audit"
    assert left["verdict"] == "claim broken"
    # Independent columns without noise tell the two tables apart whenever the model is looked into: every guess is right.
    white = next(f for f in left["findings"] if f["scope"][1] == "white")["trials"]
    assert white["right"] == white["guesses"] == white["judged"] == 40
    assert [(s["box"], s["reason"][:8]) for s in left["skipped"]] == [("mechanism", "no noise")]
    assert "claim is broken" in page.read_text()


def test_a_sound_promise_is_not_refuted(run_audit, tmp_path):
    told = tmp_path / "a.json"
    done = run_audit(
        "--synth", "bayesnet:parents=1,epsilon=1", *QUICK, "--box", "black", "--json", told
    )
    assert done.code == 0, done.err
    assert "not refuted" in done.out
    assert "no proof" in done.out
    left = json.loads(told.read_text())
    assert left["epsilon"] == 1.0
    assert [f["scope"] for f in left["findings"]] == [["narrow", "black"]]
    assert [f["trials"]["runs"] for f in left["findings"]] == [80]
    assert (
        run_audit(
            "--synth", "bayesnet:parents=1,epsilon=1", *QUICK, "--box", "black", "--quiet"
        ).out
        == ""
    )


def test_the_mechanism_stands_beside_the_other_boxes(run_audit):
    done = run_audit("--synth", "privbayes:epsilon=1", *QUICK)
    assert done.code == 0, done.err
    assert [line.split()[1] for line in done.out.splitlines() if line.startswith("narrow")] == [
        "mechanism",
        "white",
        "black",
    ]
    assert "80 % power at" in done.out


def test_a_claim_can_be_smaller_than_the_budget_that_is_spent(run_audit):
    done = run_audit("--synth", "bayesnet:parents=1,epsilon=1000", "--epsilon", 0.1, *QUICK)
    assert done.code == 1
    assert "0.1" in done.out


def test_a_table_of_ones_own(run_audit, data, tmp_path, timings_in):
    told = tmp_path / "a.json"
    done = run_audit(
        "--synth",
        "fieldgroups:epsilon=1",
        "--data",
        data / "cmc.csv",
        "--schema",
        data / "cmc_declared.toml",
        "--runs",
        80,
        "--pairs",
        "average",
        "--average-rows",
        30,
        "--box",
        "black",
        "--threads",
        1,
        "--seed",
        1,
        "--json",
        told,
    )
    assert done.code == 0, done.err
    left = json.loads(told.read_text())
    assert left["about"] == {"synth": "fieldgroups:epsilon=1", "data": "cmc.csv", "seed": 1}
    assert timings_in(told) == []
    assert [f["scope"][0] for f in left["findings"]] == ["average"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--synth", "bayesnet"), "There is no claim to audit"),
        (("--synth", "independent", "--epsilon", "1"), "Under which relation"),
        (
            ("--synth", "bayesnet:epsilon=1", "--neighbours", "add"),
            "Unknown neighbours 'add'",
        ),
        (("--synth", "bayesnet:epsilon=1", "--pairs", "narow"), "Did you mean 'narrow'?"),
        (("--synth", "bayesnet:epsilon=1", "--pairs", "average"), "made from a table"),
        (("--synth", "bayesnet:epsilon=1", "--box", "grey"), "Unknown box 'grey'"),
        (
            ("--synth", "bayesnet:epsilon=1", "--runs", "10"),
            "runs must be a whole number of at least 80",
        ),
        (("--synth", "bayesnet:epsilon=1", "--schema", "x.toml"), "--schema is for --data"),
    ],
)
def test_bad_use_of_audit_is_named_and_nothing_is_written(run_audit, tmp_path, options, message):
    told = tmp_path / "a.json"
    done = run_audit(*options, "--json", told)
    assert done.code == 2, done.out + done.err
    assert message in done.err
    assert not told.exists()


def test_a_private_table_needs_its_schema(run_audit, data):
    done = run_audit("--synth", "bayesnet:epsilon=1", "--data", data / "cmc.csv", *QUICK)
    assert done.code == 2
    assert "schema" in done.err
