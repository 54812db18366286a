"""Rules of the house: imports point one way, start-up is light, and the papers in order.

Checkers are plain functions, each tried on a small planted fault before it is let loose on the project.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import chaffinch

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "chaffinch"
DATA = ROOT / "examples" / "data"

RANKS = {
    name: rank
    for rank, names in enumerate(
        # The command line and the page stand side by side: a command may start the page.
        [
            "_base",
            "table",
            "counts",
            "privacy",
            "synth",
            "spark sql",
            "stats",
            "utility risk trees",
            "outputs",
            "report",
            "workflows",
            "cli web",
        ]
    )
    for name in names.split()
}
LAST = max(RANKS.values())


def python(
    *arguments: str, cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run this Python and return what it said; fail if it did not end well."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, (
        f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    )
    return done


# (a) A module imports only from stages left of its own.


def imports_of(tree: ast.AST, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of all that a module imports, also lazily, inside functions.

    `from x import y` yields `x.y`: y may be a module.
    """
    parts = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = parts[: len(parts) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{stem}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call):
            called = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            first = node.args[0] if node.args else None
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield node.lineno, str(first.value)


def backward_imports(package: Path) -> list[str]:
    """Return a line for each import of a package that points to the right, or past the stages."""
    faults = []
    for file in sorted(package.rglob("*.py")):
        relative = file.relative_to(package)
        if relative.as_posix() in ("__init__.py", "__main__.py", "errors.py"):
            continue
        stage = relative.parts[0]
        if stage not in RANKS:
            faults.append(f"{relative}: '{stage}' is no stage")
            continue
        is_package = file.name == "__init__.py"
        module = ".".join([package.name, *relative.with_suffix("").parts]).removesuffix(".__init__")
        for line, name in imports_of(
            ast.parse(file.read_text("utf-8")), module, is_package=is_package
        ):
            root, _, rest = name.partition(".")
            if root != package.name:
                continue
            target = rest.split(".")[0]
            # The top of the package holds names of every stage, so it counts as the last; its version is a word, and `keywords` are types alone.
            if target not in ("__version__", "keywords") and RANKS.get(target, LAST) > RANKS[stage]:
                faults.append(f"{relative}:{line} imports {name}")
    return faults


def plant(folder: Path, files: dict[str, str]) -> Path:
    package = folder / "chaffinch"
    for name, text in files.items():
        file = package / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return package


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("table/read.py", "from ..counts import Marginal"),
        ("table/read.py", "from .. import counts"),
        ("table/read.py", "import chaffinch.synth.privbayes"),
        ("table/read.py", "from chaffinch.report import html"),
        ("table/read.py", "def f():\n    from ..risk.attribution import cap"),
        (
            "table/read.py",
            "def f():\n    import importlib\n    importlib.import_module('chaffinch.cli')",
        ),
        ("table/read.py", "if TYPE_CHECKING:\n    from ..counts import Marginal"),
        ("table/__init__.py", "from ..counts import Marginal"),
        ("synth/bayesnet/searches.py", "from ...stats import intervals"),
        ("counts/counter.py", "from chaffinch import read"),
        ("counts/counter.py", "from .. import read"),
        ("_base/errors.py", "from ..table import Schema"),
        ("helpers/odd.py", "import numpy"),
        ("odd.py", "import numpy"),
    ],
)
def test_a_planted_backward_import_is_found(tmp_path: Path, name: str, text: str) -> None:
    assert len(backward_imports(plant(tmp_path, {name: text}))) == 1


def test_imports_to_the_left_are_no_fault(tmp_path: Path) -> None:
    package = plant(
        tmp_path,
        {
            "__init__.py": "from .counts import Marginal",
            "counts/counter.py": "from ..table import Table\nfrom .._base.errors import X\nfrom . import y",
            "synth/bayesnet/searches.py": "from ...counts import Counter\nfrom ..shared import x\nimport numpy",
            "cli/main.py": "from .. import __version__\nfrom ..report import page\nfrom ..web import serve",
        },
    )
    assert backward_imports(package) == []


def test_imports_point_one_way() -> None:
    assert len(list(PACKAGE.rglob("*.py"))) > 10
    assert backward_imports(PACKAGE) == []


# (b) Importing is light.

HEAVY = {"numba", "sklearn", "pandas", "polars", "duckdb", "pyreadstat", "pyspark", "scipy"}


def loaded_by(*arguments: str) -> set[str]:
    """Return the top names of all modules that a run of Python imports."""
    lines = python("-X", "importtime", *arguments).stderr.splitlines()
    return {
        line.rsplit("|", 1)[1].strip().split(".")[0]
        for line in lines
        if line.startswith("import time:")
    }


def test_loaded_modules_are_seen() -> None:
    assert "pandas" in loaded_by("-c", "import pandas")


@pytest.mark.parametrize("arguments", [("-c", "import chaffinch"), ("-m", "chaffinch", "--help")])
def test_start_up_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    loaded = loaded_by(*arguments)
    assert "chaffinch" in loaded
    assert loaded & HEAVY == set()


CMC = str(ROOT / "examples" / "data" / "cmc.csv")
OUTPUTS = str(ROOT / "examples" / "outputs" / "check_cmc.toml")
SLOW_TO_LOAD = HEAVY | {
    "numpy",
    "pyarrow",
    "jinja2",
    "narwhals",
    "rich",
    "starlette",
    "statsmodels",
    "opendp",
    "chaffinch.risk.finding",
    "chaffinch.risk.study",
    "chaffinch.utility.metric",
    "chaffinch.report",
}


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        (("--version",), set()),
        (("schema", CMC, "-o", "cmc.toml", "--overwrite"), {"numpy", "pyarrow", "numba"}),
        (
            ("plan", CMC, "--schema", CMC.replace(".csv", "_declared.toml"), "--epsilon", "1"),
            {"numpy", "pyarrow", "rich"},
        ),
        (
            ("synth", CMC, "-o", "synthetic.csv", "--quiet", "--overwrite"),
            {"numpy", "pyarrow", "numba"},
        ),
    ],
)
def test_a_command_loads_what_it_needs(
    command: tuple[str, ...], needed: set[str], tmp_path: Path
) -> None:
    """Import sets, not times: a command that comes to load more is noticed here. `scipy` alone is a name and a version, which numba asks for."""
    code = (
        "import sys; sys.argv[0] = 'chaffinch'\nfrom chaffinch.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print('loaded', *(n for n in {sorted(SLOW_TO_LOAD)} if n in sys.modules), *(n for n in sys.modules if n in ('scipy.linalg', 'scipy.special', 'scipy.stats')))"
    )
    run = [python("-c", code, *command, cwd=tmp_path) for _ in range(2)][
        1
    ]  # the first one may compile
    loaded = set(run.stdout.splitlines()[-1].split()[1:]) - {"scipy"}
    assert loaded <= needed, run.stderr


def test_options_are_declared_and_typer_parses_them_in_one_place() -> None:
    users = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        if re.search(r"^\s*(?:import|from) typer\b", file.read_text("utf-8"), flags=re.MULTILINE)
    }
    assert users == {"cli/app.py", "cli/command.py"}, "declare an option: chaffinch._base.options"


# (c) The papers name what there is.


def text_of(*parts: str) -> str:
    """Return the text of a file of the project."""
    return ROOT.joinpath(*parts).read_text("utf-8")


def test_the_reference_names_every_key_and_every_error() -> None:
    from chaffinch.table.schema_file import _ColumnEntry, _SchemaEntry

    page = text_of("docs", "reference", "schema-file.md")
    for key in (*_SchemaEntry.model_fields, *_ColumnEntry.model_fields):
        assert f"`{key}`" in page, key
    page = text_of("docs", "reference", "errors.md")
    for name in chaffinch.errors.__all__:
        if name.endswith("Error"):
            assert f"`{name}`" in page, name


def declarations() -> ModuleType:
    """Return the script that makes tables of options and types of keywords."""
    spec = importlib.util.spec_from_file_location("options", ROOT / "docs" / "hooks" / "options.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_types_of_keywords_are_those_of_the_declarations() -> None:
    script = declarations()
    assert script.KEYWORDS.read_text("utf-8") == script.keyword_types(), (
        "run python docs/hooks/options.py"
    )


def test_the_pages_of_commands_have_the_tables_of_their_options() -> None:
    tables = declarations()
    pages = {path: path.read_text("utf-8") for path in tables.COMMANDS.glob("*.md")}
    shown = [name for page in pages.values() for _, name, _ in tables.PLACE.findall(page)]
    assert sorted(shown) == sorted(name for name, _ in tables.commands())
    stale = [path.name for path, page in pages.items() if tables.with_tables(page) != page]
    assert not stale, "run python docs/hooks/options.py"


def test_scripts_that_are_named_are_there() -> None:
    named = re.compile(
        r"(?<![\w/])(?:tests|benchmarks|experiments|packaging|examples|src)/[\w/]+\.py"
    )
    papers = [
        *(ROOT / name for name in ("Makefile", ".ci/run", "README.md", "CONTRIBUTING.md")),
        *(path for path in (ROOT / "docs").rglob("*.md") if "design" not in path.parts),
        *(ROOT / "experiments").rglob("README.md"),
    ]
    modules = re.compile(r"-m (?:benchmarks|experiments)\.[\w.]+\w")
    found = {
        (path.name, name)
        for path in papers
        for text in [path.read_text("utf-8")]
        for name in [
            *named.findall(text),
            *(f"{name[3:].replace('.', '/')}.py" for name in modules.findall(text)),
        ]
    }
    assert len(found) > 20
    assert {(paper, name) for paper, name in found if not (ROOT / name).is_file()} == set()


# (d) One version.


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads(text_of("pyproject.toml"))["project"]["version"]
    changes = re.findall(r"^## \[?(\d+\.\d+\.\d+)", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    cited = re.findall(r"^version: [\"']?([^\s\"']+)", text_of("CITATION.cff"), flags=re.MULTILINE)
    assert changes[:1] == [version]
    assert cited == [version]
    assert chaffinch.__version__ == version


# (e) Files from strangers are data.

RUNS_CODE = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}


def code_runners(source: str) -> list[str]:
    """Return a line for each import of a pickle, each call of eval or exec, and each allowed pickle."""
    tree = ast.parse(source)
    imported = imports_of(tree, "m", is_package=False)
    faults = [
        f"{line} imports {name}" for line, name in imported if name.split(".")[0] in RUNS_CODE
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            if called in ("eval", "exec"):
                faults.append(f"{node.lineno} calls {called}")
            if any(word.arg == "allow_pickle" for word in node.keywords):
                faults.append(f"{node.lineno} allows pickles")
    return faults


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import pickle as p",
        "from pickle import loads",
        "def f():\n    import dill",
        "__import__('pickle')",
        "eval('1')",
        "def f(text):\n    exec(text)",
        "numpy.load(path, allow_pickle=True)",
    ],
)
def test_a_planted_code_runner_is_found(source: str) -> None:
    assert len(code_runners(source)) == 1


def test_no_pickle_no_eval() -> None:
    faults = {
        str(file.relative_to(ROOT)): found
        for file in PACKAGE.rglob("*.py")
        if (found := code_runners(file.read_text("utf-8")))
    }
    assert faults == {}


# (f) Nothing knows the machine it was written on.

MACHINE_PATH = re.compile(r"(?<![\w.:/~-])/" + "(?:root|work|tmp|home)" + r"\b")
TEXT = {
    ".py",
    ".md",
    ".toml",
    ".yml",
    ".yaml",
    ".cff",
    ".csv",
    ".json",
    ".txt",
    ".html",
    ".css",
    "",
}
TOP = [".ci", "benchmarks", "docs", "examples", "experiments", "src", "tests"]


def project_texts() -> list[Path]:
    """Return the text files of the project: those at the top and those in its folders."""
    files = [
        path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"
    ]  # a file where the checkout is a worktree
    files += [path for folder in TOP for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [
        path
        for path in files
        if path.suffix in TEXT and not {"__pycache__", "scratch"} & set(path.parts)
    ]


def test_a_planted_path_is_found() -> None:
    for folder in ("root", "work", "tmp", "home"):
        assert MACHINE_PATH.search(f"open('/{folder}/x.csv')")
        assert MACHINE_PATH.search(f"see /{folder}/x")
    for innocent in ("rows/work", "../tmp/x", "https://example.org/work/x", "/workclass", "~/home"):
        assert not MACHINE_PATH.search(innocent)


def test_no_file_names_a_folder_of_some_machine() -> None:
    files = project_texts()
    for known in (
        "README.md",
        "Makefile",
        ".ci/run",
        "src/chaffinch/__init__.py",
        "examples/data/cmc.csv",
    ):
        assert ROOT / known in files
    found = {
        str(path.relative_to(ROOT))
        for path in files
        if MACHINE_PATH.search(path.read_text("utf-8"))
    }
    assert found == set()


# (g) The bundled tables.


def test_bundled_tables_are_small_and_credited() -> None:
    tables = [path for path in DATA.iterdir() if path.suffix != ".md"]
    credited = text_of("examples", "data", "README.md")
    assert len(tables) >= 6
    assert sum(path.stat().st_size for path in tables) < 2_000_000
    for path in tables:
        assert f"`{path.name}`" in credited, path.name


# (h) `tests/` has a folder for each stage.


def test_each_stage_has_its_tests() -> None:
    stages = {folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").exists()}
    assert stages == set(RANKS)
    assert {
        stage for stage in stages if not list((ROOT / "tests" / stage).rglob("test_*.py"))
    } == set()


# (i) Names say what they hold: a variable, a parameter, a function is not named by one small word.

SMALL_WORDS = frozenset(
    [
        "one",
        "some",
        "at",
        "of",
        "most",
        "least",
        "own",
        "said",
        "found",
        "kept",
        "told",
        "made",
        "held",
        "part",
        "place",
        "left",
        "words",
        "lot",
        "turn",
        "there",
        "beside",
        "every",
        "gone",
        "whole",
        "sides",
        "good",
        "bad",
    ]
)


def named_by_small_words(source: str) -> list[str]:
    """Return the names of functions, parameters and variables that are one small word, each time that one is given."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
    return [name for name in names if name.strip("_") in SMALL_WORDS]


def test_a_planted_small_word_is_found() -> None:
    source = "def of(at):\n    for one in at:\n        most = _some = one.own\n    return [x for words in most]"
    assert sorted(named_by_small_words(source)) == ["_some", "at", "most", "of", "one", "words"]


def names_in_package(names_in: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """Return the names that a checker finds, by module; modules without one are left out."""
    names = {
        file.relative_to(PACKAGE).as_posix(): names_in(file.read_text("utf-8"))
        for file in PACKAGE.rglob("*.py")
    }
    assert len(names) > 400
    return {module: of_module for module, of_module in names.items() if of_module}


def test_no_name_is_a_small_word() -> None:
    offenders = names_in_package(named_by_small_words)
    assert offenders == {}, "use the noun of what it holds: max_rows, column, index"


# (j) A function is a verb or the quantity that it returns: none is called `of`, and none in a module by a bare participle.

IRREGULAR_PARTICIPLES = frozenset(
    [
        "beaten",
        "become",
        "begun",
        "bent",
        "bitten",
        "blown",
        "bought",
        "bound",
        "bred",
        "broken",
        "brought",
        "built",
        "cast",
        "caught",
        "chosen",
        "come",
        "cut",
        "dealt",
        "done",
        "drawn",
        "driven",
        "eaten",
        "fallen",
        "felt",
        "forbidden",
        "forgotten",
        "fought",
        "found",
        "frozen",
        "given",
        "gone",
        "grown",
        "heard",
        "held",
        "hidden",
        "hung",
        "kept",
        "laid",
        "learnt",
        "led",
        "left",
        "lent",
        "lost",
        "made",
        "meant",
        "met",
        "overcome",
        "paid",
        "proven",
        "put",
        "read",
        "ridden",
        "risen",
        "run",
        "said",
        "seen",
        "sent",
        "set",
        "shaken",
        "shot",
        "shown",
        "shut",
        "sold",
        "spent",
        "split",
        "spoken",
        "spread",
        "stolen",
        "struck",
        "stuck",
        "sung",
        "sunk",
        "swept",
        "sworn",
        "taken",
        "taught",
        "thought",
        "told",
        "torn",
        "understood",
        "woken",
        "won",
        "worn",
        "woven",
        "written",
    ]
)
VERBS_LIKE_PARTICIPLES = frozenset(
    [
        "become",
        "bed",
        "breed",
        "cast",
        "come",
        "cut",
        "embed",
        "feed",
        "fit",
        "need",
        "put",
        "read",
        "run",
        "seed",
        "set",
        "shut",
        "speed",
        "split",
        "spread",
    ]
)
"""Words that look like participles and are what a function does."""


def named_by_participles(source: str) -> list[str]:
    """Return the names of a module's functions that are one participle, and of all its functions and methods that are `of`."""
    tree = ast.parse(source)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    words = {name: name.strip("_") for name in names}
    return [
        name
        for name, word in words.items()
        if (re.fullmatch(r"[a-z]+ed", word) or word in IRREGULAR_PARTICIPLES)
        and word not in VERBS_LIKE_PARTICIPLES
    ] + [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.strip("_") == "of"
    ]


def test_a_planted_participle_is_found() -> None:
    source = """
def judged(): ...
def _shown(): ...
def drawn_rows(): ...
def read(): ...
def embed(): ...
class Rows:
    def of(self): ...
    def sorted(self): ...
"""
    assert named_by_participles(source) == ["judged", "_shown", "of"]


def test_no_function_is_named_by_a_participle() -> None:
    offenders = names_in_package(named_by_participles)
    assert offenders == {}, "a function is a verb or what it returns: judge, shown_rows, from_table"
