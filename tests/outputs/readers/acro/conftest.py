"""The directories under `tests/data/acro`, copies of them to break, and the rules of ACRO's loader written down a second time."""

import hashlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import chaffinch
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.readers.acro.read import AcroDirectory, AcroFile, AcroResult, read_acro
from chaffinch.outputs.readers.acro.recipes import recipes_of_acro

DATA = Path(__file__).parents[3] / "data" / "acro"
CMC = Path(__file__).parents[4] / "examples" / "data" / "cmc.csv"


@pytest.fixture(scope="session")
def frame():
    """The records behind `cmc`, as make_cmc.py has them."""
    df = pd.read_csv(CMC)
    df["uses"] = (df.contraceptive_method > 1).astype(int)
    df["area"] = df.husband_occupation.map({1: "north", 2: "east", 3: "south", 4: "west side"})
    return df


@pytest.fixture(scope="session")
def fields(frame):
    return OutputDomain(
        tuple(OutputColumn(name, tuple(sorted(frame[name].unique().tolist()))) for name in frame)
    )


@pytest.fixture(scope="session")
def cmc():
    return read_acro(DATA / "cmc")


@pytest.fixture(scope="session")
def census():
    return read_acro(DATA / "census")


@pytest.fixture
def copy(tmp_path):
    """A copy of `census` to break."""
    return Path(shutil.copytree(DATA / "census", tmp_path / "census"))


def _sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _sealed(folder, name="results.json"):
    (folder / "checksums" / f"{name}.txt").write_text(_sha256(folder / name))


@pytest.fixture(scope="session")
def sealed():
    """Write the checksum of a file anew."""
    return _sealed


@pytest.fixture(scope="session")
def rewritten():
    """Change results.json by a function, and its checksum with it."""

    def rewrite(folder, change):
        path = folder / "results.json"
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))
        _sealed(folder)
        return folder

    return rewrite


@pytest.fixture(scope="session")
def loader_faults():
    """What ACRO 1.0.2's `load_records` and the SACRO Viewer would stumble over, by their rules; nothing if they would take it."""
    return _loader_faults


def _loader_faults(folder):
    folder, faults = Path(folder), []
    data = json.loads((folder / "results.json").read_text())
    if data["version"] != "1.0.2":
        faults.append("version")
    keys = [
        "uid",
        "status",
        "type",
        "properties",
        "files",
        "outcome",
        "command",
        "summary",
        "timestamp",
        "comments",
        "exception",
        "fair",
    ]
    for uid, entry in data["results"].items():
        faults += [f"{uid}: {key}" for key in keys if key not in entry]
        if not entry["files"] or any(
            "sdc" not in file or "name" not in file for file in entry["files"]
        ):
            faults.append(f"{uid}: files")
        if not isinstance(entry["comments"], list):
            faults.append(f"{uid}: comments")
        for file in entry["files"]:
            path = folder / file["name"]
            if not path.is_file():
                faults.append(f"{uid}: no {file['name']}")
                continue
            seal = folder / "checksums" / f"{file['name']}.txt"
            if not seal.is_file() or seal.read_text() != _sha256(path):
                faults.append(f"{uid}: checksum of {file['name']}")
    if (folder / "checksums" / "results.json.txt").read_text() != _sha256(folder / "results.json"):
        faults.append("checksum of results.json")
    acro_like = []
    for path in folder.glob("*.json"):
        found = json.loads(path.read_text())
        if isinstance(found, dict) and {"version", "results"} <= set(found):
            acro_like.append(path.name)
    if acro_like != ["results.json"]:
        faults.append(f"files that look like ACRO's: {acro_like}")
    return faults


@pytest.fixture(scope="session")
def cmc_table(frame):
    return chaffinch.read(frame)


@pytest.fixture(scope="session")
def read(cmc, cmc_table):
    return recipes_of_acro(cmc, cmc_table)


@pytest.fixture(scope="session")
def entries():
    """From outputs and a uid to the entries of that result, by what follows the uid in their names."""

    def of(read, uid):
        return {
            output.name.removeprefix(uid).lstrip(":, "): output.entry
            for output in read.outputs_of(uid)
        }

    return of


SMALL = OutputDomain(
    (OutputColumn("a", ("x", "y")), OutputColumn("b", (0, 1)), OutputColumn("c", tuple(range(10))))
)


@pytest.fixture(scope="session")
def one():
    """From what differs from a small crosstab to the outputs of a directory with that result alone."""

    def outputs(folder, config=None, fields=SMALL, **what):
        usual = {
            "uid": "t",
            "status": "pass",
            "type": "table",
            "method": "crosstab",
            "summary": "FrequencyTable : \n",
            "command": "s.crosstab(df.a, df.b)",
            "independent": ("a", "b"),
        }
        rows = what.pop("rows", (("a", "0", "1"), ("x", "3", "4"), ("y", "5", "6")))
        files = (AcroFile("t_0.csv", "", tuple(map(tuple, rows))),)
        result = AcroResult(**{**usual, "files": files, **what})
        return recipes_of_acro(AcroDirectory(folder, "1.0.2", config or {}, (result,)), fields)

    return outputs
