"""The main job on the bundled Adult table: `make demo`, or `python examples/demo.py [FOLDER]`.

Each step writes files to the folder (`demo/` unless named); the last lines say where they are.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ADULT = ROOT / "examples" / "data" / "adult_train.parquet"
FRESH = ROOT / "examples" / "data" / "adult_test.parquet"
LABEL = "income"
KEYS = ("age", "workclass", "occupation", "race", "sex")
SENSITIVE = ("relationship",)


def main(folder: Path) -> None:
    """Run every step, then say where the files are."""
    folder.mkdir(parents=True, exist_ok=True)
    schema, description, picture = (
        folder / "adult.toml",
        folder / "adult.json",
        folder / "network.svg",
    )
    run("schema", ADULT, "-o", schema)
    run("describe", ADULT, "--schema", schema, "--json", description)
    run(
        "release",
        ADULT,
        "--schema",
        schema,
        "-o",
        folder,
        "--holdout",
        FRESH,
        "--label",
        LABEL,
        "--sensitive",
        ",".join(SENSITIVE),
        "--keys",
        ",".join(KEYS),
        "--attackers",
        "matching,nb,lr,memorisation",
        "--repeats",
        "1",
        "--svm-rows",
        "2000",
        "--title",
        "Synthetic Adult",
        "--seed",
        "1",
    )
    leaves, stays = folder / "to-release", folder / "confidential"
    run("inspect", stays / "model.chaffinch", "--svg", picture)
    say(stays / "report.json")
    show(
        {
            "the report: open it in a browser": stays / "report.html",
            "the same as plain data": stays / "report.json",
            "shapes of its columns, for the local page; confidential": stays / "shapes.json",
            "the synthetic table": leaves / "synthetic.parquet",
            "the fitted model; confidential": stays / "model.chaffinch",
            "its network as a picture": picture,
            "schema, to read and edit; confidential": schema,
            "what the table holds": description,
        }
    )


def run(*arguments: str | Path) -> None:
    """Run the command line with this Python; files of an earlier demonstration are replaced."""
    print("$ chaffinch", *map(shown, arguments), flush=True)
    subprocess.run(
        [sys.executable, "-m", "chaffinch", *map(str, arguments), "--overwrite"], check=True
    )


def say(report: Path) -> None:
    """Say in a few lines what was made and what it is not."""
    told = json.loads(report.read_text("utf-8"))
    made = told["synthesis"]
    seconds = made["run"]["seconds"]
    print(
        f"\n{made['rows']:,} synthetic rows x {len(made['columns'])} columns; learnt in {seconds['fit']:.1f} s, drawn in "
        f"{seconds['sample']:.1f} s, measured in {sum(told['run']['seconds'].values()):.0f} s.\n{' and '.join(SENSITIVE)}: drawn from "
        f"{LABEL} alone. There is no formal privacy promise: no epsilon was spent."
    )


def show(files: dict[str, Path]) -> None:
    """Say where the files are."""
    width = max(len(shown(path)) for path in files.values())
    print("Files:")
    for what, path in files.items():
        print(f"  {shown(path):<{width}}  {what}")


def shown(word: str | Path) -> str:
    """Return a path as seen from the project, if it lies there; words as they are."""
    return (
        str(word.relative_to(ROOT))
        if isinstance(word, Path) and word.is_relative_to(ROOT)
        else str(word)
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "demo")
