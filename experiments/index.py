"""Write the table of `experiments/README.md`: every table and figure of the five papers, its rerun and what came of it.

python -m experiments.index

`index.csv` has a line for each. Figures in it are read from the committed results: {FOLDER/FILE.csv|COLUMN=VALUE;...|COLUMN|FORMAT} is the mean of a column over
the rows with these values, or the one word that they share; with COLUMN=ONE/OTHER rows of the first value that has any. "number of rows" as the column counts them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from statistics import fmean

from benchmarks.common import read_rows

HERE = Path(__file__).resolve().parent
PAGE, LINES = HERE / "README.md", HERE / "index.csv"
BEGIN, END = "<!-- index -->\n", "<!-- /index -->\n"
PAPERS = {
    "P0": "Hittmeir, Mayer and Ekelhart, Efficient Bayesian Network Construction for Increased Privacy on Synthetic Data (2022)",
    "P1": "Elliot, Little and Allmendinger, Evolutionary Algorithms for Output Disclosure Risk Assessment",
    "P2": "Niederhametner and Mayer, Protecting Multiple Sensitive Attributes in Synthetic Micro-data (2023)",
    "P3": "Sedlmeyr, Investigating the Behavior of Predicate Singling Out Attacks",
    "P4": "Galloni, Lendák and Horváth, A Novel Evaluation Metric for Synthetic Data Generation",
}
VERDICTS = ("agrees", "differs", "open", "no result")
EXTENTS = ("full", "shortened", "")
FIGURE = re.compile(r"\{([^{}|]+)\|([^{}|]*)\|([^{}|]+)\|?([^{}|]*)\}")


@cache
def rows_of(file: str) -> list[dict[str, str]]:
    """Return the rows of a result."""
    return read_rows(HERE / file)


def lines() -> list[dict[str, str]]:
    """Return the hand-written lines, one for each table and figure."""
    return rows_of(LINES.name)


def same(cell: str, value: str) -> bool:
    """Return whether a cell is a value, as a word or as a number."""
    try:
        return cell == value or float(cell) == float(value)
    except ValueError:
        return False


def figure(file: str, chosen: str, column: str, form: str) -> str:
    """Return a figure of a result, as text.

    Raises
    ------
    LookupError
        If no row has the values, a column is absent, or words differ between the rows.
    """
    where = f"{file}|{chosen}|{column}"
    rows = rows_of(file)
    for condition in filter(None, chosen.split(";")):
        name, _, values = condition.partition("=")
        if not rows:
            break
        if name not in rows[0]:
            raise LookupError(f"{where}: no column '{name}'.")
        rows = next(
            (
                kept
                for value in values.split("/")
                if (kept := [row for row in rows if same(row[name], value)])
            ),
            [],
        )
    if column == "number of rows":
        return str(len(rows))
    if not rows or column not in rows[0]:
        raise LookupError(f"{where}: nothing there.")
    cells = [row[column] for row in rows if row[column] != ""]
    words = set(cells)
    if len(words) == 1 and not form:
        return cells[0]
    try:
        return format(fmean(map(float, cells)), form or ".2f")
    except ValueError:
        if len(words) == 1:
            return cells[0]
        raise LookupError(f"{where}: not one number or word.") from None


def filled(text: str) -> str:
    """Return a sentence with its figures read from the results."""
    return FIGURE.sub(lambda found: figure(*found.groups()), text)


def table() -> str:
    """Return the table of the page, a part for each paper."""
    out = []
    for paper, title in PAPERS.items():
        out += [
            f"### {paper}: {title}\n",
            "| | what it shows | rerun | extent | verdict | ours, theirs, why |",
            "|---|---|---|---|---|---|",
        ]
        for line in (line for line in lines() if line["paper"] == paper):
            files = line["evidence"].split()
            rerun = f"[{line['folder']}]({line['folder']}/README.md)" if line["folder"] else ""
            rerun += "".join(f", [{Path(file).name}]({file})" for file in files[:1])
            extent = ": ".join(filter(None, (line["extent"], filled(line["how"]))))
            out.append(
                f"| {line['item']} | {line['what']} | {rerun.removeprefix(', ')} | {extent} | **{line['verdict']}** | {filled(line['why'])} |"
            )
        out.append("")
    counts = ", ".join(
        f"{sum(line['verdict'] == verdict for line in lines())} {verdict}" for verdict in VERDICTS
    )
    return (
        f"{len(lines())} lines, a table or figure or a part of one each: {counts}.\n\n"
        + "\n".join(out)
    )


def page() -> str:
    """Return the whole page with a fresh table."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    return before + table() + "\n" + after


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
