"""The sentences with a figure that pages, terminal and browser print, found in the source: `python -m tests.sentences` writes the list anew.

A sentence is a formatted string of two words or more with a figure in it: a value with a format of numbers, or one that a function of `_base.text` made
words of; in templates a value between words. The list, `tests/sentences.csv`, has its place, its words with `{}` for each value, and the test that feeds it ugly cases, or why it cannot have a bad figure.
Lines and names of files may change freely: a sentence is known by its words.
"""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "chaffinch"
LIST = Path(__file__).with_name("sentences.csv")
FOLDERS = ("report", "cli", "web")
HERE = "tests/test_sentences.py"
"""The test that feeds most of them."""
NOT_FED = "no bad figure: "
"""How the reason begins that stands in place of a test."""
FIGURES = frozenset(
    (
        "number",
        "format_fixed",
        "format_signed",
        "percent",
        "between",
        "count_noun",
        "detectable_words",
        "masked_count",
        "len",
        "sum",
        "round",
        "way_between",
        "_count",
        "count_words",
        "_few",
        "_share",
    )
)
"""Functions that make words of figures, or figures."""
WORDS = re.compile(
    r"[A-Za-z]{2,}[^<>{}=]*[ ,;:][^<>{}=]*[A-Za-z]{2,}|[A-Za-z]{2,}[ :]|[ :][A-Za-z]{2,}"
)
MARKUP = re.compile(
    r"<(path|rect|circle|g|svg|text|title|span|p|li|div)\b|[MLHV]\{\}|stroke=|fill=|[a-z]=\""
)
SPEC = re.compile(r"^[,+]?(\.\d+)?[,dfge%n]$|^,\.\d[fg]$|^\+?\.\d+f$|^,$")


class Sentence(NamedTuple):
    """A sentence and where it stands: `lines` are the first and the last of it."""

    file: str
    function: str
    words: str
    lines: tuple[int, int]


def sentences() -> list[Sentence]:
    """Return every sentence with a figure, in the order of files and lines."""
    found = []
    for folder in FOLDERS:
        for path in sorted((SOURCE / folder).rglob("*.py")):
            found += _of_python(path)
        for path in sorted((SOURCE / folder).rglob("*.j2")):
            found += _of_template(path)
    return found


def _of_python(path: Path) -> Iterator[Sentence]:
    name = path.relative_to(SOURCE).as_posix()

    def walk(node: ast.AST, function: str) -> Iterator[Sentence]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.JoinedStr):
            words = "".join(
                part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
            if (
                WORDS.search(words.replace("{}", ""))
                and not MARKUP.search(words)
                and any(map(_is_figure, node.values))
            ):
                yield Sentence(
                    name,
                    function,
                    " ".join(words.split()),
                    (node.lineno, node.end_lineno or node.lineno),
                )
        for child in ast.iter_child_nodes(node):
            yield from walk(child, function)

    yield from walk(ast.parse(path.read_text("utf-8")), "")


def _is_figure(part: ast.expr) -> bool:
    if not isinstance(part, ast.FormattedValue):
        return False
    if isinstance(part.format_spec, ast.JoinedStr):
        spec = "".join(
            one.value if isinstance(one, ast.Constant) else "3" for one in part.format_spec.values
        )
        return bool(SPEC.match(spec))
    called = {
        one.func.id
        for one in ast.walk(part.value)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
    }
    names = {one.id for one in ast.walk(part.value) if isinstance(one, ast.Name)} | {
        one.attr for one in ast.walk(part.value) if isinstance(one, ast.Attribute)
    }
    return bool(called & FIGURES) or any(
        re.match(
            r"(n|count|counts|rows|people|records|share|low|high|lowest|highest|seconds|epsilon|delta|p_value)$|(n|max|min)_",
            one,
        )
        for one in names
    )


def _of_template(path: Path) -> Iterator[Sentence]:
    name = path.relative_to(SOURCE).as_posix()
    for place, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        for text in re.split(r"<[^>]*>|{%.*?%}", line):
            words = re.sub(r"{{.*?}}", "{}", text)
            figure = re.search(
                r"{{[^}]*(length|count|number|rows|share|missing|epsilon|left|seconds|excess)[^}]*}}",
                text,
            )
            if figure and WORDS.search(words.replace("{}", "")) and not MARKUP.search(words):
                yield Sentence(name, "", " ".join(words.split()), (place, place))


def listed() -> dict[str, str]:
    """Return the test of each sentence of the list."""
    with LIST.open(encoding="utf-8", newline="") as handle:
        return {row["sentence"]: row["test"] for row in csv.DictReader(handle)}


def main() -> None:
    """Write the list: sentences that the ugly cases reach name their test, those that nothing feeds yet name none."""
    from .test_sentences import reached_sentences, said_sentences

    tests, reached = listed() if LIST.exists() else {}, reached_sentences() | said_sentences()
    others = {words: test for words, test in tests.items() if test != HERE}
    with LIST.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["file", "function", "sentence", "test"])
        for one in sentences():
            writer.writerow(
                [
                    one.file,
                    one.function,
                    one.words,
                    HERE if one.words in reached else others.get(one.words, ""),
                ]
            )


if __name__ == "__main__":
    sys.exit(main())
