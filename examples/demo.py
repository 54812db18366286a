"""The main job on the bundled Adult table: `make demo`, or `python examples/demo.py [FOLDER]`.

Each step writes a file to the folder (`demo/` unless named); the last lines say where the files are.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import chaffinch
from chaffinch.counts.scores import pairwise_mutual_information

ROOT = Path(__file__).resolve().parents[1]
ADULT = ROOT / "examples" / "data" / "adult_train.parquet"
STRONGEST = 10


def main(folder: Path) -> None:
    """Run every step, then say where the files are."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {
        "schema, to read and edit": write_schema(folder / "adult.toml"),
        "what the table holds": write_description(folder / "adult.json"),
    }
    table = chaffinch.read(ADULT, schema=folder / "adult.toml")
    written[f"the {STRONGEST} strongest pairs of columns"] = write_pairs(table, folder / "pairs.csv")
    written["values redrawn from their codes"] = write_recoded(table, folder / "adult_recoded.csv")
    print(f"\n{table.n_rows:,} rows x {len(table.columns)} columns of {ADULT.name}. Files:")
    for what, path in written.items():
        print(f"  {shown(path):<24} {what}")


def write_schema(path: Path) -> Path:
    """Infer the schema from all rows and write it, as `chaffinch schema` does."""
    run("schema", str(ADULT), "-o", str(path))
    return path


def write_description(path: Path) -> Path:
    """Write columns, kinds, levels and missing values as JSON, as `chaffinch describe` does."""
    run("describe", str(ADULT), "--json", str(path))
    return path


def write_pairs(table: chaffinch.Table, path: Path) -> Path:
    """Count all pairs of columns and write the mutual information of the strongest."""
    names = table.schema.names
    information = pairwise_mutual_information(chaffinch.MemoryCounter(table))
    pairs = sorted(combinations(range(len(names)), 2), key=lambda pair: -information[pair])
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["first", "second", "mutual_information_nats"])
        for i, j in pairs[:STRONGEST]:
            writer.writerow([names[i], names[j], f"{information[i, j]:.6f}"])
    return path


def write_recoded(table: chaffinch.Table, path: Path) -> Path:
    """Write the table as its codes know it: categories as they were, numbers redrawn inside their bins.

    This shows what the codes keep. It is not synthetic data: row for row it is the original, coarsened.
    """
    codes = [table.code(name) for name in table.schema.names]
    chaffinch.Table.from_codes(table.schema, codes, seed=1, like=table).write(path)
    return path


def run(*arguments: str) -> None:
    """Run the command line with this Python."""
    print("$ chaffinch", *(shown(Path(word)) for word in arguments), flush=True)
    subprocess.run([sys.executable, "-m", "chaffinch", *arguments], check=True)


def shown(path: Path) -> str:
    """Return a path as seen from the project, if it lies there."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "demo")
