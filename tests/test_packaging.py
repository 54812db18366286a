"""What is published with the code: the wheel, its bill of materials, licences, the citation, and how to install it."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
import zipfile
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]


def script(name: str) -> ModuleType:
    """Return a script of packaging/ as a module."""
    sys.path.insert(0, str(ROOT / "packaging"))
    try:
        spec = importlib.util.spec_from_file_location(
            f"packaging_{name}", ROOT / "packaging" / f"{name}.py"
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / "packaging"))


def text_of(*parts: str) -> str:
    """Return the text of a file of the project."""
    return ROOT.joinpath(*parts).read_text("utf-8")


PROJECT: dict[str, Any] = tomllib.loads(text_of("pyproject.toml"))["project"]


# The wheel.


def test_a_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    """The list of what should be there, against the tree; `make test-package` holds it against a wheel that was built."""
    package = script("try_package")
    files = sorted(
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    about = "chaffinch-9.9.dist-info"
    more = [
        f"{about}/{name}"
        for name in (
            "METADATA",
            "RECORD",
            "WHEEL",
            "entry_points.txt",
            "licenses/LICENSE",
            "licenses/src/chaffinch/web/static/htmx.LICENSE",
        )
    ]
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in (*files, *more):
            archive.writestr(name, "")
    assert package.strangers(package.contents(wheel), "9.9") == []
    for name in (
        "tests/test_api.py",
        "chaffinch/tests/test_a.py",
        "chaffinch/adult.csv",
        "chaffinch/model.chaffinch",
        "examples/data/cmc.csv",
    ):
        assert package.strangers([*files, *more, name], "9.9") == [f"{name} should not be there"]
    assert package.strangers(
        [name for name in (*files, *more) if not name.endswith("py.typed")], "9.9"
    ) == ["chaffinch/py.typed is missing"]


def test_what_the_code_reads_beside_itself_is_known_to_the_package() -> None:
    kinds = {
        path.suffix
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert kinds == script("try_package").KINDS


def test_the_extra_all_is_every_extra_for_users_but_spark() -> None:
    extras = PROJECT["optional-dependencies"]
    (named,) = extras["all"]
    asked = re.fullmatch(r"chaffinch\[([\w,]+)\]", named)
    assert asked
    assert set(asked[1].split(",")) == set(extras) - {
        "all",
        "spark",
        "test",
        "test-spark",
        "bench",
        "docs",
    }


# Bounds.


def test_every_requirement_has_a_lower_bound() -> None:
    bounds = script("bounds")
    pins = [bounds.lowest(requirement) for requirement in bounds.declared(["all", "spark"])]
    assert all(re.fullmatch(r"[\w-]+==\d[\w.]*", pin) for pin in pins)
    assert {"numpy", "opendp", "uvicorn", "pyspark"} <= {pin.split("==")[0] for pin in pins}
    with pytest.raises(SystemExit, match="'numpy<3' has no lower bound"):
        bounds.lowest("numpy<3")


def test_a_package_has_one_lower_bound_everywhere() -> None:
    bounds = script("bounds")
    pins = {
        bounds.lowest(requirement)
        for extra in PROJECT["optional-dependencies"]
        for requirement in bounds.declared([extra])
    }
    names = [pin.split("==")[0] for pin in pins]
    assert sorted(names) == sorted(set(names))


# The bill of materials and licences.


def test_the_bill_of_this_environment_is_whole() -> None:
    sbom = script("sbom")
    told = sbom.bill()
    assert sbom.faults(told) == []
    assert told == sbom.bill()
    parts = {part["name"]: part for part in told["components"]}
    core = {
        sbom.canonical(re.match(r"[\w.-]+", requirement)[0])
        for requirement in PROJECT["dependencies"]
    }  # type: ignore[index]
    assert core <= set(parts)
    assert "llvmlite" in parts  # through numba
    assert "pytest" not in parts
    assert parts["numpy"]["version"] == np.__version__
    root = told["metadata"]["component"]["bom-ref"]
    (needs,) = [entry["dependsOn"] for entry in told["dependencies"] if entry["ref"] == root]
    assert {word.split("/")[1].split("@")[0] for word in needs} == core


def test_the_bill_of_an_extra_has_what_it_brings() -> None:
    sbom = script("sbom")
    names = {
        part["name"] for part in sbom.bill(frozenset({"private", "web", "pandas"}))["components"]
    }
    assert {"opendp", "starlette", "anyio", "pandas"} <= names


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda told: told.pop("serialNumber"), "serialNumber is missing"),
        (
            lambda told: told["components"].pop(),
            "components and dependencies are not of the same things",
        ),
        (
            lambda told: told["components"].append(told["components"][0]),
            "two components have one name",
        ),
        (lambda told: told["components"][0].pop("licenses"), "licenses is missing"),
        (lambda told: told.update(specVersion="1.0"), "it is no CycloneDX 1.6"),
    ],
)
def test_a_bill_that_is_not_whole_is_refused(change: Any, fault: str) -> None:
    sbom = script("sbom")
    told = sbom.bill()
    change(told)
    assert any(fault in line for line in sbom.faults(told))


def test_licences_of_declared_packages_are_listed() -> None:
    """Which packages, and that each has a licence; not which words a newer version of one uses for its own."""
    licences = script("licences")
    rows = re.findall(
        r"^\| ([\w-]+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$",
        text_of("docs", "reference", "licences.md"),
        flags=re.MULTILINE,
    )
    listed = {name: where.split(", ") for name, where, _ in rows if name != "package"}
    assert listed == licences.direct(), "make licences"
    assert all(name in licences.PURPOSES for name in listed)
    assert [name for name, _, word in rows if word.strip() in ("", "unknown")] == []


# The citation.

CFF_KEYS = {
    "cff-version",
    "message",
    "title",
    "abstract",
    "authors",
    "commit",
    "contact",
    "date-released",
    "doi",
    "identifiers",
    "keywords",
    "license",
    "license-url",
    "preferred-citation",
    "references",
    "repository",
    "repository-artifact",
    "repository-code",
    "type",
    "url",
    "version",
}
"""Keys that the Citation File Format 1.2.0 allows at the top."""


def test_the_citation_has_the_fields_of_its_format() -> None:
    lines = [
        line for line in text_of("CITATION.cff").splitlines() if line and not line.startswith("#")
    ]
    fields = dict(
        re.match(r"([\w-]+):\s*(.*)", line).groups() for line in lines if re.match(r"[\w-]+:", line)
    )  # type: ignore[union-attr]
    assert set(fields) <= CFF_KEYS
    assert {"cff-version", "message", "title", "authors"} <= set(fields)  # required
    assert fields["cff-version"] == "1.2.0"
    assert fields["type"] == "software"
    assert fields["version"].strip("\"'") == PROJECT["version"]
    assert fields["license"] == PROJECT["license"]
    if "date-released" in fields:
        date.fromisoformat(fields["date-released"].strip("\"'"))
    references = "\n".join(lines).split("references:")[1]
    kinds = re.findall(r"^  - type: ([\w-]+)$", references, flags=re.MULTILINE)
    assert (
        len(kinds)
        == len(re.findall(r"^    title: \S", references, flags=re.MULTILINE))
        == len(re.findall(r"^    authors:$", references, flags=re.MULTILINE))
    )
    assert set(kinds) <= {"article", "conference-paper", "software", "report", "book", "generic"}
    assert all(
        re.fullmatch(r"10\.\d{4,}/\S+", doi) for doi in re.findall(r"doi: (\S+)", references)
    )


# Files for people who install it.


def test_the_container_file_copies_what_is_there() -> None:
    text = text_of("Containerfile")
    joined = re.sub(r"\\\n", " ", text)
    for line in re.findall(r"^COPY (?!--from)(.+)$", joined, flags=re.MULTILINE):
        for source in line.split()[:-1]:
            assert "*" in source or (ROOT / source).exists(), source
    assert re.search(r"^USER (?!root)\w+", joined, flags=re.MULTILINE)
    assert joined.index("USER ") < joined.index("ENTRYPOINT")
    python = re.search(r"^ARG PYTHON=(3\.\d+)$", text, flags=re.MULTILINE)
    assert python
    assert f"Programming Language :: Python :: {python[1]}" in PROJECT["classifiers"]


def test_the_security_policy_says_what_to_do_and_what_not() -> None:
    text = text_of("SECURITY.md")
    assert "Never send real data" in text
    assert "Report a vulnerability" in text
