"""How SPSS and Stata count time."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import chaffinch
from chaffinch.table.formats.spss_stata.read import DATES, TIMES

SPSS_EPOCH = datetime.datetime(1582, 10, 14)


def seconds(moment: datetime.date, epoch: datetime.datetime = SPSS_EPOCH) -> float:
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime(moment.year, moment.month, moment.day)
    return (moment - epoch).total_seconds()


def raw(path: Path):
    """Return cells and metadata as pyreadstat has them."""
    read = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta
    return read(path, user_missing=True, disable_datetime_conversion=True, output_format="dict")


class TestMoments:
    @pytest.mark.parametrize("form", ["sav", "dta"])
    def test_pyreadstat_counts_time_in_the_same_way(self, tmp_path, form):
        """Dates and times that pyreadstat converts come out as the numbers that ours do."""
        moments = [
            datetime.datetime(1600, 2, 29, 1, 2, 3),
            datetime.datetime(1969, 12, 31),
            datetime.datetime(2024, 2, 29, 23, 59, 59, 123_000),
        ]
        days = [moment.date() for moment in moments]
        frame = pd.DataFrame(
            {
                "day": pd.Series(days, dtype=object),
                "moment": pd.Series(moments, dtype="datetime64[ms]"),
            }
        )
        path = tmp_path / f"a.{form}"
        (pyreadstat.write_sav if form == "sav" else pyreadstat.write_dta)(frame, path)
        cells, _ = raw(path)
        numbers = np.array([(day - datetime.date(1970, 1, 1)).days for day in days])
        assert DATES[form].outgoing(numbers).tolist() == cells["day"]
        assert DATES[form].incoming(np.array(cells["day"])).tolist() == numbers.tolist()
        units = pa.array(moments, type=pa.timestamp("ms")).cast(pa.int64()).to_numpy()
        assert TIMES[form].outgoing(units) == pytest.approx(cells["moment"], abs=1e-5)
        assert TIMES[form].incoming(np.array(cells["moment"])).tolist() == units.tolist()

    def test_a_date_with_a_time_in_it_is_its_day(self, tmp_path):
        path = tmp_path / "a.sav"
        frame = pd.DataFrame(
            {
                "x": [seconds(datetime.datetime(2020, 1, 1 + i % 9, 23, 59)) for i in range(40)],
                "y": 1.0,
            }
        )
        pyreadstat.write_sav(frame, path, variable_format={"x": "DATE11"})
        assert chaffinch.read(path).data.column("x")[0].as_py() == datetime.date(2020, 1, 1)

    def test_dates_beyond_any_calendar(self, tmp_path):
        path = tmp_path / "a.sav"
        pyreadstat.write_sav(
            pd.DataFrame({"x": [1e300] * 40, "y": 1.0}), path, variable_format={"x": "DATE11"}
        )
        with pytest.raises(
            chaffinch.errors.FileError, match="column 'x' holds dates beyond any calendar"
        ):
            chaffinch.read(path)
