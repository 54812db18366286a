"""The folder of a checker's day: ten good outputs, and one of each trap that hides people. Every verdict is asserted, and every exit code.

To add a trap: write a function that puts its files into the folder, and add a `Trap` to TRAPS with the verdict of each output that it brings. Each trap
is checked beside the ten good outputs, which must keep their verdicts; those of `whole_day=True` are checked in one folder as well.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from openpyxl.comments import Comment

N_PEOPLE = 600


def make_people() -> pd.DataFrame:
    """People whose every table of two columns has at least ten in each cell, and whose incomes nobody dominates."""
    draw = np.random.default_rng(42)
    people = pd.DataFrame(
        {
            "sex": draw.choice(["f", "m"], N_PEOPLE),
            "area": draw.choice(["north", "south", "west"], N_PEOPLE),
            "smoker": draw.choice(["no", "yes"], N_PEOPLE, p=[0.7, 0.3]),
            "age": draw.integers(20, 80, N_PEOPLE),
        }
    )
    people["ill"] = np.where(draw.random(N_PEOPLE) < 0.2 + 0.004 * people["age"], 1, 0)
    people["income"] = (1500 + 12 * people["age"] + draw.normal(0, 300, N_PEOPLE)).round(0)
    return people


def crosstab(people: pd.DataFrame, row: str, column: str) -> pd.DataFrame:
    return pd.crosstab(people[row], people[column], margins=True, margins_name="Total")


def summary(people: pd.DataFrame, of: str, by: str) -> pd.DataFrame:
    table = people.groupby(by)[of].agg(["mean", "std", "count"])
    table.columns = pd.Index(table.columns, name=of)
    return table


def write_workbook(path: Path, table: pd.DataFrame, title: str) -> openpyxl.Workbook:
    """A crosstab as a sheet with a title; returned for a trap to add to."""
    book = openpyxl.Workbook()
    book.active.append([title])
    book.active.append([table.index.name, *table.columns])
    for label, row in zip(table.index, table.to_numpy().tolist(), strict=True):
        book.active.append([label, *row])
    book.save(path)
    return book


def stata_tabulate(people: pd.DataFrame, column: str) -> str:
    counts = people[column].value_counts().sort_index()
    lines = [
        f". tabulate {column}",
        "",
        f"{column:>11} |      Freq.     Percent        Cum.",
        "-" * 12 + "+" + "-" * 35,
    ]
    percents, running = 100 * counts / counts.sum(), 0.0
    for level, count in counts.items():
        running += percents[level]
        lines.append(f"{level:>11} | {count:10} {percents[level]:11.2f} {running:11.2f}")
    return "\n".join(
        [*lines, "-" * 12 + "+" + "-" * 35, f"{'Total':>11} | {counts.sum():10} {100:11.2f}", ""]
    )


def r_table(people: pd.DataFrame, row: str, column: str) -> str:
    counts = pd.crosstab(people[row], people[column])
    width = max(map(len, (*map(str, counts.index), row)))
    head = " ".join(f"{name!s:>5}" for name in counts.columns)
    body = [
        f"{label:<{width}} " + " ".join(f"{count:>5}" for count in numbers)
        for label, numbers in zip(counts.index, counts.to_numpy(), strict=True)
    ]
    return "\n".join([f"{'':<{width}} {column}", f"{row:<{width}} {head}", *body, ""])


def write_good(folder: Path, people: pd.DataFrame) -> None:
    """Ten outputs that may leave."""
    import statsmodels.formula.api as smf

    crosstab(people, "sex", "area").to_csv(folder / "01_sex_by_area.csv")
    (folder / "02_ill_by_area.txt").write_text(r_table(people, "area", "ill"))
    (folder / "03_smoker.log").write_text(stata_tabulate(people, "smoker"))
    summary(people, "age", "sex").to_csv(folder / "04_age_by_sex.csv")
    write_workbook(
        folder / "05_area_by_smoker.xlsx", crosstab(people, "area", "smoker"), "area by smoker"
    )
    (folder / "06_sex_by_smoker.html").write_text(crosstab(people, "sex", "smoker").to_html())
    (folder / "07_income.txt").write_text(
        smf.ols("income ~ age + sex", people).fit().summary().as_text() + "\n"
    )
    (folder / "08_ill.txt").write_text(
        smf.logit("ill ~ age + smoker", people).fit(disp=False).summary().as_text() + "\n"
    )
    people.groupby(["sex", "area", "smoker"]).size().rename("n").reset_index().to_csv(
        folder / "09_three.csv", index=False
    )
    pd.crosstab(people["area"], people["sex"], normalize="index").mul(100).round(2).to_csv(
        folder / "10_share.csv"
    )
    (folder / "outputs.toml").write_text(HELP)


HELP = """\
"01_sex_by_area.csv" = { by = ["sex", "area"] }
"04_age_by_sex.csv" = { of = "age" }
"10_share.csv" = { by = ["area", "sex"], percentages = "rows" }
"""
"""What a checker says of the outputs that do not say it themselves."""


@dataclass(frozen=True)
class Trap:
    """Something that hides people, and what must be said of it.

    `write` puts it into the folder that holds the ten good outputs. `verdicts` are those of the outputs that it brings, and of good ones that it changes.
    `reason` stands in what is said of each output that it brings; of a trap that brings none, in what is printed. `options` are added to the command; `records`: whether --data is given; `change` makes
    the records that it needs out of those of the day (a column more, say: the good outputs must still be those of the records).
    """

    name: str
    write: Callable[[Path, pd.DataFrame], None]
    verdicts: Mapping[str, str]
    reason: str
    code: int = 1
    options: tuple[str, ...] = ()
    records: bool = True
    change: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    whole_day: bool = True


def small_cells(folder: Path, people: pd.DataFrame) -> None:
    counts = people.assign(old=np.where(people["age"] > 78, "yes", "no"))
    pd.crosstab(counts["area"], counts["smoker"].where(counts["old"] == "yes")).to_csv(
        folder / "small.csv"
    )
    add_help(
        folder, '"small.csv" = { kind = "table", by = ["area", "smoker"], where = "age > 78" }'
    )


def unclosed_quote(folder: Path, people: pd.DataFrame) -> None:
    (folder / "cut.csv").write_text('sex,n\n"f,40\nm,60\n')
    (folder / "long.csv").write_text(
        'sex,n\n"f,40\nm,60\n' + "x,12\n" * 40_000
    )  # more than the csv module takes in one cell


def add_help(folder: Path, line: str) -> None:
    with open(folder / "outputs.toml", "a") as file:
        file.write(line + "\n")


def notes(folder: Path, people: pd.DataFrame) -> None:
    for name in ("README.md", ".notes", "~notes"):
        (folder / name).write_text(
            f"{people['age'].mean():.1f} years, and 3 of {N_PEOPLE} are left out.\n"
        )


def workbook_with_more(folder: Path, people: pd.DataFrame) -> None:
    book = write_workbook(
        folder / "book.xlsx", crosstab(people, "area", "smoker"), "area by smoker"
    )
    book.active["B3"].comment = Comment(f"the oldest is {people['age'].max()}", "analyst")
    book.save(folder / "book.xlsx")
    records = people.to_csv(index=False)
    with zipfile.ZipFile(folder / "book.xlsx", "a") as archive:
        archive.writestr(
            "xl/pivotCache/pivotCacheRecords1.xml",
            f"<pivotCacheRecords>{records}</pivotCacheRecords>",
        )
        archive.writestr("xl/embeddings/oleObject1.bin", records)


def page_with_more(folder: Path, people: pd.DataFrame) -> None:
    table = (
        crosstab(people, "sex", "smoker")
        .to_html()
        .replace("<th>f", f'<th data-income="{people["income"].max()}">f')
    )
    comment, script = (
        f"<!-- {people['age'].max()} -->",
        f"<script>var ages = {people['age'].tolist()};</script>",
    )
    (folder / "page.html").write_text(f"<html>{comment}{script}{table}</html>")


def ignored(folder: Path, people: pd.DataFrame) -> None:
    (folder / "remarks.txt").write_text("The mean of the scores is 12.4 and their median 11.\n")
    add_help(folder, '"remarks.txt" = { ignore = true }')


def cells_far_apart(folder: Path, people: pd.DataFrame) -> None:
    book = write_workbook(
        folder / "wide.xlsx", crosstab(people, "area", "smoker"), "area by smoker"
    )
    book.active["ALL49000"] = 1
    book.save(folder / "wide.xlsx")


def long_blanks(folder: Path, people: pd.DataFrame) -> None:
    (folder / "blanks.txt").write_text(
        r_table(people, "area", "sex") + "\n" + " " * 2_000 + "7 of 9 people\n"
    )


def with_pain(people: pd.DataFrame) -> pd.DataFrame:
    return people.assign(
        pain=np.where(
            people["age"] % 3 == 0, "None", np.where(people["sex"] == "f", "Mild", "Severe")
        )
    )


def level_called_none(folder: Path, people: pd.DataFrame) -> None:
    people.groupby("pain").size().rename("n").reset_index().to_csv(folder / "pain.csv", index=False)


def ignored_records(folder: Path, people: pd.DataFrame) -> None:
    """What outputs.toml was once proposed to ignore: head(data), 60 rows of records, residuals."""
    residuals = people["income"] - people["income"].mean()
    numbered = [
        " ".join(f"{k + 1:>9}" for k in range(start, start + 6)) for start in range(0, N_PEOPLE, 6)
    ]
    values = [
        " ".join(f"{one:>9.2f}" for one in residuals[start : start + 6])
        for start in range(0, N_PEOPLE, 6)
    ]
    (folder / "head.txt").write_text("> head(people)\n" + people.head(6).to_string() + "\n")
    people.iloc[100:160].to_csv(folder / "records.csv", index=False)
    (folder / "residuals.txt").write_text(
        "\n".join(line for pair in zip(numbered, values, strict=True) for line in pair) + "\n"
    )
    residuals.rename("value").to_csv(folder / "residuals.csv", index=False)
    (folder / "list.log").write_text(
        ". list sex age in 1/2\n\n     +-----------+\n  1. |   f    34 |\n  2. |   m    51 |\n     +-----------+\n"
    )
    for name in ("head.txt", "records.csv", "residuals.txt", "residuals.csv", "list.log"):
        add_help(folder, f'"{name}" = {{ ignore = true }}')


def with_sales(people: pd.DataFrame) -> pd.DataFrame:
    """A column of sales: of the women in the north one has nearly all, of all women about four fifths."""
    is_there = ((people["area"] == "north") & (people["sex"] == "f")).to_numpy()
    sales = 100 + np.arange(len(people)) % 50
    sales[is_there.argmax()] = 15 * sales[is_there].sum()
    return people.assign(sales=sales)


def sales_less_north(folder: Path, people: pd.DataFrame) -> None:
    """Sums of all, and of all outside the north: subtraction gives those of the north."""
    for name, rows in (
        ("sales.csv", people),
        ("sales_elsewhere.csv", people[people["area"] != "north"]),
    ):
        table = rows.groupby("sex")["sales"].agg(["sum", "count"])
        table.columns = pd.Index(table.columns, name="sales")
        table.to_csv(folder / name)
    add_help(folder, '"sales.csv" = { of = "sales" }')
    add_help(folder, """"sales_elsewhere.csv" = { of = "sales", where = "area != 'north'" }""")


def with_wealth(people: pd.DataFrame) -> pd.DataFrame:
    """A column of which one person has more than all others together."""
    return people.assign(
        wealth=np.where(people.index == 7, 987_654_321, 9_000 + 137 * (people.index % 100))
    )


def one_large_label(folder: Path, people: pd.DataFrame) -> None:
    import statsmodels.formula.api as smf

    (folder / "wealth.txt").write_text(
        smf.ols("wealth ~ age", people).fit().summary().as_text() + "\n"
    )


def with_score(people: pd.DataFrame) -> pd.DataFrame:
    """A score that three people lack, and a note that 200 do."""
    score = pd.Series(np.where(people["age"] % 2 == 0, "high", "low"), index=people.index)
    rare = pd.Series(np.where(people["income"] % 2 == 0, "even", "odd"), index=people.index)
    return people.assign(score=score.where(people.index > 2), note=rare.where(people.index >= 200))


def few_missing(folder: Path, people: pd.DataFrame) -> None:
    people.groupby("score").size().rename("n").reset_index().to_csv(
        folder / "score.csv", index=False
    )


def many_missing(folder: Path, people: pd.DataFrame) -> None:
    people.groupby("note").size().rename("n").reset_index().to_csv(folder / "note.csv", index=False)


def visits(folder: Path, people: pd.DataFrame) -> None:
    (folder / "visits.csv").write_text(
        "patient,n\n" + "".join(f"P{k:03d},{10 + k % 7}\n" for k in range(60))
    )


def value_counts(folder: Path, people: pd.DataFrame) -> None:
    counts = (people["smoker"] == "yes").map({False: 10, True: 20}).rename("dose").value_counts()
    (folder / "printed.txt").write_text(f"{counts}\n")
    (folder / "bare.txt").write_text(f"{counts.to_string()}\n")


def with_dose(people: pd.DataFrame) -> pd.DataFrame:
    return people.assign(dose=np.where(people["smoker"] == "yes", 20, 10))


def unknown_column(folder: Path, people: pd.DataFrame) -> None:
    (folder / "town.csv").write_text(
        "sex by town\n,a,b,Total\nf,40,20,60\nm,30,4,34\nTotal,70,24,94\n"
    )


def r_logit(people: pd.DataFrame, label: str, columns: list[str]) -> str:
    """summary(glm(..., binomial)) as R prints it: its standard errors are those of the weights with which the last step was taken."""
    x = np.column_stack([np.ones(len(people)), people[columns].to_numpy(dtype=float)])
    y = people[label].to_numpy(dtype=float)
    mean, deviance = (y + 0.5) / 2, np.inf
    eta = np.log(mean / (1 - mean))
    while True:
        weight = mean * (1 - mean)
        covariance = np.linalg.inv(x.T @ (weight[:, None] * x))
        beta = covariance @ x.T @ (weight * (eta + (y - mean) / weight))
        eta = x @ beta
        mean, before = 1 / (1 + np.exp(-eta)), deviance
        deviance = -2 * np.where(y == 1, np.log(mean), np.log(1 - mean)).sum()
        if abs(deviance - before) / (abs(deviance) + 0.1) < 1e-8:
            break
    errors, share = np.sqrt(np.diag(covariance)), y.mean()
    null = -2 * len(y) * (share * np.log(share) + (1 - share) * np.log(1 - share))
    rows = "\n".join(
        f"{name:<12} {b:.8f} {e:.8f} {b / e:8.3f} 0.0123 *"
        for name, b, e in zip(["(Intercept)", *columns], beta, errors, strict=True)
    )
    call = f"glm(formula = {label} ~ {' + '.join(columns)}, family = binomial, data = people)"
    return (
        f"\nCall:\n{call}\n\nCoefficients:\n             Estimate Std. Error z value Pr(>|z|)\n{rows}\n---\n\n(Dispersion parameter for binomial family taken to be 1)\n\n"
        f"    Null deviance: {null:.2f}  on {len(y) - 1}  degrees of freedom\nResidual deviance: {deviance:.2f}  on {len(y) - len(beta)}  degrees of freedom\n"
        f"AIC: {deviance + 2 * len(beta):.2f}\n\nNumber of Fisher Scoring iterations: 4\n"
    )


def genuine_r(folder: Path, people: pd.DataFrame) -> None:
    (folder / "glm.txt").write_text(r_logit(people, "ill", ["age", "income"]))


def one_person_less(folder: Path, people: pd.DataFrame) -> None:
    import statsmodels.formula.api as smf

    fit = smf.ols("income ~ age + smoker", people.drop(index=5)).fit()
    (folder / "less.txt").write_text(fit.summary().as_text() + "\n")


def filter_of_its_own(folder: Path, people: pd.DataFrame) -> None:
    some = people[people["ward"] == "b"]
    some.groupby("sex").size().rename("n").reset_index().to_csv(folder / "ward.csv", index=False)
    add_help(folder, """"ward.csv" = { where = "ward == 'b'" }""")


def with_ward(people: pd.DataFrame) -> pd.DataFrame:
    return people.assign(ward=np.where(people["age"] < 50, "a", "b"))


def a_few_left_out(folder: Path, people: pd.DataFrame) -> None:
    most = int(people["income"].nlargest(3).min())
    some = people[people["income"] < most]
    some.groupby("ward").size().rename("n").reset_index().to_csv(folder / "subset.csv", index=False)
    add_help(folder, f'"subset.csv" = {{ where = "income < {most}" }}')


FOR_REVIEW = dict.fromkeys(
    (
        "01_sex_by_area.csv",
        "02_ill_by_area.txt",
        "03_smoker.log",
        "04_age_by_sex.csv: n",
        "05_area_by_smoker.xlsx",
        "06_sex_by_smoker.html",
        "07_income.txt",
        "08_ill.txt",
        "09_three.csv",
    ),
    "review",
)
"""Good outputs whose n or total, beside one that leaves out a few people, shows these."""


TRAPS: tuple[Trap, ...] = (
    Trap("small cells", small_cells, {"small.csv": "fail"}, "threshold"),
    Trap(
        "files of notes",
        notes,
        dict.fromkeys(("README.md", ".notes", "~notes"), "not assessed"),
        "",
    ),
    Trap(
        "a comment, a pivot cache and an object in a workbook",
        workbook_with_more,
        {"book.xlsx": "pass", "book.xlsx #unread": "not assessed"},
        "",
    ),
    Trap(
        "a script, a comment and an attribute in a page",
        page_with_more,
        {"page.html": "pass", "page.html #unread": "not assessed"},
        "",
    ),
    Trap(
        "a file that is ignored",
        ignored,
        {},
        "Ignored by outputs.toml, and not assessed: 'remarks.txt'. They do not pass.",
    ),
    Trap(
        "a file that is ignored, and accepted",
        ignored,
        {},
        "They may leave by --accept-ignored.",
        code=0,
        options=("--accept-ignored",),
    ),
    Trap(
        "records that are ignored, and accepted",
        ignored_records,
        dict.fromkeys(
            ("head.txt", "records.csv", "residuals.txt", "residuals.csv", "list.log"), "fail"
        ),
        "Take",
        options=("--accept-ignored",),
    ),
    Trap(
        "a level called None",
        level_called_none,
        {"pain.csv": "pass"},
        "pass",
        code=0,
        change=with_pain,
    ),
    Trap(
        "sums of which one leaves a region out",
        sales_less_north,
        {
            "sales.csv: sum": "fail",
            "sales.csv: n": "pass",
            "sales_elsewhere.csv: sum": "fail",
            "sales_elsewhere.csv: n": "pass",
        },
        "",
        change=with_sales,
    ),
    Trap(
        "a regression on one large label",
        one_large_label,
        {"wealth.txt": "fail"},
        "dominance in a regression",
        change=with_wealth,
    ),
    Trap(
        "a workbook that fills a memory",
        cells_far_apart,
        {"wide.xlsx": "not assessed"},
        "more than an output holds",
    ),
    Trap(
        "2,000 blanks before a line",
        long_blanks,
        {"blanks.txt": "pass", "blanks.txt #rest": "not assessed"},
        "",
    ),
    Trap(
        "a table that three people are not in for a missing value",
        few_missing,
        {"score.csv": "fail", **FOR_REVIEW},
        "differencing",
        change=with_score,
        whole_day=False,
    ),
    Trap(
        "a table that a third of the people are not in",
        many_missing,
        {"note.csv": "pass"},
        "",
        code=0,
        change=with_score,
    ),
    Trap(
        "visits by patient, without records",
        visits,
        {"visits.csv": "not assessed"},
        "taken for counts",
        records=False,
    ),
    Trap(
        "value_counts() in two lines",
        value_counts,
        {"printed.txt": "pass", "bare.txt": "not assessed"},
        "",
        change=with_dose,
    ),
    Trap(
        "a table of a column that the records lack",
        unknown_column,
        {"town.csv": "fail"},
        "fail: threshold: Fewer than 10 people are behind 1",
    ),
    Trap("R's own standard errors", genuine_r, {"glm.txt": "pass"}, "", code=0),
    Trap(
        "a regression on all but one",
        one_person_less,
        {"less.txt": "not assessed"},
        "Its n is 599 of about 600 records with its columns: a subset?",
    ),
    Trap(
        "a filter on a column of its own",
        filter_of_its_own,
        {"ward.csv": "pass"},
        "",
        code=0,
        change=with_ward,
    ),
    Trap(
        "a table of all but three",
        a_few_left_out,
        {"subset.csv": "fail", **FOR_REVIEW},
        "differencing",
        change=with_ward,
        whole_day=False,
    ),
    Trap(
        "an unclosed quote",
        unclosed_quote,
        {"cut.csv": "not assessed", "long.csv": "not assessed"},
        "Quotes are not closed",
    ),
)
"""Add a trap here: its name, the function that writes it, verdicts, and what is said."""


@pytest.fixture(scope="module")
def checked_people() -> pd.DataFrame:
    return make_people()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory, checked_people: pd.DataFrame) -> Path:
    """A folder with the ten good outputs."""
    place = tmp_path_factory.mktemp("day")
    write_good(place, checked_people)
    return place


@dataclass(frozen=True)
class Day:
    """How a check ended."""

    code: int
    verdicts: Mapping[str, str]
    reasons: Mapping[str, str]
    out: str = field(repr=False)


@pytest.fixture
def check_day(
    run_here, good: Path, checked_people: pd.DataFrame, tmp_path: Path
) -> Callable[..., Day]:
    """Check the ten good outputs together with some traps."""

    def check(*traps: Trap) -> Day:
        folder, told = tmp_path / "outputs", tmp_path / "check.json"
        shutil.copytree(good, folder)
        changed, data = checked_people, tmp_path / "people.csv"
        for trap in traps:
            changed = changed if trap.change is None else trap.change(changed)
        changed.to_csv(data, index=False)
        for trap in traps:
            trap.write(folder, changed)
        records = ("--data", data) if all(trap.records for trap in traps) else ()
        options = [word for trap in traps for word in trap.options]
        done = run_here("check", folder, "--rules-only", "--json", told, *records, *options)
        assert told.exists(), done.err
        result = json.loads(told.read_text())
        said: dict[str, list[str]] = {}
        for one in result["rules"]["findings"]:
            for name in (one["output"], one["other"], *one["others"]):
                said.setdefault(name, []).append(f"{one['status']}: {one['rule']}: {one['words']}")
        verdicts = {row["output"]: row["verdict"] for row in result["summary"]}
        reasons = {
            row["output"]: " ".join([*row["why"], *said.get(row["output"], ())])
            for row in result["summary"]
        }
        return Day(done.code, verdicts, reasons, done.out)

    return check


GOOD = {
    "01_sex_by_area.csv": "pass",
    "02_ill_by_area.txt": "pass",
    "03_smoker.log": "pass",
    "04_age_by_sex.csv: mean": "pass",
    "04_age_by_sex.csv: sd": "pass",
    "04_age_by_sex.csv: n": "pass",
    "05_area_by_smoker.xlsx": "pass",
    "06_sex_by_smoker.html": "pass",
    "07_income.txt": "pass",
    "08_ill.txt": "pass",
    "09_three.csv": "pass",
    "10_share.csv": "pass",
}
"""The verdicts on the ten good outputs, with the records: a summary is an output for each of its statistics."""
GOOD_WITHOUT_RECORDS = {
    **{name: verdict for name, verdict in GOOD.items() if not name.startswith("04")},
    **dict.fromkeys(
        (
            "01_sex_by_area.csv",
            "02_ill_by_area.txt",
            "05_area_by_smoker.xlsx",
            "06_sex_by_smoker.html",
        ),
        "review",
    ),  # counts by their form
    "04_age_by_sex.csv": "not assessed",
    "07_income.txt": "not assessed",
    "08_ill.txt": "not assessed",
    "10_share.csv": "not assessed",
}


def test_ten_good_outputs_may_leave(check_day) -> None:
    day = check_day()
    assert (day.verdicts, day.code) == (GOOD, 0), day.out


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_a_trap_among_good_outputs(trap: Trap, check_day) -> None:
    day = check_day(trap)
    expected = {**(GOOD if trap.records else GOOD_WITHOUT_RECORDS), **trap.verdicts}
    assert (day.verdicts, day.code) == (expected, trap.code), day.out
    for name in trap.verdicts:
        assert trap.reason in day.reasons[name], day.reasons[name]
    assert trap.verdicts or trap.reason in day.out


def test_the_whole_day(check_day) -> None:
    traps = [trap for trap in TRAPS if trap.whole_day and trap.records and not trap.options]
    day = check_day(*traps)
    expected = {
        **GOOD,
        **{name: verdict for trap in traps for name, verdict in trap.verdicts.items()},
    }
    assert (day.verdicts, day.code) == (expected, 1), day.out
