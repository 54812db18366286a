"""Arrow meets pandas when somebody else does."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

pytest.importorskip("pandas")

START = """
import sys
import pyarrow as pa
from chaffinch.cli.options import start_arrow
start_arrow(2)
assert pa.cpu_count() == 2
"""


def ends_well(code: str) -> None:
    """Run code after Arrow was started; its assertions must hold."""
    ended = subprocess.run([sys.executable, "-c", START + code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 18, reason="an old Arrow looks for pandas at every array"
)
def test_arrays_import_no_pandas() -> None:
    ends_well("pa.array([1, None]); pa.table({'a': [1.5]}); assert 'pandas' not in sys.modules")


def test_arrow_knows_frames_once_pandas_is_there() -> None:
    """A number that is none is missing in a pandas column, and a number elsewhere: Arrow tells them apart only where it knows pandas."""
    ends_well(
        "pa.array([0])\nimport pandas as pd\n"
        "column = pd.Series([1.0, float('nan')])\n"
        "assert pa.array(column).null_count == 1\n"
        "assert pa.Table.from_pandas(pd.DataFrame({'a': column}))['a'].null_count == 1\n"
        "assert type(pd.__spec__.loader).__name__ == 'SourceFileLoader', pd.__spec__\n"
        "assert not any(type(f).__name__ == '_PandasFinder' for f in sys.meta_path)\n"
    )


def test_arrow_finds_pandas_itself_when_it_makes_a_frame() -> None:
    ends_well(
        "frame = pa.table({'a': [1, 2]}).to_pandas(); assert type(frame).__module__.startswith('pandas'), type(frame)"
    )


@pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 18, reason="an old Arrow looks for pandas at every array"
)
def test_starting_twice_is_starting_once() -> None:
    ends_well(
        "start_arrow(1); assert pa.cpu_count() == 1; assert sum(type(f).__name__ == '_PandasFinder' for f in sys.meta_path) == 1"
    )


def test_pandas_that_was_there_before_is_known() -> None:
    code = (
        "import pandas as pd\n"
        + START
        + "assert pa.array(pd.Series([1.0, float('nan')])).null_count == 1"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_without_pandas_all_is_as_before() -> None:
    ends_well(
        "sys.modules['pandas'] = None\n"
        "try:\n    import pandas\nexcept ImportError:\n    pass\nelse:\n    raise AssertionError\n"
        "assert pa.array([1]).to_pylist() == [1]"
    )
