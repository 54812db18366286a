"""From real records to printed numbers, from those alone to other records, and back to numbers: the round that every kind must survive.

A case is a function from a frame and `p` (how numbers are printed) to outputs. It is called twice, with the real records and with the evolved
ones, and makes its numbers with pandas and statsmodels formulas: no code of ours. Between the calls there is only JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from chaffinch import evolve
from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs
from chaffinch.outputs.solve.engine import proposals_of
from chaffinch.outputs.solve.engines.incremental import solve
from chaffinch.outputs.solve.settings import SearchSettings

DATA = Path(__file__).resolve().parents[3] / "examples" / "data"

COLUMNS: dict[str, list[dict[str, Any]]] = {
    "cmc": [
        {"name": "AGE", "from": 16, "to": 49},
        {"name": "EDUCATION", "levels": ["none", "some", "more", "most"]},
        {"name": "CHILDREN", "from": 0, "to": 16},
        {"name": "MEDIA", "levels": ["good", "poor"]},
        {"name": "METHOD", "levels": ["none", "long", "short"]},
        {"name": "LIVING", "levels": [1, 2, 3, 4]},
    ],
    "diabetes": [
        {"name": "bmi", "from": 18.0, "to": 67.1, "step": 0.1},
        {"name": "pedigree", "from": 0.05, "to": 2.45, "step": 0.001},
        {"name": "glucose", "from": 44, "to": 199},
        {"name": "age", "from": 21, "to": 81},
        {"name": "outcome", "levels": [0, 1]},
    ],
    "adult": [
        {"name": "age", "from": 17, "to": 90},
        {"name": "schooling", "from": 1, "to": 16},
        {"name": "hours", "from": 1, "to": 99},
        {"name": "sex", "levels": ["Female", "Male"]},
        {
            "name": "race",
            "levels": ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"],
        },
        {"name": "income", "levels": ["<=50K", ">50K"]},
    ],
}
"""What a publisher would say about the columns."""


def _frame(columns: list[dict[str, Any]], series: dict[str, Any]) -> pd.DataFrame:
    """Words as categories in the order of the levels, numbers as they are."""
    words = {c["name"]: c["levels"] for c in columns if isinstance(c.get("levels", [0])[0], str)}
    return pd.DataFrame(
        {
            name: pd.Categorical(part, categories=words[name]) if name in words else part
            for name, part in series.items()
        }
    )


@cache
def records(data: str) -> pd.DataFrame:
    """The real records; only the publishing side calls this."""
    columns = COLUMNS[data]
    if data == "cmc":
        raw = pd.read_csv(DATA / "cmc.csv")
        numbers = {
            "AGE": raw["wife_age"],
            "EDUCATION": raw["wife_education"] - 1,
            "CHILDREN": raw["num_children"],
            "MEDIA": raw["media_exposure"],
            "METHOD": raw["contraceptive_method"] - 1,
            "LIVING": raw["standard_of_living"],
        }
        words = {c["name"]: c.get("levels") for c in columns}
        named = {"EDUCATION", "MEDIA", "METHOD"}
        return _frame(
            columns, {n: [words[n][v] for v in s] if n in named else s for n, s in numbers.items()}
        )
    if data == "diabetes":
        raw = pd.read_csv(DATA / "diabetes.csv").rename(columns={"diabetes_pedigree": "pedigree"})
        return raw[(raw["bmi"] > 0) & (raw["glucose"] > 0)][
            [c["name"] for c in columns]
        ].reset_index(drop=True)
    raw = pd.read_parquet(DATA / "adult_train.parquet").rename(
        columns={"education_num": "schooling", "hours_per_week": "hours"}
    )
    return _frame(columns, {c["name"]: raw[c["name"]].astype(object).tolist() for c in columns})


@dataclass(frozen=True)
class Printed:
    """A number, how it stands in the file, and the interval that this leaves."""

    value: float
    text: Any
    lo: float
    hi: float


class Printing:
    """How numbers are printed; each method returns a `Printed`, or keeps the shape of lists and mappings of numbers."""

    def quoted(self, number: Any, decimals: int) -> Any:
        """In quotes: the digits say how precise it is."""
        return self._each(number, lambda x: _interval(x, f"{x:.{decimals}f}", f"{x:.{decimals}f}"))

    def scientific(self, number: Any, digits: int) -> Any:
        return self._each(number, lambda x: _interval(x, f"{x:.{digits}e}", f"{x:.{digits}e}"))

    def plain(self, number: Any, decimals: int) -> Any:
        """As a number, in an output that has `decimals`."""
        return self._each(
            number, lambda x: _interval(x, float(f"{x:.{decimals}f}"), f"{x:.{decimals}f}")
        )

    def count(self, number: Any) -> Any:
        return self._each(number, lambda x: Printed(x, int(x), x, x))

    def below(self, number: Any, threshold: int, sign: Any) -> Any:
        """Counts from 1 to threshold - 1 as a sign."""
        return self._each(
            number,
            lambda x: (
                Printed(x, sign, 1, threshold - 1)
                if 1 <= x < threshold
                else Printed(x, int(x), x, x)
            ),
        )

    def to_base(self, number: Any, base: int) -> Any:
        """Rounded to the nearest multiple of an odd base."""
        return self._each(number, lambda x: _around(x, base))

    def _each(self, number: Any, one: Callable[[Any], Printed]) -> Any:
        if isinstance(number, pd.DataFrame):
            return [self._each(row, one) for row in number.to_numpy().tolist()]
        if isinstance(number, pd.Series | dict):
            return {str(name): self._each(x, one) for name, x in number.items()}
        if isinstance(number, list | np.ndarray):
            return [self._each(x, one) for x in number]
        return one(number.item() if isinstance(number, np.generic) else number)


def _interval(value: float, text: Any, digits: str) -> Printed:
    exact = Decimal(digits)
    exponent = exact.as_tuple().exponent
    assert isinstance(exponent, int)
    half = Decimal(5).scaleb(exponent - 1)
    return Printed(value, text, float(exact - half), float(exact + half))


def _around(value: int, base: int) -> Printed:
    near = base * round(value / base)
    return Printed(value, near, near - base // 2, near + base // 2)


def numbers_of(part: Any, path: str = "") -> Iterator[tuple[str, Printed]]:
    """Every printed number of an output, with its place."""
    if isinstance(part, Printed):
        yield path, part
    elif isinstance(part, dict):
        for key, inner in part.items():
            yield from numbers_of(inner, f"{path}/{key}")
    elif isinstance(part, list):
        for number, inner in enumerate(part):
            yield from numbers_of(inner, f"{path}/{number}")


def _as_file(part: Any) -> Any:
    if isinstance(part, Printed):
        return part.text
    if isinstance(part, dict):
        return {key: _as_file(inner) for key, inner in part.items()}
    return [_as_file(inner) for inner in part] if isinstance(part, list) else part


Case = Callable[[pd.DataFrame, Printing], list[dict[str, Any]]]


def published(case: Case, data: str, rows: int | None = None) -> tuple[str, list[dict[str, Any]]]:
    """The file that a publisher would write, and its numbers with their intervals."""
    frame = records(data).head(rows) if rows else records(data)
    outputs = [{"name": f"o{k}", **output} for k, output in enumerate(case(frame, Printing()))]
    head = {
        "format": "chaffinch-outputs",
        "version": 1,
        "rows": len(frame),
        "columns": COLUMNS[data],
    }
    return json.dumps({**head, "outputs": _as_file(outputs)}), outputs


def evolved(
    file: str, *, seed: int, seconds: float, engine: str | None
) -> tuple[pd.DataFrame, bool]:
    """Records evolved from a file alone, in words and numbers. Without an engine's name: the incremental one, in this process."""
    data = json.loads(file)
    spec = Outputs.from_dict(data)
    assert contradictions(spec) == []
    if engine is None:
        start = spec.fields.start(spec.n_rows(), seed=seed)
        problem = spec.problem()
        proposals = proposals_of(SearchSettings(), problem, spec.n_rows(), default=seconds)
        solved = solve(problem, start, proposals=proposals, seed=seed)
        codes, reached = solved.codes, solved.reached
    else:
        copy = evolve(spec, search_engine=engine, seconds=seconds, seed=seed, workers=1).copies[0]
        codes, reached = copy.codes, copy.reached
    series = {}
    for place, column in enumerate(data["columns"]):
        if "levels" in column:
            levels = column["levels"]
        else:
            step = column.get("step", 1)
            levels = [
                round(column["from"] + step * k, 6)
                for k in range(round((column["to"] - column["from"]) / step) + 1)
            ]
        series[column["name"]] = [levels[code] for code in codes[:, place]]
    return _frame(data["columns"], series), reached


def misses(outputs: list[dict[str, Any]], again: list[dict[str, Any]]) -> list[str]:
    """Places of the numbers that do not lie in the interval they were printed with."""
    found = []
    for (place, before), (same, after) in zip(numbers_of(outputs), numbers_of(again), strict=True):
        assert place.partition("/")[2] == same.partition("/")[2]
        slack = 1e-9 * max(1.0, abs(before.value))
        if not before.lo - slack <= after.value <= before.hi + slack:
            found.append(f"{place}: printed {before.text}, refitted {after.value:.8g}")
    return found


@pytest.fixture(scope="session")
def recovered() -> Callable[..., list[str]]:
    """Publish, evolve, refit: what is not within its printed precision then. The engine's own word must agree."""

    def run(
        case: Case,
        *,
        data: str = "cmc",
        seed: int = 1,
        seconds: float = 300.0,
        engine: str | None = None,
        rows: int | None = None,
    ) -> list[str]:
        file, outputs = published(case, data, rows)
        assert sum(1 for _ in numbers_of(outputs)) > 0
        frame, reached = evolved(file, seed=seed, seconds=seconds, engine=engine)
        again = [{"name": f"o{k}", **output} for k, output in enumerate(case(frame, Printing()))]
        return misses(outputs, again) + ([] if reached else ["the engine did not get there"])

    return run
