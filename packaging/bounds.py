"""The lowest versions that pyproject.toml allows, as a constraints file: `python packaging/bounds.py [EXTRA ...] > lowest.txt`.

With them `make test-lowest` installs an environment of its own, and runs a part of the tests in it: a lower bound that does not work is a wrong one.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?(?P<rules>[^;]*)(?P<marker>;.*)?$"
)


def declared(extras: list[str], path: Path = PYPROJECT) -> list[str]:
    """Return the requirements of the package and of extras, with those that an extra names of this package again."""
    project = tomllib.loads(path.read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    listed, waiting = list(project["dependencies"]), [*extras]
    while waiting:
        for requirement in optional[waiting.pop()]:
            own = re.fullmatch(r"chaffinch\[([\w,\s-]+)\]", requirement)
            if own:
                waiting += [word.strip() for word in own[1].split(",")]
            elif requirement not in listed:
                listed.append(requirement)
    return listed


def lowest(requirement: str) -> str:
    """Return the constraint to the lowest version that a requirement allows.

    Examples
    --------
    >>> lowest("pyspark[connect]>=3.5,<5"), lowest("numpy>=2.0")
    ('pyspark==3.5', 'numpy==2.0')
    """
    found = REQUIREMENT.match(requirement)
    bound = found and re.search(r">=\s*([\w.]+)", found["rules"])
    if not found or not bound:
        raise SystemExit(
            f"'{requirement}' has no lower bound: write NAME>=VERSION in pyproject.toml."
        )
    return f"{found['name']}=={bound[1]}{found['marker'] or ''}"


if __name__ == "__main__":
    print("\n".join(sorted(map(lowest, declared(sys.argv[1:])), key=str.lower)))
