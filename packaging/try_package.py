"""Build the package, look into it, and install it in clean environments: what a person does who finds it on an index, or behind an air gap.

    python packaging/try_package.py [--pythons python3.11,python3.13] [--keep FOLDER]

1. An sdist and a wheel are built, and a wheel from the sdist: both wheels hold the same files, and those that they should.
2. A wheelhouse is filled with the wheel, the extra `all` and what they need, as `docs/howto/air-gapped.md` says.
3. For the oldest and the newest Python that is found (3.11 and newer): a clean environment, from the wheelhouse with `--no-index` for the Python that runs this,
   else from the index; the size of the install; a table is made, measured and looked at; the bill of materials is written and checked.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MOST_BYTES = 3_000_000
"""The size of a wheel beyond which something came in that should not have."""

WANTED = (
    "chaffinch/py.typed",
    "chaffinch/report/templates/page.css",
    "chaffinch/report/templates/page.html.j2",
    "chaffinch/web/static/htmx.min.js",
    "chaffinch/web/static/htmx.LICENSE",
    "chaffinch/web/static/web.css",
    "chaffinch/web/templates/base.html.j2",
)
"""Files beside the code without which it does not work, or may not be passed on."""

KINDS = {".py", ".pyi", ".typed", ".css", ".j2", ".js", ".svg", ".LICENSE"}
"""Endings of what may stand in the package."""

SMOKE = (
    ("--version",),
    ("schema", "{data}", "-o", "cmc.toml", "--quiet"),
    ("synth", "{data}", "-o", "synthetic.csv", "--seed", "1", "--quiet"),
    (
        "utility",
        "{data}",
        "synthetic.csv",
        "--measures",
        "tvd",
        "--json",
        "worth.json",
        "--html",
        "worth.html",
        "--quiet",
    ),
)
"""Commands that a fresh install must do."""

EXTRAS = "import duckdb, formulaic, onnx, opendp, pandas, polars, pyreadstat, python_calamine, skops, starlette, statsmodels, uvicorn"


def contents(wheel: Path) -> list[str]:
    """Return the names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def strangers(names: list[str], version: str) -> list[str]:
    """Return what is wrong with the files of a wheel: some that are missing, and some that should not be there."""
    about = f"chaffinch-{version}.dist-info"
    expected = (
        *WANTED,
        f"{about}/METADATA",
        f"{about}/RECORD",
        f"{about}/entry_points.txt",
        f"{about}/licenses/LICENSE",
        f"{about}/licenses/src/chaffinch/web/static/htmx.LICENSE",
    )
    wrong = [f"{name} is missing" for name in expected if name not in names]
    for name in names:
        inside = (
            name.startswith("chaffinch/")
            and Path(name).suffix in KINDS
            and not any(part == "tests" or part.startswith("test_") for part in Path(name).parts)
        )
        if not (inside or name.startswith(f"{about}/")):
            wrong.append(f"{name} should not be there")
    return wrong


def run(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a program; end with what it said if it fails."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    return done


def pythons() -> list[str]:
    """Return the Pythons from 3.11 on that are found on the path or among those of pyenv, oldest first."""
    found: dict[tuple[int, int], str] = {sys.version_info[:2]: sys.executable}
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(11, 20):
        for program in filter(
            None,
            [
                shutil.which(f"python3.{minor}"),
                *map(str, sorted(kept.glob(f"3.{minor}.*/bin/python3.{minor}"))),
            ],
        ):
            if (3, minor) in found:
                break
            asked = subprocess.run(
                [program, "-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])"],
                capture_output=True,
                text=True,
            )
            if asked.returncode == 0 and asked.stdout.split() == ["3", str(minor)]:
                found[3, minor] = program
    return [found[version] for version in sorted(found)]


def environment(folder: Path, python: str) -> Path:
    """Return the Python of a fresh environment."""
    run(python, "-m", "venv", "--clear", folder)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def built(folder: Path) -> tuple[Path, Path]:
    """Return an sdist and a wheel of this source, and see to it that the sdist gives the same wheel."""
    builder = environment(folder / "builder", sys.executable)
    requirement = re.search(
        r'requires = \["([^"]+)"\]', (ROOT / "pyproject.toml").read_text("utf-8")
    )
    assert requirement
    run(builder, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement[1])
    run(builder, "-m", "hatchling", "build", "-d", folder / "dist", cwd=ROOT)
    (sdist,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    run(builder, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "again", cwd=source)
    (again,) = (folder / "again").iterdir()
    if contents(again) != contents(wheel):
        raise SystemExit(
            "The wheel that is made from the sdist holds other files than the one from the source."
        )
    return sdist, wheel


def size(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def tried(python: Path, folder: Path, *, extras: bool) -> None:
    """Make a table with an installed package, away from its source, and write the bill of materials."""
    folder.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for words in SMOKE:
        run(
            python,
            "-m",
            "chaffinch",
            *(word.format(data=ROOT / "examples" / "data" / "cmc.csv") for word in words),
            cwd=folder,
            env=clean,
        )
    if len((folder / "synthetic.csv").read_text().splitlines()) != 1474:
        raise SystemExit("The synthetic table does not have as many rows as the original.")
    if extras:
        run(python, "-c", EXTRAS, cwd=folder, env=clean)
    run(
        python,
        HERE / "sbom.py",
        "-o",
        "sbom.json",
        *(["--extra", "all"] if extras else []),
        cwd=folder,
        env=clean,
    )


def main() -> None:
    """Do all of it, and say how large and how long."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--pythons",
        help="programs to install for, as A,B; the oldest and the newest that are found unless given",
    )
    parser.add_argument(
        "--keep", type=Path, help="a folder for the sdist, the wheel and the bill of materials"
    )
    asked = parser.parse_args()
    found = pythons()
    chosen = (
        asked.pythons.split(",")
        if asked.pythons
        else sorted({found[0], found[-1]}, key=found.index)
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder, start = Path(temporary), time.monotonic()
        sdist, wheel = built(folder)
        version = wheel.name.split("-")[1]
        wrong = strangers(contents(wheel), version)
        if wheel.stat().st_size > MOST_BYTES:
            wrong.append(f"it has {wheel.stat().st_size:,} bytes")
        if wrong:
            raise SystemExit(f"{wheel.name}: " + "; ".join(wrong))
        print(
            f"{wheel.name}: {len(contents(wheel))} files, {wheel.stat().st_size / 1e6:.1f} MB; {sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB",
            flush=True,
        )
        for number, program in enumerate(chosen):
            label = run(
                program, "-c", "import platform; print(platform.python_version())"
            ).stdout.strip()
            python = environment(folder / f"env{number}", program)
            pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
            empty = size(folder / f"env{number}")
            if number == 0:
                house = folder / "wheelhouse"
                run(
                    *pip,
                    "download",
                    "--only-binary",
                    ":all:",
                    "-d",
                    house,
                    f"chaffinch[all] @ {wheel.as_uri()}",
                )
                shutil.copy(wheel, house)
                plain = {
                    name: value for name, value in os.environ.items() if not name.startswith("PIP_")
                } | {"PIP_CONFIG_FILE": os.devnull}
                run(*pip, "install", "--no-index", "--find-links", house, "chaffinch", env=plain)
                core = size(folder / f"env{number}") - empty
                run(
                    *pip,
                    "install",
                    "--no-index",
                    "--find-links",
                    house,
                    "chaffinch[all]",
                    env=plain,
                )
                print(
                    f"wheelhouse: {len(list(house.iterdir()))} wheels, {size(house) / 1e6:.0f} MB",
                    flush=True,
                )
            else:
                run(*pip, "install", wheel)
                core = size(folder / f"env{number}") - empty
            whole = size(folder / f"env{number}") - empty
            tried(python, folder / f"work{number}", extras=number == 0)
            parts = len(
                json.loads((folder / f"work{number}" / "sbom.json").read_text())["components"]
            )
            more = f", {whole / 1e6:.0f} MB with chaffinch[all]" if number == 0 else ""
            print(
                f"Python {label}: install of {core / 1e6:.0f} MB{more}; {parts} packages; commands ran; {time.monotonic() - start:.0f} s so far",
                flush=True,
            )
        if asked.keep:
            asked.keep.mkdir(parents=True, exist_ok=True)
            for path in (sdist, wheel, folder / "work0" / "sbom.json"):
                shutil.copy(path, asked.keep)


if __name__ == "__main__":
    main()
