"""Census-like microdata with P1's seven variables, as far as open files have them: six keys and a label of two levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq

from benchmarks.data import shared_folder
from chaffinch.outputs.domain import Codes, OutputColumn, OutputDomain

FILES = {
    "texas": "nist_acs_tx2019/nist_acs_tx2019.parquet",
    "england": "ons_census_2011/first50000.parquet",
    "scotland": "scotland_census_2011/scotland_census_2011.parquet",
}
DATASETS = tuple(FILES)


@dataclass(frozen=True, eq=False)
class People:
    """Records of one source: columns, codes, and the formula of the logit, P1's as far as the columns go."""

    fields: OutputDomain
    codes: Codes
    label: str

    @property
    def keys(self) -> tuple[str, ...]:
        """All columns but the label."""
        return tuple(name for name in self.fields.names if name != self.label)

    @property
    def formula(self) -> str:
        """The label on everything else, main effects only."""
        return f"{self.label} ~ {' + '.join(self.keys)}"


def people(dataset: str) -> People | None:
    """Return the people of a dataset; None where its file is absent."""
    path = shared_folder() / FILES[dataset]
    if not path.exists():
        return None
    frame = pq.read_table(path).to_pandas()
    if dataset == "texas":
        frame = frame[frame["own_rent"].isin([1, 2])]
        race = frame["rac1p"].map({1: "white", 2: "black", 6: "asian"}).fillna("other")
        columns = {
            "age": frame["agep"],
            "area": frame["puma"].astype(str),
            "race": race,
            "ill": np.where(
                frame["drem"] == 1, "yes", "no"
            ),  # difficulty remembering; children are not asked
            "marital": frame["msp"]
            .map(
                {1: "married", 2: "apart", 3: "widowed", 4: "divorced", 5: "separated", 6: "single"}
            )
            .fillna("child"),
            "sex": frame["sex"].map({1: "male", 2: "female"}),
            "rent": (frame["own_rent"] == 2).astype(int),
        }
        label = "rent"
    else:
        frame = frame[(frame["health"] > 0) & (frame["ethnic_group"] > 0)]
        area = frame["region"] if dataset == "england" else frame["country_of_birth"]
        columns = {
            "age": frame["age"],
            "area": area.astype(str),
            "ethnic": frame["ethnic_group"].astype(str),
            "student": frame["student"].astype(str),
            "marital": frame["marital_status"].astype(str),
            "sex": frame["sex"].astype(str),
            "ill": (frame["health"] >= 3).astype(int),  # fair, bad or very bad
        }
        label = "ill"
    fields = OutputDomain(
        tuple(_field(name, np.asarray(values)) for name, values in columns.items())
    )
    return People(
        fields,
        fields.codes({name: list(np.asarray(v).tolist()) for name, v in columns.items()}),
        label,
    )


def _field(name: str, values: np.ndarray) -> OutputColumn:
    if name == "age":  # a number, with every value between the ends: what a code book would say
        return OutputColumn(name, tuple(range(int(values.min()), int(values.max()) + 1)))
    return OutputColumn(name, tuple(sorted(set(values.tolist()))))
