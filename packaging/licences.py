"""Write docs/reference/licences.md: what the package needs, for what, and under which licence, from the metadata of what is installed.

    python packaging/licences.py        # in an environment with the extras: `make licences`

The page has no versions: it changes when pyproject.toml does, or when a package changes its licence. A test sees to it that every declared dependency is on it.
"""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

from sbom import canonical, closure, licence

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "licences.md"
OURS = {"test", "test-spark", "bench", "docs", "all"}
"""Extras that nobody installs to use the package, and the one that names others."""

ELSEWHERE = {"pyspark": "Apache-2.0"}
"""Licences of packages that stand in environments of their own."""

PURPOSES = {
    "numpy": "arrays",
    "numba": "compiled kernels",
    "pyarrow": "tables and files",
    "narwhals": "pandas, polars and others at the door",
    "scipy": "distributions, optimisers",
    "scikit-learn": "learners of measures and attacks",
    "threadpoolctl": "threads of linear algebra",
    "pydantic": "files that people write",
    "typer": "the command line",
    "rich": "the terminal",
    "jinja2": "pages",
    "safetensors": "model files",
    "pyreadstat": "SPSS, Stata and SAS files",
    "pandas": "data frames",
    "python-calamine": "Excel files",
    "duckdb": "DuckDB files, counting in a database",
    "polars": "data frames",
    "opendp": "noise for formal promises",
    "skops": "scikit-learn models without pickle",
    "pyspark": "clusters",
    "onnx": "ONNX models",
    "statsmodels": "regressions as they are published",
    "formulaic": "formulas",
    "starlette": "the local page",
    "uvicorn": "the local page",
}


def direct() -> dict[str, list[str]]:
    """Return the names that pyproject.toml declares for users, each with where: "core" or extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    where: dict[str, list[str]] = {}
    for group, requirements in {
        "core": project["dependencies"],
        **{k: v for k, v in project["optional-dependencies"].items() if k not in OURS},
    }.items():
        for requirement in requirements:
            name = re.match(r"[A-Za-z0-9._-]+", requirement)
            assert name
            where.setdefault(canonical(name[0]), []).append(group)
    return where


def licence_of(name: str) -> str:
    """Return the licence of a package that is installed here, or stands elsewhere."""
    try:
        return licence(metadata.distribution(name))
    except metadata.PackageNotFoundError:
        if name not in ELSEWHERE:
            raise SystemExit(f"{name} is not installed here: run `make licences`.") from None
        return ELSEWHERE[name]


def page() -> str:
    """Return the text of the page."""
    where = direct()
    declared = [
        f"| {name} | {PURPOSES.get(name, '')} | {', '.join(groups)} | {licence_of(name)} |"
        for name, groups in sorted(where.items(), key=lambda item: (item[1] != ["core"], item[0]))
    ]
    extras = frozenset(group for groups in where.values() for group in groups if group != "core")
    brought = [
        f"| {name} | {licence(distribution)} |"
        for name, distribution in sorted(closure(extras)[0].items())
        if name not in where and name != "chaffinch"
    ]
    return "\n".join(
        [
            "# Licences",
            "",
            "Chaffinch is under [Apache-2.0](https://www.apache.org/licenses/LICENSE-2.0). This page is made by `make licences` from what packages say of themselves; read the licence that comes",
            "with a package where it matters. For the exact versions of an install, with who needs whom, make a bill of materials: `python packaging/sbom.py` ([behind an air gap](../howto/air-gapped.md)).",
            "",
            "## In the package itself",
            "",
            "| file | what | licence |",
            "|---|---|---|",
            "| `chaffinch/web/static/htmx.min.js` | htmx, for the local page; its licence stands beside it | 0BSD |",
            "",
            "## What it needs",
            "",
            "`core` comes with every install; the others are extras: `pip install 'chaffinch[NAME]'`, or all but Spark with `chaffinch[all]`.",
            "",
            "| package | for | where | licence |",
            "|---|---|---|---|",
            *declared,
            "",
            "## What these bring",
            "",
            "With the versions of the day; newer ones may bring others.",
            "",
            "| package | licence |",
            "|---|---|",
            *brought,
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}.")
