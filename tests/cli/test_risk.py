"""risk, and the risk part of a release, as a person uses them."""

from __future__ import annotations

import json
import stat
from html.parser import HTMLParser

import pytest

from chaffinch.risk import ATTACKERS
from chaffinch.risk.attacker import STUDIED, attacker_words, attackers_of_kind
from chaffinch.risk.attribution.tcap import CONVENTIONS

KEYS, SENSITIVE = "wife_age,wife_education,num_children,wife_religion", "husband_education"


@pytest.fixture(scope="module")
def folder(run_here, data, tmp_path_factory):
    """Half of a table, the other half, and a synthesis of the first."""
    out = tmp_path_factory.mktemp("risk")
    lines = (data / "cmc.csv").read_text().splitlines()
    (out / "half.csv").write_text("\n".join([lines[0], *lines[1::2]]) + "\n")
    (out / "other.csv").write_text("\n".join([lines[0], *lines[2::2]]) + "\n")
    assert (
        run_here(
            "synth", out / "half.csv", "-o", out / "synthetic.csv", "--seed", 1, "--quiet"
        ).code
        == 0
    )
    assert (
        run_here(
            "synth",
            out / "half.csv",
            "-o",
            out / "alone.csv",
            "--method",
            "independent",
            "--seed",
            1,
            "--quiet",
        ).code
        == 0
    )
    return out


def test_risk_says_what_attacks_find(run_here, folder, tmp_path):
    told, page, secrets = tmp_path / "r.json", tmp_path / "r.html", tmp_path / "secrets.json"
    options = [
        "--keys",
        KEYS,
        "--sensitive",
        SENSITIVE,
        "--attackers",
        "matching,nb,memorisation",
        "--label",
        "contraceptive_method",
        "--seed",
        1,
    ]
    outputs = ["--json", told, "--html", page, "--confidential", secrets]
    done = run_here(
        "risk",
        folder / "half.csv",
        folder / "synthetic.csv",
        "--holdout",
        folder / "other.csv",
        *options,
        *outputs,
    )
    assert done.code == 0, done.err
    assert "Someone knows wife_age" in done.out
    attack = json.loads(told.read_text())["findings"][0]
    assert set(attack) >= {
        "attacker",
        "convention",
        "keys",
        "sensitive",
        "value",
        "interval",
        "guess",
        "holdout",
        "original",
        "marginals_only",
        "label_only",
        "excess",
        "excess_interval",
        "p_value",
        "detectable",
        "n_people",
        "n_matched",
    }
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert secrets.read_text().startswith('{\n "confidential": true')
    assert "<script" not in page.read_text()


def test_a_limit_is_exceeded_shown_or_undecided_and_the_first_line_says_which(
    run_here, folder, tmp_path
):
    policy = tmp_path / "policy.toml"
    policy.write_text("max_excess = 0.05\n")
    options = [
        "--holdout",
        folder / "other.csv",
        "--keys",
        KEYS,
        "--sensitive",
        SENSITIVE,
        "--attackers",
        "matching,memorisation",
        "--seed",
        1,
    ]
    options += ["--numeric", "values", "--policy", policy]
    done = run_here(
        "risk", folder / "half.csv", folder / "half.csv", *options, "--json", tmp_path / "copy.json"
    )
    assert done.code == 1, done.err
    assert done.out.startswith("EXCEEDS THE LIMIT: an excess of at most 0.05 is allowed")
    told = json.loads((tmp_path / "copy.json").read_text())["policy"]
    assert told["passed"] is False
    assert len(told["sha256"]) == 64
    wide = ("risk", folder / "half.csv", folder / "alone.csv", *options)
    done = run_here(*wide, "--json", tmp_path / "alone.json", "--html", tmp_path / "alone.html")
    assert done.code == 0, done.err
    assert done.out.startswith("UNDECIDED: ")
    for text in (done.out, (tmp_path / "alone.html").read_text()):
        assert (
            "UNDECIDED: an excess of at most 0.05 is neither shown to hold nor shown to be exceeded"
            in " ".join(text.split())
        )
        assert "keeps" not in text
    told = json.loads((tmp_path / "alone.json").read_text())["policy"]
    assert (told["state"], told["passed"]) == ("undecided", None)
    assert told["lower_bound"] < 0.05 < told["upper_bound"]
    done = run_here(*wide, "--require-shown", "--quiet")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("UNDECIDED: ")
    done = run_here(*wide, "--max-excess", 0.2, "--require-shown", "--attackers", "exact_row,dcr")
    assert done.code == 0, done.err
    assert done.out.startswith("SHOWN TO KEEP THE LIMIT: an excess of at most 0.2 is allowed")


def test_without_a_limit_nothing_is_said_to_pass(run_here, folder, tmp_path):
    done = run_here(
        "risk",
        folder / "half.csv",
        folder / "alone.csv",
        "--holdout",
        folder / "other.csv",
        "--attackers",
        "exact_row",
        "--json",
        tmp_path / "r.json",
    )
    assert done.code == 0, done.err
    assert "policy" not in json.loads((tmp_path / "r.json").read_text())
    assert (
        run_here(
            "risk",
            folder / "half.csv",
            folder / "alone.csv",
            "--holdout",
            folder / "other.csv",
            "--require-shown",
        ).code
        == 2
    )


def test_no_holdout_no_excess(run_here, folder, tmp_path):
    options = [
        "--keys",
        KEYS,
        "--sensitive",
        SENSITIVE,
        "--attackers",
        "matching,memorisation",
        "--seed",
        1,
    ]
    done = run_here(
        "risk",
        folder / "half.csv",
        folder / "synthetic.csv",
        *options,
        "--json",
        tmp_path / "r.json",
    )
    assert done.code == 0, done.err
    assert "No holdout was given" in done.out
    for attack in json.loads((tmp_path / "r.json").read_text())["findings"]:
        assert (
            attack["excess"]
            is attack["p_value"]
            is attack["holdout"]
            is attack["detectable"]
            is None
        )
    done = run_here(
        "risk", folder / "half.csv", folder / "synthetic.csv", *options, "--max-excess", 0.1
    )
    assert done.code == 2
    assert "cannot be judged without a holdout" in done.err


def test_several_syntheses_and_key_sizes(run_here, folder, tmp_path):
    options = [
        "--keys",
        KEYS,
        "--sensitive",
        SENSITIVE,
        "--key-sizes",
        "2-3",
        "--resamples",
        50,
        "--seed",
        1,
    ]
    done = run_here(
        "risk",
        folder / "half.csv",
        folder / "synthetic.csv",
        folder / "other.csv",
        "--holdout",
        folder / "other.csv",
        *options,
        "--json",
        tmp_path / "r.json",
        "--tcap-convention",
        "conditional",
        "--tolerance",
        "wife_age=5",
        "--tau",
        0.5,
    )
    assert done.code == 0, done.err
    told = json.loads((tmp_path / "r.json").read_text())
    assert {len(one["keys"]) for one in told["findings"] if one["sensitive"]} == {2, 3}
    assert {a["convention"] for a in told["findings"] if a["attacker"] == "tcap"} == {"conditional"}
    assert len(told["about"]["synthetic"]) == 2
    assert told["about"]["settings"]["tolerance"] == {"wife_age": 5.0}
    assert told["about"]["settings"]["tau"] == 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--keys", "nobody", "--sensitive", SENSITIVE], "Unknown key 'nobody'"),
        (["--keys", KEYS, "--sensitive", "nobody"], "Unknown sensitive column 'nobody'"),
        (
            ["--keys", KEYS, "--sensitive", SENSITIVE, "--tolerance", "wife_age"],
            "tolerance must be COLUMN=VALUE",
        ),
        (
            ["--keys", KEYS, "--sensitive", SENSITIVE, "--tolerance", "wife_age=0"],
            "must be a number above 0",
        ),
        (
            ["--keys", KEYS, "--sensitive", SENSITIVE, "--key-sizes", "a-b"],
            "key_sizes must be a size or a range, as 4 or 3-6",
        ),
        (
            ["--keys", KEYS, "--sensitive", SENSITIVE, "--attackers", "gpt"],
            "Unknown attacker 'gpt'",
        ),
        (
            ["--keys", KEYS, "--sensitive", SENSITIVE, "--tcap-convention", "x"],
            "Unknown convention 'x'",
        ),
        (
            ["--keys", KEYS, "--sensitive", SENSITIVE, "--resamples", "0"],
            "resamples must be a whole number of at least 1",
        ),
        (
            ["--keys", KEYS, "--sensitive", SENSITIVE, "--numeric", "drop"],
            "Unknown numeric 'drop'",
        ),
    ],
)
def test_bad_use_ends_with_2_and_writes_nothing(run_here, folder, tmp_path, options, words):
    done = run_here(
        "risk",
        folder / "half.csv",
        folder / "synthetic.csv",
        *options,
        "--json",
        tmp_path / "r.json",
    )
    assert done.code == 2, done.err
    assert words in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_release_with_keys_attacks_its_own_table(run_here, folder, tmp_path):
    options = [
        "--keys",
        KEYS,
        "--sensitive",
        SENSITIVE,
        "--label",
        "contraceptive_method",
        "--attackers",
        "matching,memorisation",
    ]
    options += ["--measures", "tvd", "--seed", 1, "--quiet"]
    done = run_here("release", folder / "half.csv", "-o", tmp_path / "out", *options)
    assert done.code == 0, done.err
    report = json.loads((tmp_path / "out" / "confidential" / "report.json").read_text())
    assert report["risk"]["findings"]
    assert report["risk"]["family"]["p_value"] is None  # no holdout: no excess of the table itself
    crossed = report["risk"]["cross_fit"]
    assert crossed["family"]["p_value"] is not None
    assert "half the size" in crossed["note"]
    done = run_here(
        "release",
        folder / "half.csv",
        "-o",
        tmp_path / "two",
        *options,
        "--holdout",
        folder / "other.csv",
    )
    assert done.code == 0, done.err
    report = json.loads((tmp_path / "two" / "confidential" / "report.json").read_text())
    assert report["risk"]["family"]["p_value"] is not None
    assert "cross_fit" not in report["risk"]


class Tables(HTMLParser):
    """The tables of a page: head and rows, each cell the words of its first line."""

    def __init__(self, html):
        super().__init__()
        self.tables, self.cell = [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.cell = []

    def handle_endtag(self, tag):
        if tag in ("th", "td") and self.cell is not None:
            self.tables[-1][-1].append(next((word for word in self.cell if word), ""))
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell.append(data.strip())


def guesses_of_page(html):
    """Return every guess on a page by the name of its attack: the verdict's, and those of all other tables of attacks."""
    out = {}
    for head, *rows in Tables(html).tables:
        if head[0] == "Attack" and "Guess" in head:
            for row in rows:
                if len(row) == len(head):
                    out.setdefault(row[0], []).append(row[head.index("Guess")])
    return out


def guesses_of_terminal(out, keys):
    """Return the guess of each attack in the table on the screen."""
    found = {}
    for line in out.splitlines():
        name, known, numbers = line.partition(f"{SENSITIVE}  {', '.join(keys)}  ")
        if known:
            found[name.strip()] = numbers.split()[1]
    return found


TWO_KEYS = ("wife_age", "num_children")  # few, so that a line of the screen holds them


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_page_terminal_and_json_have_one_guess(run_here, folder, tmp_path, convention):
    """Every attack that is registered, under every convention."""
    told, page = tmp_path / "r.json", tmp_path / "r.html"
    done = run_here(
        "risk",
        folder / "half.csv",
        folder / "synthetic.csv",
        "--holdout",
        folder / "other.csv",
        "--keys",
        ",".join(TWO_KEYS),
        "--sensitive",
        SENSITIVE,
        "--tcap-convention",
        convention,
        "--verbose",
        "--attackers",
        ",".join(attacker_words(*STUDIED)),
        "--resamples",
        20,
        "--svm-rows",
        100,
        "--seed",
        1,
        "--json",
        told,
        "--html",
        page,
    )
    assert done.code == 0, done.err
    findings = json.loads(told.read_text())["findings"]
    assert {finding["attacker"] for finding in findings} == {
        attacker.name
        for attacker in attackers_of_kind(*STUDIED)
        if "releases" not in (attacker.needs or ())
    }
    attacks = [finding for finding in findings if finding["sensitive"]]
    of_page, of_terminal = (
        guesses_of_page(page.read_text()),
        guesses_of_terminal(done.out, TWO_KEYS),
    )
    for attack in attacks:
        name = ATTACKERS[attack["attacker"]].title
        shown = f"{attack['guess']:.3f}"
        on_page = [*of_page.get(name, []), *of_page.get(f"{name} ({attack['convention']})", [])]
        assert len(on_page) == 2, name  # the verdict, and the table below the picture
        assert set(on_page) == {shown}
        on_screen = ATTACKERS[attack["attacker"]].short + (
            f" ({attack['convention']})" if attack["convention"] else ""
        )
        assert float(of_terminal[on_screen]) == pytest.approx(attack["guess"], rel=0.5e-2)
        assert of_terminal[on_screen] == f"{attack['guess']:.3g}"
    draws = {attack["attacker"] for attack in attacks if attack["guess_by"] == "draw"}
    assert draws == {"cap", "dcap", "gcap_score"}


def test_a_release_has_one_guess_too(run_here, folder, tmp_path):
    """Without a holdout the screen shows the cross-fit: its guesses are those of the JSON and of the page's table of it."""
    out = tmp_path / "out"
    done = run_here(
        "release",
        folder / "half.csv",
        "-o",
        out,
        "--keys",
        ",".join(TWO_KEYS),
        "--sensitive",
        SENSITIVE,
        "--attackers",
        "matching,memorisation",
        "--measures",
        "tvd",
        "--repeats",
        1,
        "--seed",
        1,
        "--label",
        "contraceptive_method",
        "--verbose",
    )
    assert done.code == 0, done.err
    risk = json.loads((out / "confidential" / "report.json").read_text())["risk"]
    html = (out / "confidential" / "report.html").read_text()
    of_terminal = guesses_of_terminal(done.out, TWO_KEYS)
    cross_fit = html[html.index('<section id="risk-cross-fit"') :]
    of_page = guesses_of_page(cross_fit[: cross_fit.index("</section>")])
    for attack in (one for one in risk["cross_fit"]["findings"] if one["sensitive"]):
        convention = f" ({attack['convention']})" if attack["convention"] else ""
        name = ATTACKERS[attack["attacker"]].title + convention
        on_screen = ATTACKERS[attack["attacker"]].short + convention
        assert of_terminal[on_screen] == f"{attack['guess']:.3g}"
        assert of_page[name] == [f"{attack['guess']:.3f}"]
    of_page = guesses_of_page(html[: html.index('<section id="risk-cross-fit"')])
    for attack in (one for one in risk["findings"] if one["sensitive"]):
        convention = f" ({attack['convention']})" if attack["convention"] else ""
        name = ATTACKERS[attack["attacker"]].title
        assert {*of_page.get(name, []), *of_page.get(name + convention, [])} == {
            f"{attack['guess']:.3f}"
        }


def test_terminal_json_and_page_say_where_values_were_not_compared(run_here, folder, tmp_path):
    told, page = tmp_path / "r.json", tmp_path / "r.html"
    options = [
        "--keys",
        ",".join(TWO_KEYS),
        "--sensitive",
        SENSITIVE,
        "--attackers",
        "matching,memorisation",
        "--resamples",
        5,
        "--seed",
        1,
    ]
    options += ["--json", told, "--html", page, "--overwrite"]
    said = "Not compared by their values: wife_age in bins"
    for numeric, says in (("values", False), ("bins", True)):
        done = run_here(
            "risk", folder / "half.csv", folder / "half.csv", *options, "--numeric", numeric
        )
        assert done.code == 0, done.err
        found = json.loads(told.read_text())
        assert (said in " ".join(done.out.split())) is says
        assert (said in page.read_text()) is says
        assert bool(found["about"]["comparison"]) is says
        assert all(
            ("wife_age in bins" in one["coarse"]) is says
            for one in found["findings"]
            if one["sensitive"]
        )
        assert found["about"]["settings"]["rare"] == "keep"
    done = run_here("risk", folder / "half.csv", folder / "half.csv", *options, "--rare", "pool")
    assert json.loads(told.read_text())["about"]["settings"]["rare"] == "pool"
    done = run_here("risk", folder / "half.csv", folder / "half.csv", *options, "--rare", "drop")
    assert done.code == 2
    assert "Unknown rare 'drop'" in done.err


def test_without_keys_memorisation_tests_are_run_alone(run_here, folder, tmp_path):
    told = tmp_path / "r.json"
    options = ["--holdout", folder / "other.csv", "--resamples", 50, "--seed", 1]
    done = run_here(
        "risk",
        folder / "half.csv",
        folder / "half.csv",
        *options,
        "--attackers",
        "exact_row,dcr",
        "--json",
        told,
        "--verbose",
    )
    assert done.code == 0, done.err
    assert "Exact row" in done.out
    assert "2 attacks together: p = " in " ".join(done.out.split())
    result = json.loads(told.read_text())
    assert [finding["attacker"] for finding in result["findings"]] == ["exact_row", "dcr"]
    assert result["findings"][0]["value"] == 1.0
    for wrong, words in (
        (["--attackers", "gcap"], "No attacker is left to run: name keys and sensitive columns"),
        (
            ["--attackers", "gcap_vote"],
            "needs columns that an outsider knows and a sensitive column",
        ),
        (["--attackers", "exact"], "Unknown attacker 'exact'. Did you mean 'exact_row'?"),
    ):
        done = run_here("risk", folder / "half.csv", folder / "half.csv", *options, *wrong)
        assert done.code == 2
        assert words in " ".join(done.err.split())


def test_several_releases_and_a_model_are_attacked_together(run_here, folder, tmp_path):
    told, page, model = tmp_path / "r.json", tmp_path / "r.html", tmp_path / "m.chaffinch"
    assert run_here("fit", folder / "half.csv", "-o", model, "--seed", 1, "--quiet").code == 0
    options = [
        "--holdout",
        folder / "other.csv",
        "--attackers",
        "exact_row,linkability",
        "--resamples",
        50,
        "--seed",
        1,
    ]
    files = [folder / "half.csv", folder / "half.csv", folder / "alone.csv"]
    done = run_here(
        "risk",
        *files,
        *options,
        "--model",
        model,
        "--parts",
        f"{KEYS}:{SENSITIVE}",
        "--json",
        told,
        "--html",
        page,
    )
    assert done.code == 0, done.err
    joint = json.loads(told.read_text())["together"]
    assert joint["names"] == ["half.csv", "alone.csv"]
    assert (
        joint["model_rows"] == 7400
    )  # ten times 737, rounded first: 7,370 would tell the number of rows
    assert [len(finding["releases"]["alone"]) for finding in joint["findings"]] == [3, 3]
    assert joint["sentence"] in " ".join(done.out.split())
    assert "Several releases together" in page.read_text()
    done = run_here("risk", *files, *options, "--parts", KEYS)
    assert done.code == 2
    assert "parts must be two sets of columns" in " ".join(done.err.split())


def test_files_are_attacked_batch_by_batch_where_asked(folder, tmp_path, run_here):
    words = [
        "risk",
        folder / "half.csv",
        folder / "synthetic.csv",
        "--holdout",
        folder / "other.csv",
        "--keys",
        KEYS,
        "--sensitive",
        SENSITIVE,
    ]
    words += ["--attackers", "matching,exact_row", "--resamples", 30, "--seed", 1]
    told = {}
    for engine in ("memory", "stream"):
        done = run_here(
            *words, "--engine", engine, "--sample-rows", 300, "--json", tmp_path / f"{engine}.json"
        )
        assert done.code == 0, done.err
        assert (
            "Of all records: CAP, DCAP, DiSCO, TCAP (matched_rows). Of a sample: GCAP"
            in " ".join(done.out.split())
        ) == (engine == "stream")
        told[engine] = json.loads((tmp_path / f"{engine}.json").read_text())
    for mine, theirs in zip(
        told["stream"]["findings"][:4], told["memory"]["findings"][:4], strict=True
    ):
        assert (mine["records"], mine["value"], mine["holdout"]) == (
            "all",
            pytest.approx(theirs["value"], rel=1e-12),
            pytest.approx(theirs["holdout"], rel=1e-12),
        )
    assert told["stream"]["memorisation"]["rows_equal_interval"]


def test_several_releases_are_attacked_batch_by_batch(folder, tmp_path, run_here):
    words = [
        "risk",
        folder / "half.csv",
        folder / "synthetic.csv",
        folder / "alone.csv",
        "--holdout",
        folder / "other.csv",
        "--keys",
        KEYS,
        "--sensitive",
        SENSITIVE,
    ]
    told = {}
    for engine in ("memory", "stream"):
        done = run_here(
            *words,
            "--engine",
            engine,
            "--attackers",
            "matching,exact_row",
            "--resamples",
            30,
            "--seed",
            1,
            "--json",
            tmp_path / f"{engine}.json",
        )
        assert done.code == 0, done.err
        told[engine] = json.loads((tmp_path / f"{engine}.json").read_text())["together"]
    for mine, theirs in zip(told["stream"]["findings"], told["memory"]["findings"], strict=True):
        assert mine["value"] == pytest.approx(theirs["value"], rel=1e-12)
    done = run_here(*words, "--engine", "stream", "--model", folder / "model")
    assert done.code == 2
    assert "A model beside a release is attacked in memory: pass --engine memory" in " ".join(
        done.err.split()
    )


def test_a_holdout_that_is_none_ends_with_two(run_here, data, folder, tmp_path):
    """The original for its own holdout, a part of it, and 5 % of it among others; with a proper holdout the original itself is flagged as ever."""
    half = folder / "half.csv"
    lines, others = half.read_text().splitlines(), (folder / "other.csv").read_text().splitlines()
    (tmp_path / "part.csv").write_text("\n".join([lines[0], *lines[100:300]]) + "\n")
    (tmp_path / "some.csv").write_text("\n".join([lines[0], *others[38:], *lines[600:637]]) + "\n")
    for holdout, engine in (
        (half, "memory"),
        (tmp_path / "part.csv", "memory"),
        (tmp_path / "some.csv", "memory"),
        (tmp_path / "some.csv", "stream"),
    ):
        done = run_here(
            "risk",
            half,
            half,
            "--holdout",
            holdout,
            "--max-excess",
            0.01,
            "--engine",
            engine,
            "--json",
            tmp_path / "r.json",
        )
        assert (done.code, done.out) == (2, ""), done.err
        assert "--holdout-share 0.25" in done.err
        assert not (tmp_path / "r.json").exists()
    done = run_here("utility", half, half, "--holdout", tmp_path / "part.csv")
    assert done.code == 2
    done = run_here("risk", half, half, "--holdout-share", 0.25)
    assert done.code == 2
    assert "made from all of the input" in done.err
    done = run_here(
        "risk", half, half, "--holdout", folder / "other.csv", "--max-excess", 0.01, "--seed", 1
    )
    assert done.code == 1
    for name, source in (
        ("few.csv", lines),
        ("fewer.csv", others),
    ):  # three columns: copies would not be seen, and that is said
        (tmp_path / name).write_text(
            "\n".join(",".join(line.split(",")[1:4]) for line in source) + "\n"
        )
    done = run_here(
        "risk",
        tmp_path / "few.csv",
        tmp_path / "few.csv",
        "--holdout",
        tmp_path / "fewer.csv",
        "--seed",
        1,
    )
    assert done.code == 0
    assert "5 % of copied ones would not be detected" in " ".join(done.out.split())
