"""The command line as a whole: how faults end, and every page that a command writes, readable by its owner alone."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
import subprocess
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pytest
import typer

import chaffinch
from chaffinch.cli.app import app

KEEP, LEAVE = "Keep inside.", "May leave."
OUTPUTS = """
format = "chaffinch-outputs"
version = 1
rows = 100
[[columns]]
name = "sex"
levels = ["f", "m"]
[[columns]]
name = "home"
levels = ["rented", "owned"]
[[outputs]]
name = "home by sex"
kind = "table"
by = ["sex", "home"]
counts = [[20, 25], [30, 25]]
"""
WANTED = """
format = "chaffinch-outputs"
version = 1
[[outputs]]
name = "home by sex"
kind = "table"
by = ["sex", "home"]
threshold = 10
"""
SHADOWS = (
    "--synth",
    "independent",
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
)
ATTACK = ("people.csv", *SHADOWS)
COMMANDS = {
    "describe": ("people.csv",),
    "utility": ("people.csv", "synthetic.csv", "--measures", "tvd", "--repeats", 1),
    "risk": (
        "people.csv",
        "synthetic.csv",
        "--keys",
        "sex,area",
        "--sensitive",
        "home",
        "--attackers",
        "matching,memorisation",
        "--resamples",
        20,
    ),
    "compare": ("a.json", "b.json"),
    "check": (
        "wanted.toml",
        "--data",
        "people.csv",
        "--keys",
        "sex",
        "--sensitive",
        "home",
        "--syntheses",
        2,
        "--no-cumulative",
        "--threads",
        1,
    ),
    "evolve": ("outputs.toml", "-o", "evolved.csv", "--threads", 1),
    "audit": (
        "--synth",
        "independent",
        "--epsilon",
        1,
        "--neighbours",
        "add-remove",
        "--runs",
        80,
        "--pairs",
        "narrow",
        "--threads",
        1,
    ),
    "tree audit": ("tree.json",),
    "tree prune": ("tree.json", "-o", "pruned.json"),
    "attack membership": ATTACK,
    "attack singling-out": (*ATTACK, "--releases", 20),
    "release": ("people.csv", "-o", "folder", "--measures", "tvd", "--repeats", 1),
}
"""A quick call of each command that writes a page; `release` does so unasked."""


def test_help_and_version(run_here):
    said = subprocess.run(
        [sys.executable, "-m", "chaffinch", "--version"], capture_output=True, text=True
    )
    assert said.stdout.strip() == f"chaffinch {chaffinch.__version__}"
    for words, shown in ((), "schema"), (("schema",), "--output"), (("describe",), "--html"):
        done = run_here(*words, "--help")
        assert done.code == 0
        assert shown in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["schema", "none.csv"], "No such file: 'none.csv'"),
        (["describe", "t.csv", "--schema", "none.toml"], "No such file: 'none.toml'"),
        (["describe", "t.csv", "--json", "no/such/folder.json"], "there is no folder"),
        (["schema", "t.csv", "-o", "."], "it is a folder"),
        (["schema", "t.csv", "--rare", "polo"], "Unknown rare 'polo'. Did you mean 'pool'"),
        (["schema", "t.csv", "--encoding", "x"], "Unknown encoding"),
        (["schema", "t.csv", "--threads", "0"], "threads must be a whole number of at least 1"),
        (["schema", "latin.csv"], "--encoding cp1252"),
        (["schema"], "Missing argument"),
        (["skema", "t.csv"], "No such command"),
    ],
)
def test_bad_use_exits_with_2_and_writes_nothing(run_here, tmp_path, monkeypatch, arguments, says):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,x\n2,y\n" * 20)
    (tmp_path / "latin.csv").write_bytes("a,b\n\xe9,x\n\x81\xe9,y\n".encode("latin-1"))
    before = sorted(os.listdir(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = run_here(*arguments)
    assert done.code == 2
    assert says in " ".join(done.err.replace("│", " ").split())
    assert "Traceback" not in done.err
    assert sorted(os.listdir(tmp_path)) == before


def test_a_fault_of_ours_tells_where_and_not_what(tmp_path):
    code = (
        "import sys, chaffinch.cli.app as m, chaffinch.workflows.local as r\n"
        "def broken(*a, **k): raise RuntimeError('secret cell')\n"
        "r.scan = broken\n"
        "sys.argv = ['chaffinch', 'describe', 'x.csv']\n"
        "m.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 3
    assert "Internal fault: RuntimeError" in done.stderr
    assert "secret cell" not in done.stderr


def test_a_closed_pipe_is_no_fault(data):
    done = subprocess.run(
        f"{sys.executable} -m chaffinch schema {data / 'adult_train.parquet'} | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == "" or "Traceback" not in done.stderr


def opened_by(pid: int) -> set[str]:
    """Return the files that a process has open, as far as the system tells."""
    out = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                out.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return out


@pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="which files a process has open is asked of /proc"
)
def test_ctrl_c_leaves_the_old_output(tmp_path):
    big = tmp_path / "big.csv"
    rows = "".join(f"{i},{i * 7 % 1000},{i / 3}\n" for i in range(100_000))
    big.write_text("a,b,c\n" + 30 * rows)
    out = tmp_path / "big.toml"
    out.write_text("old")
    process = subprocess.Popen(
        [sys.executable, "-m", "chaffinch", "schema", str(big), "-o", str(out), "--overwrite"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while process.poll() is None and str(big) not in opened_by(process.pid):
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    if process.returncode == 0:
        pytest.skip("the machine finished before the signal came")
    assert process.returncode == 130
    assert out.read_text() == "old"
    assert b"Traceback" not in errors
    assert sorted(os.listdir(tmp_path)) == ["big.csv", "big.toml"]


# Pages.


class Words(HTMLParser):
    """The words that a reader of a page sees, in order; the link past the head is for those who listen."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.feed(
            re.sub(
                r"(?s)<style>.*?</style>|<a class=\"skip\".*?</a>", "", html[html.index("<body>") :]
            )
        )

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.append(data.strip())


def commands_with_pages(group=None, name: str = "") -> set[str]:
    """Return the commands that have --html."""
    group = group or typer.main.get_command(app)
    out = set()
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            out |= commands_with_pages(command, f"{name}{word} ")
        elif any("--html" in parameter.opts for parameter in command.params):
            out.add(f"{name}{word}")
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from sklearn.tree import DecisionTreeClassifier

    from chaffinch.trees.formats.files import write_model
    from chaffinch.trees.formats.from_sklearn import read_model

    place = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(1)
    for name in ("people", "synthetic"):
        levels = (("f", "m"), ("rented", "owned"), *(tuple("nsewm"),) * 4)
        rows = np.column_stack([rng.choice(words, 200) for words in levels])
        text = "\n".join(",".join(row) for row in rows)
        (place / f"{name}.csv").write_text(f"sex,home,area,school,work,birth\n{text}\n")
    (place / "outputs.toml").write_text(OUTPUTS)
    (place / "wanted.toml").write_text(WANTED)
    x, y = rng.integers(0, 9, (200, 3)), rng.integers(0, 2, 200)
    write_model(
        place / "tree.json",
        read_model(DecisionTreeClassifier(max_depth=4, random_state=1).fit(x, y)),
        None,
    )
    return place


def test_all_commands_with_pages_are_here():
    assert commands_with_pages() | {"release"} == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_is_for_its_owner_and_says_so_first(run_here, folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    if command == "audit":
        pytest.importorskip("opendp", reason="private fits need the extra")
    if command == "compare":
        for name in "ab":
            run_here(
                "utility",
                "people.csv",
                "synthetic.csv",
                "--measures",
                "tvd",
                "--json",
                f"{name}.json",
                "--quiet",
            )
    page = folder / (
        f"{command}.html" if command != "release" else "folder/confidential/report.html"
    )
    if command != "release":
        page.write_text(
            "an older page"
        )  # a file that others may read gives way to one that they may not
        page.chmod(0o644)
    seed = () if command.split()[0] in ("tree", "describe", "compare") else ("--seed", 1)
    before = os.umask(0o022)
    try:
        options = () if command == "release" else ("--html", page)
        if options:
            done = run_here(*command.split(), *COMMANDS[command], *seed, *options)
            assert (done.code, done.out, page.read_text()) == (2, "", "an older page")
            assert "it exists. Name another, or replace it with --overwrite" in done.err
            options = (*options, "--overwrite")
        done = run_here(*command.split(), *COMMANDS[command], *seed, *options)
    finally:
        os.umask(before)
    assert done.code in (0, 1), done.err
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    # Published numbers, plain data that may leave, and made-up tables: their pages may leave too. All are written for their owner alone.
    assert Words(page.read_text()).words[0] == (
        LEAVE if command in ("evolve", "compare", "audit") else KEEP
    )


def test_ctrl_c_says_what_is_kept_and_how_to_go_on(data, tmp_path, monkeypatch, capsys):
    """A model that was written before the rows were drawn stays, whole, and is named; what was not written is not."""
    from chaffinch.cli import app as commands
    from chaffinch.workflows.synthesise import Synthesis

    def stopped(*_words, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(Synthesis, "draw", stopped)
    monkeypatch.setattr("chaffinch._base.files._written", [])
    out, model = tmp_path / "out.csv", tmp_path / "m.chaffinch"
    for more, words in (
        ((), "Stopped. Nothing was written. The same command starts over."),
        (
            ("--model", str(model)),
            f"Stopped. Kept, and whole: {model}. Nothing else was written. The same command starts over.",
        ),
    ):
        monkeypatch.setattr(
            sys,
            "argv",
            [
                "chaffinch",
                "synth",
                str(data / "cmc.csv"),
                "-o",
                str(out),
                "--seed",
                "1",
                "--quiet",
                *more,
            ],
        )
        with pytest.raises(SystemExit) as end:
            commands.main()
        assert end.value.code == 130
        assert words in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.chaffinch"]


@pytest.mark.parametrize("option", ["--epsilon", "--rows", "--search", "--parents"])
def test_an_option_without_a_value_is_no_default(run_here, data, tmp_path, option):
    """`--epsilon "$UNSET"` must not make a table without a guarantee, as if nothing had been asked."""
    out = tmp_path / "out.csv"
    done = run_here("synth", data / "cmc.csv", "-o", out, f"{option}=", "--seed", 1)
    assert done.code == 2, done.err
    assert "''" in done.err
    assert not out.exists()
