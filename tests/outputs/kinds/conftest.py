"""Real records with a description of their columns, and the question whether records satisfy what was compiled from outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.equations import CountTable, SumSystem
from chaffinch.outputs.evolve import EvolvedCopy, evolve_spec
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.solve.process import Engines
from chaffinch.outputs.solve.settings import EvolveSettings

DATA = Path(__file__).resolve().parents[3] / "examples" / "data"

CMC = {
    "wife_age": {"from": 16, "to": 49},
    "wife_education": {"levels": ["none", "some", "more", "most"]},
    "num_children": {"from": 0, "to": 16},
    "wife_religion": {"levels": [0, 1]},
    "wife_now_working": {"levels": ["yes", "no"]},
    "standard_of_living": {"levels": [1, 2, 3, 4]},
    "media_exposure": {"levels": ["good", "poor"]},
    "contraceptive_method": {"levels": ["none", "long", "short"]},
}
FIRST = {"wife_education": 1, "contraceptive_method": 1}


@dataclass
class Study:
    """Records, and specifications about them."""

    frame: pd.DataFrame
    columns: list[dict[str, Any]]

    def spec(self, *outputs: dict[str, Any], rows: int | None = None) -> Outputs:
        head = {
            "format": "chaffinch-outputs",
            "version": 1,
            "rows": len(self.frame) if rows is None else rows,
        }
        # There and back: what JSON would hold says the same.
        spec = Outputs.from_dict(
            {
                **head,
                "columns": self.columns,
                "outputs": [{"name": f"o{k}", **o} for k, o in enumerate(outputs)],
            }
        )
        return Outputs.from_dict(spec.to_dict())

    def codes(self, frame: pd.DataFrame | None = None) -> np.ndarray:
        frame = self.frame if frame is None else frame
        spec = self.spec()
        return spec.fields.codes({name: frame[name].tolist() for name in spec.fields.names})

    def shuffled(self, column: str, seed: int = 1) -> np.ndarray:
        """The records with one column in another order: its own margin stays."""
        frame = self.frame.copy()
        frame[column] = np.random.default_rng(seed).permutation(frame[column].to_numpy())
        return self.codes(frame)


@pytest.fixture(scope="session")
def cmc() -> Study:
    raw = pd.read_csv(DATA / "cmc.csv")
    frame, columns = pd.DataFrame(), []
    for name, keys in CMC.items():
        columns.append({"name": name, **keys})
        levels = keys.get("levels", [])
        words = levels and isinstance(levels[0], str)
        frame[name] = (
            pd.Categorical.from_codes(raw[name] - FIRST.get(name, 0), categories=levels)
            if words
            else raw[name]
        )
    return Study(frame, columns)


def broken(spec: Outputs, codes: np.ndarray, *, slack: float = 1e-9) -> list[str]:
    """The names of the equation sets that records do not satisfy. Coefficients: |score| against its own spread, 1e-5."""
    found = []
    for output in spec.problem().outputs:
        if isinstance(output, CountTable):
            counts = output.counts(codes)
            inside = ((counts >= output.lo) & (counts <= output.hi)).all()
        else:
            assert isinstance(output, SumSystem)
            each = output.contributions(codes)
            sums = each.sum(axis=0)
            if output.reported == "coefficients":
                inside = (np.abs(sums) <= 1e-5 * np.sqrt((each**2).sum(axis=0)) + 1e-9).all()
            else:
                numbers = output.reported(sums)[0] if callable(output.reported) else sums
                room = slack * np.maximum(1.0, np.abs(numbers))
                inside = ((numbers >= output.lo - room) & (numbers <= output.hi + room)).all()
        if not inside:
            found.append(output.name)
    if (
        not found and slack < 1e-6
    ):  # then the numbers computed again, by other code, are those that were published
        assert all(one.within for one in compare_numbers(spec, codes))
    return found


@pytest.fixture(scope="session")
def agrees() -> Callable[..., None]:
    """Numbers of a recipe are some others; and the equations compiled from them, and `recomputed`, hold on the records that they are of."""

    def compare(
        study: Study, entry: dict[str, Any], wanted: dict[str, Any], *, rel: float = 1e-9
    ) -> Outputs:
        codes, recipe = study.codes(), {**entry, **dict.fromkeys(wanted, True)}
        recipes = recipes_of([{"name": "o0", **recipe}], study.spec().fields)
        computed = replace(recipes.computed(codes), rows=len(codes))
        numbers = computed.outputs[0].to_dict()
        for key, number in wanted.items():
            assert np.ravel(numbers[key]) == pytest.approx(np.ravel(number), rel=rel, abs=1e-12), (
                key
            )
        assert all(one.within for one in compare_numbers(computed, codes))
        assert broken(computed, codes, slack=1e-7) == []
        assert computed.problem().outputs
        return computed

    return compare


@pytest.fixture(scope="session")
def check() -> Callable[..., list[str]]:
    return broken


@pytest.fixture(scope="session")
def slopes_hold() -> Callable[[Any, np.ndarray], None]:
    """Compare a reading's derivatives with central differences."""

    def compare(reading: Any, sums: np.ndarray) -> None:
        _, slope = reading(sums)
        steps = 1e-5 * np.maximum(1.0, np.abs(sums))
        each = np.eye(len(sums)) * steps
        numeric = np.stack(
            [
                (reading(sums + d)[0] - reading(sums - d)[0]) / (2 * h)
                for d, h in zip(each, steps, strict=True)
            ],
            axis=1,
        )
        scale = np.maximum(np.abs(numeric), np.abs(numeric).max(axis=1, keepdims=True) * 1e-3)
        np.testing.assert_array_less(np.abs(slope - numeric), 1e-3 * scale + 1e-12)

    return compare


@pytest.fixture(scope="session")
def evolved() -> Iterator[Callable[..., EvolvedCopy]]:
    """A dataset that reaches outputs. Engines are shared: starting a process takes longer than these searches."""

    def search(spec: Outputs, *, seed: int = 1, **settings: Any) -> EvolvedCopy:
        copy = evolve_spec(
            spec, EvolveSettings.from_options(**settings), seed=seed, engines=engines
        ).copies[0]
        assert copy.reached, copy.missed
        return copy

    with Engines() as engines:
        yield search


PAGE_NAMES = {
    "AGE": "wife_age",
    "EDUCATION": "wife_education",
    "CHILDREN": "num_children",
    "MEDIA": "media_exposure",
    "METHOD": "contraceptive_method",
    "LIVING": "standard_of_living",
}


@pytest.fixture(scope="module")
def codes(documented: Outputs) -> np.ndarray:
    """The records of the page that a test module calls `documented`."""
    raw = pd.read_csv(DATA / "cmc.csv")
    columns = {}
    for field in documented.fields:
        values = raw[PAGE_NAMES[field.name]]
        first = 1 if field.name in ("EDUCATION", "METHOD") else 0
        columns[field.name] = (
            values.tolist() if field.numeric else [field.levels[v - first] for v in values]
        )
    return documented.fields.codes(columns)
