"""Every class of declared settings in the package: its module is light, its defaults keep its own rules, and each option refuses bad values in one form of words."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import chaffinch
from chaffinch._base.options import Declared, Option, Setting, own_settings, settings_of, value_text
from chaffinch.errors import InputError
from chaffinch.synth import Settings

PACKAGE = Path(chaffinch.__file__).parent
HEAVY = ("numpy", "pyarrow", "pydantic", "scipy", "pandas")


def declaring(package: Path) -> dict[str, list[str]]:
    """Return the modules of a package whose classes inherit `Declared`, at first or second hand, and the names of these classes."""
    bases: dict[tuple[str, str], set[str]] = {}
    for file in sorted(package.rglob("*.py")):
        name = ".".join(file.relative_to(package.parent).with_suffix("").parts)
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                bases[name, node.name] = {ast.unparse(base).split(".")[-1] for base in node.bases}
    declared = {"Declared"}
    while more := {name for (_, name), above in bases.items() if above & declared} - declared:
        declared |= more
    modules: dict[str, list[str]] = {}
    for (module, name), above in bases.items():
        if above & declared:
            modules.setdefault(module, []).append(name)
    return modules


def heavy_imports(module: str, folder: Path) -> list[str]:
    """Return what is heavy among the imports of a module, alone in a Python of its own."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import {module}; print(*(set({HEAVY}) & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return sorted(done.stdout.split())


def is_method(module: str, name: str) -> bool:
    """Whether a class is a synthesiser: it fits models, so its module is heavy, and what commands need of it is declared in `synth.options`."""
    return issubclass(getattr(import_module(module), name), Settings)


MODULES = {
    module: names
    for module, found in declaring(PACKAGE).items()
    if (names := [name for name in found if not is_method(module, name)])
}
CLASSES: list[Any] = [
    getattr(import_module(module), name) for module, names in MODULES.items() for name in names
]


def test_a_planted_heavy_import_is_found(tmp_path):
    package = tmp_path / "planted"
    package.mkdir()
    head = "from chaffinch._base.options import Declared\n"
    (package / "__init__.py").write_text("")
    (package / "light.py").write_text(f"{head}class Search(Declared): ...\n")
    (package / "heavy.py").write_text(
        "import numpy\nfrom .light import Search\nclass Wider(Search): ...\n"
    )
    (package / "other.py").write_text("import numpy\nclass Plain: ...\n")
    assert declaring(package) == {"planted.heavy": ["Wider"], "planted.light": ["Search"]}
    assert heavy_imports("planted.light", tmp_path) == []
    assert "numpy" in heavy_imports("planted.heavy", tmp_path)


def test_the_classes_that_were_found_are_declared():
    assert len(CLASSES) > 10
    assert all(issubclass(cls, Declared) for cls in CLASSES)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_that_declares_settings_imports_nothing_heavy(module):
    assert heavy_imports(module, PACKAGE.parent) == []


def required(cls: Any) -> dict[str, Any]:
    """Return a value for each option without a default."""
    values = {"path": Path("a.csv"), "word": "independent", "names": ("a",), "number": 1.0}
    return {name: values[entry.kind] for name, entry in settings_of(cls).items() if entry.required}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_defaults_keep_the_rules(cls):
    settings = cls.from_options(**required(cls))
    assert settings == settings.with_options()
    assert set(settings.given()) >= set(required(cls))


def refused(name: str, option: Option, what: str, value: object) -> str:
    """Return the words for a number that breaks its rule, from the bounds of the declaration."""
    if option.gt is not None and option.le is not None:
        rule = f"must be above {option.gt:,} and at most {option.le:,}"
    elif (option.ge, option.gt) != (None, None) and (option.le, option.lt) != (None, None):
        low = option.gt if option.ge is None else option.ge
        high = option.lt if option.le is None else option.le
        rule = f"must lie between {low:,} and {high:,}"
    else:
        ends = {
            " of at least": option.ge,
            " above": option.gt,
            " of at most": option.lt if option.le is None else option.le,
        }
        words = "".join(f"{word} {end:,}" for word, end in ends.items() if end is not None)
        rule = f"must be {what}{words}"
    return f"{name} {rule}. Got {value_text(value)}."


def bad_values(setting: Setting) -> list[tuple[object, str]]:
    """Return values that an option must refuse, and in which words."""
    name, option = setting.name, setting.option
    if setting.kind in ("whole", "number"):
        bad: list[object] = [float("nan"), True, [], object]
        bad += [] if option.read else ["many"]
        bad += [] if setting.optional else [None]
        bad += [1.5] if setting.kind == "whole" else [float("inf")]
        bad += [bound - 1 for bound in (option.ge, option.gt) if bound is not None]
        bad += [bound + 1 for bound in (option.le, option.lt) if bound is not None]
        bad += [bound for bound in (option.gt, option.lt) if bound is not None]
        what = "a whole number" if setting.kind == "whole" else "a number"
        return [(value, refused(name, option, what, value)) for value in bad]
    if setting.choices:
        is_list = setting.kind == "names"
        thing = name.split("_")[-1].removesuffix("s" if is_list else "")
        return [
            (["nothing like it"] if is_list else "nothing like it", f"{thing} 'nothing like it'.")
        ]
    words = {
        "flag": "true or false",
        "map": "COLUMN=VALUE",
        "sizes": "a size or a range, as 4 or 3-6",
    }
    if setting.kind in words:
        return [(3, f"{name} must be {words[setting.kind]}. Got 3.")]
    if setting.kind == "names":
        return [([1], f"{name} must be a list of names, as ['age', 'sex']. Got [1].")]
    alone = {entry for entry in setting.types if entry is not type(None)}
    if alone in ({Path}, {str}) and option.read is None:
        kind = "a path" if alone == {Path} else "a word"
        return [(3, f"{name} must be {kind}. Got 3.")]
    return []


METHODS: list[Any] = [
    getattr(import_module(module), name)
    for module, found in declaring(PACKAGE).items()
    for name in found
    if is_method(module, name) and is_dataclass(getattr(import_module(module), name))
]
CASES = [
    pytest.param(cls, name, id=f"{cls.__name__}-{name}")
    for cls in (*CLASSES, *METHODS)
    for name in own_settings(cls)
]


@pytest.mark.parametrize(("cls", "name"), CASES)
def test_an_option_refuses_what_its_declaration_rules_out(cls, name):
    """Where a value is of the wrong kind, out of range or unknown, the error names the option, the rule and what came."""
    for value, words in bad_values(own_settings(cls)[name]):
        with pytest.raises(InputError) as error:
            cls.from_options(**{**required(cls), name: value})
        is_private = cls in METHODS and (name, value) == ("epsilon", None)
        assert (f"{cls.__name__} needs epsilon" if is_private else words) in str(error.value)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_no_path_is_shown_in_what_leaves(cls: type[Declared]) -> None:
    """What is kept in a record may leave: paths and addresses of a cluster tell how a place is built."""
    settings = settings_of(cls).values()
    paths = [s.name for s in settings if s.kind in ("path", "paths") or s.option.metavar == "PATH"]
    assert [name for name in paths if settings_of(cls)[name].option.leaves] == []
