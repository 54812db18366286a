"""Small tables for tests, made from codes."""

import io
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import combinations
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from chaffinch.table import Categories, Column, Schema, Table

# No test asserts a time: a busy machine, or the first call of a compiled kernel, is no defect.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# A shell that starts the tests in the background makes them, and all that they start, ignore Ctrl-C: tests that send it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(__file__).parents[1] / "examples" / "data"


def make_coded(codes: Sequence[Sequence[int]], sizes: Sequence[int]) -> Table:
    """Return a table of text columns a, b, c ... with the given codes; the levels of a column are 'v0', 'v1' ..."""
    columns = []
    for j, size in enumerate(sizes):
        levels = tuple(f"v{i:06d}" for i in range(size))
        columns.append(Column(f"c{j}", "categorical", levels=levels, codec=Categories(levels)))
    arrays = [np.asarray(column, dtype=np.uint32) for column in codes]
    return Table.from_codes(Schema(tuple(columns)), arrays, seed=0)


@pytest.fixture
def coded() -> Callable[[Sequence[Sequence[int]], Sequence[int]], Table]:
    return make_coded


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the bundled public tables."""
    return DATA


def java() -> str | None:
    """Return the Java that Spark would start, if there is one."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """A session with two cores that tries a failed task up to four times."""
    pytest.importorskip(
        "pyspark", reason="pyspark is not installed: make test-spark has an environment with it"
    )
    if java() is None:
        pytest.skip("Spark needs Java: install a JRE (Debian and Ubuntu: default-jre-headless)")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    session = SparkSession.builder.master("local[2,4]").config(map=options).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need a session, or one of their own: `make test-spark` runs these, the others are in `make test` already."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


class Done:
    """How a command ended, and what it said."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


@pytest.fixture(scope="session")
def run_here():
    """Run `chaffinch ...` in this process, through the same door as a shell's: much quicker than a new one each time."""

    def call(*arguments):
        from chaffinch.cli import app as cli

        out, err = (
            io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True)
            for _ in range(2)
        )
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "argv", ["chaffinch", *map(str, arguments)])
            with pytest.raises(SystemExit) as ended:
                cli.main()
        said, warned = (stream.buffer.getvalue().decode() for stream in (out, err))
        return Done(ended.value.code or 0, said, warned)

    return call


# A made-up study of risk, for verdicts and pages.

GUESSERS = (
    "cap",
    "dcap",
    "tcap",
    "disco",
    "gcap_score",
    "gcap_vote",
    "nb",
    "svm",
    "knn",
    "rf",
    "lr",
)


def make_attack(
    measure: str,
    keys: Sequence[str],
    sensitive: str,
    *,
    holdout: bool = True,
    excess: float = 0.005,
    **more: Any,
) -> dict[str, Any]:
    """Return one attack between its references; `more` replaces what it says."""
    value = 0.56 + 0.02 * len(keys)
    return {
        "attacker": measure,
        "convention": "matched_rows" if measure == "tcap" else "",
        "keys": list(keys),
        "sensitive": sensitive,
        "value": value,
        "interval": [value - 0.01, value + 0.01],
        "direction": "lower is safer",
        "guess": 0.27 if measure in ("cap", "dcap", "gcap_score") else 0.41,
        "guess_by": "draw" if measure in ("cap", "dcap", "gcap_score") else "value",
        "holdout": value - excess if holdout else None,
        "original": 0.81,
        "marginals_only": 0.4,
        "label_only": 0.45,
        "excess": excess if holdout else None,
        "excess_interval": [excess - 0.01, excess + 0.01] if holdout else None,
        "p_value": 0.2 if holdout else None,
        "p_family": 0.7 if holdout else None,
        "lower_bound": excess - 0.05 if holdout else None,
        "detectable": 0.012 if holdout else None,
        "n_people": 32560,
        "n_matched": "<10" if measure == "tcap" else 28960,
        "reason": None if holdout else "No holdout was given, so no excess can be stated.",
        **more,
    }


def make_risk(
    keys: Sequence[str] = ("age", "workclass", "occupation", "race", "sex"),
    sensitive: Sequence[str] = ("relationship", "education"),
    *,
    holdout: bool = True,
    sizes: tuple[int, int] | None = None,
    measures: Sequence[str] = GUESSERS,
    extras: bool = True,
    excess: float = 0.005,
) -> dict[str, Any]:
    """Return a whole study of risk; `sizes` tries all sets of so many keys."""
    rng = np.random.default_rng(5)
    low, high = sizes or (len(keys), len(keys))
    sets = [chosen for size in range(low, high + 1) for chosen in combinations(keys, size)]
    attacks = [
        make_attack(
            m,
            chosen,
            s,
            holdout=holdout,
            excess=excess + (float(rng.normal(0, 0.01)) if sizes else 0.0),
        )
        for s in sensitive
        for chosen in sets
        for m in measures
    ]
    family = {"p_value": None, "lower_bound": None, "reason": "No holdout was given."}
    if holdout:
        family = {
            "p_value": 0.31,
            "strongest": 0,
            "lower_bound": -0.004,
            "level": 0.95,
            "resamples": 1000,
        }
    study: dict[str, Any] = {
        "format": "chaffinch-risk",
        "version": 3,
        "about": {
            "original": {"name": "adult_train.parquet", "rows": 32560},
            "synthetic": [{"name": "synthetic.parquet", "rows": 32560}],
            "holdout": {"name": "adult_test.parquet", "rows": 16280} if holdout else None,
            "keys": list(keys),
            "sensitive": list(sensitive),
            "key_sizes": None if sizes is None else list(sizes),
            "key_sets": len(sets),
            "label": "income",
            "seed": 1,
            "scenario": f"Someone knows {', '.join(keys)} of a person and wants {', '.join(sensitive)}.",
            "settings": {
                "convention": "matched_rows",
                "tau": 1.0,
                "missing": "level",
                "numeric": "bins",
                "resamples": 1000,
            },
            "notes": ["One synthetic table: the variance between syntheses is absent."],
        },
        "findings": attacks,
        "family": family,
        "over_key_sets": [
            {
                "sensitive": s,
                "attacker": m,
                "key_sets": len(sets),
                "mean": 0.5,
                "maximum": 0.6,
                "maximum_keys": list(keys),
                "mean_excess": 0.002,
                "maximum_excess": 0.01,
            }
            for s in sensitive
            for m in measures
        ],
        "over_attackers": [
            {
                "sensitive": s,
                "keys": list(chosen),
                "attackers": ["gcap_vote", "nb", "rf"],
                "value": 0.55,
                "guess": 0.41,
                "holdout": 0.54 if holdout else None,
                "original": 0.6,
                "marginals_only": 0.38,
                "label_only": 0.45,
                "maximum": 0.61,
                "maximum_attacker": "rf",
            }
            for s in sensitive
            for chosen in sets
        ],
        "run": {"seconds": {"synthetic": 1.2}, "date": "2025-11-16 10:00 UTC"},
    }
    if extras:
        crossed = [
            make_attack(m, keys, s, excess=0.2, p_family=0.002, lower_bound=0.15)
            for s in sensitive
            for m in measures
        ]
        study |= {
            "funnel": [
                {
                    "sensitive": s,
                    "keys": list(chosen),
                    "iS": 0.89,
                    "DiS": 0.31,
                    "DiSCO": 0.078,
                    "DiSDiO": 0.041,
                    "Dorig": 0.08,
                    "UiO": 0.12,
                    "UiOiS": 0.04,
                    "repU": 0.01,
                    "tcap": {
                        "matched_rows": 0.55,
                        "all_rows": 0.31,
                        "certain": 0.046,
                        "matched": 0.088,
                        "conditional": None,
                    },
                }
                for s in sensitive
                for chosen in sets
            ],
            "records": [
                {
                    "bins": [i / 10 for i in range(11)],
                    "shares": [0.1, 0.2, 0.3, 0.2, 0.1, 0.05, 0.05, None, None, 0.0],
                    "sensitive": sensitive[0],
                    "what": "Share of nearest synthetic rows that have the record's own value.",
                }
            ],
            "classes": [{"sensitive": sensitive[0], "people": "<10", "share": 0.002}],
            "memorisation": {"rows_equal": 0.031, "holdout_rows_equal": 0.028 if holdout else None},
            "cross_fit": {
                "format": "chaffinch-risk",
                "version": 3,
                "findings": crossed,
                "family": {"p_value": 0.001, "strongest": 1, "lower_bound": 0.15},
                "note": "The figures are for models of half the size.",
            },
        }
    return study


@pytest.fixture
def risk_of() -> Callable[..., dict[str, Any]]:
    """The builder of a whole study of risk, as plain data."""
    return make_risk


@pytest.fixture
def attack_of() -> Callable[..., dict[str, Any]]:
    """The builder of one attack, as plain data."""
    return make_attack


def figures(result: object) -> dict[str, float]:
    """Return every number of a result by where it stands in its plain data, but for seconds and for which records were looked at."""
    numbers: dict[str, float] = {}

    def walk(place: str, value: object) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                if name not in ("about", "run", "seconds", "records", "n_compared"):
                    walk(f"{place}/{name}", inner)
        elif isinstance(value, list | tuple):
            for number, inner in enumerate(value):
                walk(f"{place}/{number}", inner)
        elif isinstance(value, int | float):
            numbers[place] = float(value)

    walk("", result.to_dict())  # type: ignore[attr-defined]
    return numbers
