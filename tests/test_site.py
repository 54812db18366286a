"""The documentation as a site: every page has its place, every public name its reference, every link an end; it can be searched from the disk."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import chaffinch

from .browser import Browser, needs_chromium
from .test_house import PACKAGE, ROOT, text_of

DOCS = ROOT / "docs"
SITE = ROOT / "site"
READERS = PACKAGE / "outputs" / "readers"
INTERNAL = {
    "coefficient_columns",
    "column_term",
    "label_column",
    "labelled_formula",
    "patsy_formula",
    "patsy_name",
    "place_candidates",
    "plain",
    "rebuilt_formula",
    "rename_numbers",
    "split_outside",
    "formula_of_columns",
    "first_reason",
    "refuse",
    "check_reasons",
    "made_up_names",
}
"""Public functions of the readers' modules that serve other modules of the package, not a person."""


def loaded(path: Path) -> ModuleType:
    """Return a file of the documentation's machinery as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# (a) Every public name has its reference, and every reference its object.


def exported(init: Path) -> set[str]:
    """Return the names that a package offers, without importing it: Spark need not be there."""
    return {
        alias.asname or alias.name
        for block in ast.parse(init.read_text("utf-8")).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def described() -> dict[str, str]:
    """Return the headings of the reference in Python, and the object that each is made from."""
    pattern = re.compile(r"^::: (\S+)\n    options:\n      heading: (\S+)", flags=re.MULTILINE)
    pages = (page.read_text("utf-8") for page in sorted((DOCS / "reference" / "api").glob("*.md")))
    return {heading: home for page in pages for home, heading in pattern.findall(page)}


def test_every_public_name_is_in_the_reference() -> None:
    names = {f"chaffinch.{name}" for name in chaffinch.__all__} - {
        "chaffinch.__version__",
        "chaffinch.trees",
    }
    for package in ("trees", "spark"):
        names |= {
            f"chaffinch.{package}.{name}" for name in exported(PACKAGE / package / "__init__.py")
        }
    for module in sorted(READERS.glob("[a-z]*.py")):
        functions = {
            node.name
            for node in ast.parse(module.read_text("utf-8")).body
            if isinstance(node, ast.FunctionDef)
        }
        names |= {
            f"chaffinch.outputs.readers.{module.stem}.{name}"
            for name in functions - INTERNAL
            if not name.startswith("_")
        }
    assert len(names) > 60
    assert names - set(described()) == set()


def test_the_list_of_public_names_is_whole() -> None:
    page = text_of("docs", "reference", "api.md")
    assert [
        name for name in chaffinch.__all__ if name != "__version__" and f"`{name}`" not in page
    ] == []


def test_every_entry_of_the_reference_is_an_object() -> None:
    """The pages are made from the sources alone; here the sources are read in the same way."""
    for home in described().values():
        module, _, name = home.rpartition(".")
        file = PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
        if not file.is_file():  # a module as a whole
            assert PACKAGE.joinpath(*home.split(".")[1:]).with_suffix(".py").is_file(), home
            continue
        body = ast.parse(file.read_text("utf-8")).body
        functions = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        values = {
            target.id
            for node in body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        values |= {
            node.target.id
            for node in body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        assert name in functions | values, home


# (b) Every page is in the contents, and links between files and to headings lead somewhere.


def slug(heading: str) -> str:
    """Return the anchor of a heading, as Python-Markdown and code forges make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def prose_of(markdown: str) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)


def broken_links(page: Path) -> list[str]:
    """Return the links of a Markdown page to files and headings that are not there."""
    faults = []
    for address in re.findall(r"\]\(([^)\s]+)\)", prose_of(page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", address):
            continue
        path, _, anchor = address.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            faults.append(f"{page.name}: {address}: there is no such file")
        elif anchor and target.suffix == ".md":
            headings = re.findall(
                r"^#+ (.+)$", prose_of(target.read_text("utf-8")), flags=re.MULTILINE
            )
            if anchor not in {slug(heading) for heading in headings}:
                faults.append(f"{page.name}: {address}: there is no such heading")
    return faults


def test_a_planted_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Here: `it` is\n[a](#here-it-is) [b](#gone) [c](other.md) [d](https://example.org) ![e](e.png)\n```py\n[f](g)\n```\n"
    )
    assert broken_links(page) == [
        "page.md: #gone: there is no such heading",
        "page.md: other.md: there is no such file",
        "page.md: e.png: there is no such file",
    ]


def pages() -> list[Path]:
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted(DOCS.rglob("*.md")),
        *sorted((ROOT / "examples").rglob("*.md")),
    ]


def test_links_lead_somewhere() -> None:
    assert [fault for page in pages() for fault in broken_links(page)] == []


def test_every_page_has_its_place_in_the_contents() -> None:
    contents = re.findall(r": ([\w/.-]+\.md)$", text_of("mkdocs.yml"), flags=re.MULTILINE)
    assert len(contents) == len(set(contents))
    written = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert set(contents) <= written
    assert {page for page in written - set(contents) if not page.startswith("design/")} == set()


def test_every_picture_is_shown_somewhere() -> None:
    shown = "\n".join(page.read_text("utf-8") for page in pages())
    assert [
        picture.name for picture in sorted((DOCS / "images").iterdir()) if picture.name not in shown
    ] == []


# (c) The page that compares shows figures that were measured.


def figures_without_source(page: str, root: Path) -> list[str]:
    """Return the numbers of a page's tables that stand in none of the CSV files that their section names, decimals as printed."""
    faults = []
    for section in re.split(r"^(?=##+ )", page, flags=re.MULTILINE):
        sources = re.findall(r"`([\w/]+\.csv)`", section)
        cells = {
            cell
            for source in sources
            for cell in re.split(r'[,"\n]', (root / source).read_text("utf-8"))
        }
        rows = re.findall(r"^\|(?!---)(.+)\|$", section, flags=re.MULTILINE) if sources else []
        numbers = {
            cell.strip()
            for row in rows
            for cell in row.split("|")
            if re.fullmatch(r"\d+\.\d+", cell.strip())
        }
        faults += [f"{section.splitlines()[0]}: {number}" for number in sorted(numbers - cells)]
    return faults


def test_a_planted_figure_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("how,s\nours,0.25\n")
    page = "# Page\n\n## Speed\n\nFrom `a.csv`.\n\n| | s |\n|---|---:|\n| ours | 0.25 |\n| theirs | 0.75 |\n"
    assert figures_without_source(page, tmp_path) == ["## Speed: 0.75"]


def test_figures_that_compare_stand_in_the_results() -> None:
    page = text_of("docs", "compared.md")
    assert len(re.findall(r"`[\w/]+\.csv`", page)) >= 8
    assert figures_without_source(page, ROOT) == []


# (d) The built pages: what the build checks in them, and the search.


def test_the_check_of_built_pages_finds_planted_faults(tmp_path: Path) -> None:
    check = loaded(DOCS / "hooks" / "site_check.py")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.html").write_text(
        '<h1 id="top">Two</h1><a href="../one.html#here">back</a><img src="data:image/png;base64,">'
    )
    (tmp_path / "404.html").write_text('<a href="/one.html">start</a>')
    page = tmp_path / "one.html"
    page.write_text(
        '<p id="here"><a href="b/two.html#top">two</a><a href="https://example.org">out</a><link rel="canonical" href="https://example.org">'
    )
    assert check.faults_of(tmp_path) == []
    page.write_text(
        '<a href="b/three.html">gone</a><a href="b/two.html#gone">gone</a><script src="https://example.org/x.js"></script>'
        '<link rel="stylesheet" href="//example.org/x.css">'
    )
    assert check.faults_of(tmp_path) == [
        "b/two.html points at ../one.html#here: there is no such place on that page",
        "one.html loads https://example.org/x.js",
        "one.html loads //example.org/x.css",
        "one.html points at b/three.html: there is no such file",
        "one.html points at b/two.html#gone: there is no such place on that page",
    ]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    started = Browser(tmp_path / "profile")
    yield started
    started.close()


@pytest.mark.slow
@needs_chromium
@pytest.mark.skipif(
    not (SITE / "index.html").is_file(), reason="there is no site/: run `make docs` first"
)
def test_the_site_is_searched_from_the_disk_without_a_network(browser: Browser) -> None:
    browser.look(f"{(SITE / 'index.html').as_uri()}?q=TCAP", settle=3, unfold=False)
    found = browser.ask(
        "[...document.querySelectorAll('.md-search-result__item a')].map(one => one.href)"
    )
    assert any("reference/attacks.html" in address for address in found), found
    assert {address.split(":")[0] for address in browser.requests} <= {
        "file",
        "data",
        "blob",
        "about",
    }
    assert browser.complaints == []


@pytest.mark.slow
@needs_chromium
@pytest.mark.skipif(
    not (SITE / "index.html").is_file(), reason="there is no site/: run `make docs` first"
)
@pytest.mark.parametrize(
    "page",
    [
        "index",
        "tutorial",
        "compared",
        "reference/api/release",
        "reference/measures",
        "commands/release",
    ],
)
def test_pages_do_not_scroll_sideways_on_a_telephone(browser: Browser, page: str) -> None:
    assert (SITE / f"{page}.html").is_file()
    browser.look(SITE / f"{page}.html", width=390, unfold=False)
    assert (
        browser.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        <= 0
    )
    assert {address.split(":")[0] for address in browser.requests} <= {
        "file",
        "data",
        "blob",
        "about",
    }


# (e) Commands that pages show exist, with their options: also those that are not run.


def commands_of(markdown: str) -> list[str]:
    """Return the commands in fenced and indented blocks, those that are forms (`...`, `[--option]`, names in capitals) left out."""
    from .test_documents import blocks_of, indented_commands

    fenced = [
        line
        for language, text in blocks_of(markdown)
        if language == "sh"
        for line in re.sub(r"\\\n\s*", "", text).splitlines()
        if line.startswith("chaffinch ")
    ]
    every = [
        *fenced,
        *(
            command
            for _, command in indented_commands(markdown)
            if command.startswith("chaffinch ")
        ),
    ]
    return [command for command in every if "..." not in command and "[--" not in command]


def parse(command: str) -> None:
    """Raise unless the command line knows a command and its options; nothing is run or read."""
    import typer

    from chaffinch.cli.app import app

    words = shlex.split(command, comments=True)[1:]
    group = typer.main.get_command(app)
    while hasattr(group, "commands") and words and not words[0].startswith("-"):
        assert words[0] in group.commands, f"no such command: {command}"
        group = group.commands[words.pop(0)]
    if "--config" not in words and not hasattr(group, "commands"):
        group.make_context("chaffinch", words)


@pytest.mark.parametrize(
    "fault",
    [
        "chaffinch synthesise a.csv",
        "chaffinch synth a.csv -o b.csv --variant dpart",
        "chaffinch synth -o b.csv",
        "chaffinch tree trim m.skops",
    ],
)
def test_a_planted_command_that_does_not_exist_is_found(fault: str) -> None:
    with pytest.raises(Exception, match=r"[Nn]o such|Missing|variant"):
        parse(fault)


def test_commands_that_pages_show_can_be_typed() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    commands = [
        (page, command) for page in pages for command in commands_of(page.read_text("utf-8"))
    ]
    assert len(commands) > 80
    faults = []
    for page, command in commands:
        try:
            parse(command)
        except Exception as error:
            faults.append(f"{page.name}: {command}: {error}")
    assert faults == []
