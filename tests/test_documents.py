"""The whole journey runs without a network, and what the documents show is what happens."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from .test_house import DATA, ROOT, python, text_of

pytestmark = pytest.mark.slow  # minutes: every block of every page is run

BLOCK = '''"""Refuse every connection: Python imports a module of this name when it starts."""
import socket


def refuse(*_args, **_options):
    raise RuntimeError("the network was touched")


for name in ("connect", "connect_ex", "sendto", "sendmsg", "bind"):
    setattr(socket.socket, name, refuse)
for name in ("create_connection", "getaddrinfo", "gethostbyname", "gethostbyaddr", "create_server"):
    setattr(socket, name, refuse)
'''

JOURNEY = """
import sys
from itertools import combinations
import chaffinch

source, schema, out = sys.argv[1:]
table = chaffinch.read(source, schema=schema)
pairs = list(combinations(table.schema.names, 2))
counted = chaffinch.MemoryCounter(table).marginals(pairs)
streamed = chaffinch.StreamCounter(chaffinch.scan(source, schema)).marginals(pairs)
assert all(one.same(other) for one, other in zip(counted, streamed, strict=True))
codes = [table.code(name) for name in table.schema.names]
for ending in ("csv", "csv.gz", "parquet", "arrow"):
    chaffinch.Table.from_codes(table.schema, codes, seed=1, like=table).write(f"{out}.{ending}")
"""


@pytest.fixture
def offline(tmp_path: Path) -> dict[str, str]:
    """Environment variables under which any Python process refuses to use the network."""
    folder = tmp_path / "offline"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCK, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.parametrize(
    "call",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import socket; socket.socket().connect(('127.0.0.1', 9))",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/')",
    ],
)
def test_a_call_out_is_refused(offline: dict[str, str], call: str) -> None:
    with pytest.raises(AssertionError, match="the network was touched"):
        python("-c", call, **offline)


@pytest.mark.parametrize("name", ["adult_train.parquet", "diabetes.csv"])
def test_the_journey_needs_no_network(tmp_path: Path, offline: dict[str, str], name: str) -> None:
    source, schema, out = str(DATA / name), str(tmp_path / "schema.toml"), str(tmp_path / "out")
    told = str(tmp_path / "d.json")
    python("-m", "chaffinch", "schema", source, "-o", schema, **offline)
    python("-m", "chaffinch", "describe", source, "--schema", schema, "--json", told, **offline)
    python("-c", JOURNEY, source, schema, out, **offline)
    written = sorted(path.name for path in tmp_path.iterdir() if path.is_file())
    assert written == ["d.json", "out.arrow", "out.csv", "out.csv.gz", "out.parquet", "schema.toml"]


def test_the_demo_runs_without_a_network_and_names_its_files(
    tmp_path: Path, offline: dict[str, str]
) -> None:
    folder = tmp_path / "demo"
    said = python("examples/demo.py", str(folder), **offline).stdout
    again = python("examples/demo.py", str(folder), **offline).stdout
    assert said.count("Wrote") == again.count("Wrote") > 0
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert {path.parent.name for path in files} == {"demo", "to-release", "confidential"}
    for file in files:
        assert file.stat().st_size > 0
        assert str(file) in said


SEPARATOR = "~~~~ next block ~~~~"


def blocks_of(markdown: str) -> list[tuple[str, str]]:
    """Return the language and the text of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", markdown, flags=re.MULTILINE | re.DOTALL)


NOT_RUN = {
    "chaffinch frontier examples/data/adult_test.parquet": "it takes minutes; tests/cli/test_frontier.py runs a small one",
    "chaffinch frontier adult.parquet": "it takes ten minutes, on a table of the reader's",
    "chaffinch frontier DATA": "a form, not a command",
    "chaffinch check session": "the session and the table are the reader's",
    "chaffinch check mended.toml --data people.csv": "the table is the reader's",
    "chaffinch check mended.toml ...": "a form, not a command",
    "chaffinch check acro_outputs": "a form, not a command",
    "chaffinch open": "it serves a page until it is stopped; tests/web opens it",
    "chaffinch evolve published.toml -o teaching.parquet": "it shows the answer to outputs that contradict each other",
    "chaffinch schema stays.csv": "the table is the reader's",
    "chaffinch synth --engine spark": "it needs a cluster",
    "chaffinch utility --engine spark": "it needs a cluster",
    "chaffinch risk --engine spark": "it needs a cluster",
    "chaffinch release --engine spark": "it needs a cluster",
}
"""Indented commands that are not run, by how they begin, and why; `tests/test_site.py` parses them all the same, but for forms."""


def indented_commands(markdown: str) -> list[tuple[int, str]]:
    """Return the indented commands of a document, and where they stand: lines that end in a backslash go on, what follows a dollar sign is a command."""
    plain = re.sub(
        r"^```.*?^```$",
        lambda block: re.sub(r"[^\n]", " ", block[0]),
        markdown,
        flags=re.MULTILINE | re.DOTALL,
    )
    found = re.finditer(
        r"^    (?:\$ )?((?:chaffinch|sed) (?:[^\n]*\\\n)*[^\n]*)$", plain, flags=re.MULTILINE
    )
    return [(one.start(), re.sub(r"\\\n\s*", "", one[1]).strip()) for one in found]


def test_indented_commands_are_found_and_those_in_fences_are_not() -> None:
    text = "Say:\n\n    chaffinch a b \\\n        --c\n\n```sh\n    chaffinch no\n```\n\n    $ chaffinch d\n    its answer\n"
    assert [command for _, command in indented_commands(text)] == [
        "chaffinch a b --c",
        "chaffinch d",
    ]


def as_script(markdown: str) -> tuple[str, list[str | None]]:
    """Return the Python and the commands of a document as one script, and the output shown after each fenced block. Indented commands may end with 1, and show nothing."""
    script: list[str] = [
        "import subprocess, sys",
        "def indented(command):",
        "    words = command.replace('chaffinch ', sys.executable + ' -m chaffinch ', 1)",
        "    done = subprocess.run(words, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)",
        "    assert done.returncode in (0, 1), (command, done.stderr)",
    ]
    shown: list[str | None] = []
    indented = [
        (place, command)
        for place, command in indented_commands(markdown)
        if not any(command.startswith(start) for start in NOT_RUN)
    ]
    places = [
        one.start()
        for one in re.finditer(r"^```(\w+)\n(.*?)^```$", markdown, flags=re.MULTILINE | re.DOTALL)
    ]
    for start, ((language, text), (after, output)) in zip(
        [*places], pairwise([*blocks_of(markdown), ("", "")]), strict=True
    ):
        while indented and indented[0][0] < start:
            script.append(f"indented({indented.pop(0)[1]!r})")
        commands = [
            shlex.split(line) for line in text.splitlines() if line.startswith("chaffinch ")
        ]
        if language == "python":
            script.append(text)
        elif language == "sh" and commands:
            script += [
                f"subprocess.run([sys.executable, '-m', *{command!r}], check=True, stderr=subprocess.DEVNULL)"
                for command in commands
            ]
        else:
            continue
        script.append(f"print({SEPARATOR!r}, flush=True)")
        shown.append(output if after == "text" else None)
    script += [f"indented({command!r})" for _, command in indented]
    return "\n".join(script), shown


def rights(text: str) -> str:
    """Return text without blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.splitlines())


def documents_with_code() -> list[str]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [
        page.relative_to(ROOT).as_posix()
        for page in pages
        if as_script(page.read_text("utf-8"))[1] or indented_commands(page.read_text("utf-8"))
    ]


def test_every_command_that_is_not_run_stands_in_some_document() -> None:
    commands = [
        command for page in documents_with_code() for _, command in indented_commands(text_of(page))
    ]
    for start, reason in NOT_RUN.items():
        assert reason
        assert any(command.startswith(start) for command in commands), start


@pytest.mark.parametrize("document", documents_with_code())
def test_documents_run_and_print_what_they_show(tmp_path: Path, document: str) -> None:
    script, shown = as_script(text_of(document))
    (tmp_path / "examples").mkdir()
    for name in ("data", "outputs"):
        (tmp_path / "examples" / name).symlink_to(ROOT / "examples" / name)
    said = python("-c", script, cwd=tmp_path, COLUMNS="100").stdout.split(f"{SEPARATOR}\n")[:-1]
    assert len(said) == len(shown)
    for given, expected in zip(said, shown, strict=True):
        if expected is not None:
            assert rights(given) == rights(expected)


def test_a_wrong_output_would_be_seen() -> None:
    script, shown = as_script("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    assert shown == ["3\n"]
    assert python("-c", script).stdout == f"2\n{SEPARATOR}\n"


def test_readme_and_tutorial_have_code_that_runs() -> None:
    assert {"README.md", "docs/tutorial.md"} <= set(documents_with_code())
    for document, fewest in (("README.md", 1), ("docs/tutorial.md", 5)):
        languages = [language for language, _ in blocks_of(text_of(document))]
        assert languages.count("python") >= fewest, document
        assert "text" in languages, document


def test_the_script_for_every_night_says_which_sessions_need_a_person(tmp_path: Path) -> None:
    """A session that fails, a file that passes, and one that cannot be read: each has its line, and the worst is the exit code."""
    sessions, verdicts, programs = (
        tmp_path / name for name in ("sessions", "verdicts", "programs")
    )
    for folder in (sessions, programs):
        folder.mkdir()
    head = 'format = "chaffinch-outputs"\nversion = 1\n[[outputs]]\nname = "t"\nkind = "table"\n'
    (sessions / "fine.toml").write_text(head + 'by = ["wife_education"]\n')
    (sessions / "few.toml").write_text(head + 'by = ["wife_age", "num_children"]\n')
    program = programs / "chaffinch"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m chaffinch "$@"\n')
    program.chmod(0o755)
    command = [
        "sh",
        str(ROOT / "examples" / "nightly.sh"),
        str(sessions),
        str(DATA / "cmc.csv"),
        str(verdicts),
    ]
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    assert subprocess.run(command, env=environment, check=False, timeout=300).returncode == 1
    assert (verdicts / "list.txt").read_text() == "few.toml: needs a person\nfine.toml: passed\n"
    assert json.loads((verdicts / "few.toml.json").read_text())["summary"][0]["verdict"] == "fail"
    (sessions / "broken.toml").write_text("= nonsense")
    (sessions / "few.toml").unlink()
    assert subprocess.run(command, env=environment, check=False, timeout=300).returncode == 2
    broken, fine = (verdicts / "list.txt").read_text().splitlines()
    assert broken.startswith("broken.toml: could not be read: ")
    assert fine == "fine.toml: passed"
    assert not (verdicts / "broken.toml.html").exists()
