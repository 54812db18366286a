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
LABEL = "income"
SENSITIVE = ("relationship", "education")


def main(folder: Path) -> None:
    """Run every step, then say where the files are."""
    folder.mkdir(parents=True, exist_ok=True)
    schema, description = folder / "adult.toml", folder / "adult.json"
    synthetic, account = folder / "synthetic.parquet", folder / "synth.json"
    model, picture = folder / "model.chaffinch", folder / "network.svg"
    run("schema", ADULT, "-o", schema)
    run("describe", ADULT, "--schema", schema, "--json", description)
    run(
        "synth", ADULT, "--schema", schema, "-o", synthetic, "--model", model, "--json", account,
        "--label", LABEL, "--sensitive", ",".join(SENSITIVE), "--seed", "1",
    )  # fmt: skip
    run("inspect", model, "--svg", picture)
    say(account)
    show(
        {
            "schema, to read and edit; confidential": schema,
            "what the table holds": description,
            "the synthetic table": synthetic,
            "how it was made: network, notes, times": account,
            "the fitted model; confidential": model,
            "its network as a picture": picture,
        }
    )


def run(*arguments: str | Path) -> None:
    """Run the command line with this Python."""
    print("$ chaffinch", *map(shown, arguments), flush=True)
    subprocess.run([sys.executable, "-m", "chaffinch", *map(str, arguments)], check=True)


def say(account: Path) -> None:
    """Say in a few lines what was made and what it is not."""
    told = json.loads(account.read_text("utf-8"))
    seconds = told["run"]["seconds"]
    print(
        f"\n{told['rows']:,} synthetic rows x {len(told['columns'])} columns; learnt in {seconds['fit']:.1f} s, drawn in "
        f"{seconds['sample']:.1f} s.\n{' and '.join(SENSITIVE)} depend on {LABEL} alone. There is no formal privacy promise: "
        "no epsilon was spent."
    )


def show(files: dict[str, Path]) -> None:
    """Say where the files are."""
    width = max(len(shown(path)) for path in files.values())
    print("Files:")
    for what, path in files.items():
        print(f"  {shown(path):<{width}}  {what}")


def shown(word: str | Path) -> str:
    """Return a path as seen from the project, if it lies there; words as they are."""
    return str(word.relative_to(ROOT)) if isinstance(word, Path) and word.is_relative_to(ROOT) else str(word)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "demo")
