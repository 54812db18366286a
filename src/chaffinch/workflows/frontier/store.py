"""What was evaluated, in a plain file: a search that was stopped goes on from it, and a folder of another search is refused.

It also holds how often the people who were set aside were looked at: another limit, or a longer search, does not make them unseen again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ... import __version__
from ..._base.errors import InputError
from ..._base.files import check_folder, check_free, read_small, write_text
from ..._base.results import check_format, from_plain, to_plain
from ...report.frontier_result import Confirmation, Evaluation
from ...table.table import Table
from ..release_result import CONFIDENTIAL, PARTS, TO_RELEASE
from .settings import FrontierSettings

EVALUATIONS = "evaluations.json"
"""The name of the file, in the folder that stays inside."""

FORMAT, VERSION = "chaffinch-frontier-evaluations", 1
MOST_BYTES = 256 << 20


def check_search_folder(folder: Path, *, paid: bool) -> None:
    """Raise unless a search may be written into a folder: a new or empty one, or its own, which it goes on in.

    A table that it released there is refused unless it may be overwritten, and always where a privacy budget is spent.
    """
    if not (folder / CONFIDENTIAL / EVALUATIONS).is_file():
        check_folder(folder, names=PARTS, mark=f"{CONFIDENTIAL}/{EVALUATIONS}")
    elif (released := folder / TO_RELEASE).is_dir() and any(released.iterdir()):
        check_free(released, paid=paid)


def inputs_of(table: Table, holdout: Table | None, settings: FrontierSettings) -> dict[str, Any]:
    """Return what figures depend on: digests of the tables, the settings, and the version."""
    return {
        "original": _digest(table),
        "holdout": None if holdout is None else _digest(holdout),
        "settings": settings.to_dict(),
        "chaffinch": __version__,
    }


def _digest(table: Table) -> str:
    """The digest of a table's values, its names and its types, however its rows lie in memory."""
    said = hashlib.sha256()
    sink = pa.BufferOutputStream()
    data = table.data.combine_chunks().replace_schema_metadata(None)
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data, max_chunksize=1 << 16)
    said.update(sink.getvalue())
    return said.hexdigest()


class EvaluationFile:
    """The file of evaluations of one search, or none where there is no folder: then nothing is written."""

    def __init__(self, path: Path | None, inputs: Mapping[str, Any], seed: int | None) -> None:
        self.path, self.inputs, self.seed = path, inputs, seed
        self.evaluations: list[Evaluation] = []
        self.looks: dict[str, Confirmation] = {}
        self.resumed = 0
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        text = read_small(
            path, what="list of evaluations", most=MOST_BYTES, next_step="Name another folder."
        )
        try:
            data = json.loads(text)
        except json.JSONDecodeError:
            raise InputError(
                f"'{path}' is no list of evaluations: it is not JSON. Name another folder."
            ) from None
        check_format(data, FORMAT, VERSION, "Name another folder.")
        stored = data.get("inputs")
        if stored != dict(self.inputs):
            parts = [
                name
                for name in self.inputs
                if not isinstance(stored, Mapping) or stored.get(name) != self.inputs[name]
            ]
            raise InputError(
                f"The folder '{path.parent.parent}' holds a search of another {' and '.join(parts)}. Name another folder, or the same data and options."
            )
        seed = data.get("seed")
        if self.seed is not None and seed != self.seed:
            raise InputError(
                f"The folder '{path.parent.parent}' holds a search with seed {seed}. Got seed {self.seed}: leave it out, or name another folder."
            )
        self.seed = seed
        self.evaluations = list(
            from_plain(
                tuple[Evaluation, ...],
                data.get("evaluations") or (),
                what="the list of evaluations",
            )
        )
        looks = from_plain(
            tuple[Confirmation, ...], data.get("looks") or (), what="the list of evaluations"
        )
        self.looks = {look.evaluation.candidate.key: look for look in looks}
        self.resumed = len(self.evaluations)

    def replace(self, evaluations: Sequence[Evaluation]) -> None:
        """Keep these evaluations in the place of all."""
        self.evaluations = list(evaluations)
        self.write()

    def write(self) -> None:
        """Write what is known, wholly or not at all."""
        if self.path is None:
            return
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = {
            "confidential": True,
            "format": FORMAT,
            "version": VERSION,
            "inputs": dict(self.inputs),
            "seed": self.seed,
            "evaluations": to_plain(self.evaluations),
            "looks": to_plain(list(self.looks.values())),
        }
        write_text(
            self.path,
            json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
            mode=0o600,
            overwrite=True,
        )
