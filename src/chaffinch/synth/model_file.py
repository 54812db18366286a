"""Model files: one safetensors file whose header carries the model as JSON. Opening one executes nothing.

The JSON holds the schema with its codecs and the plain data of the model; the tensors hold its arrays. Both are read with
limits and checked against each other, so a damaged or hostile file gives an error and nothing else. A checksum over both tells a file that was damaged
from one that was not; it is no signature: whoever changes a file on purpose can write another. `kind` says which class
reads the rest, found among those of the registered synthesisers; a file without one holds a Bayesian network.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import ChaffinchError, FileError, InputError
from .._base.files import replacing
from .._base.results import from_plain
from ..table.domain import domain_from_dict
from ..table.rules.constraints import allowed_codes
from ..table.rules.keep import check_functions
from ..table.schema import NUMERIC_KINDS, Column, FunctionMap, Schema
from ..table.types import is_numeric, parse_type, value_type
from .model import FittedModel
from .settings import SYNTHESISERS

FORMAT = "chaffinch-model"
VERSION = 2
UNCHECKED = 1
"""The version of files that have no checksum."""
MOST_BYTES = 16 << 30
UNNAMED_KIND = "bayesnet"
"""The kind of files that name none."""


def save_model(
    model: FittedModel, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a model, wholly or not at all, readable by its owner only: its tables are counts of records."""
    from safetensors.numpy import save_file

    arrays, metadata = _file_parts(model)
    with replacing(
        path, mode=0o600, overwrite=overwrite, paid=model.privacy is not None
    ) as partial:
        save_file(arrays, partial, metadata)
        partial.chmod(0o600)


def file_parts(model: FittedModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what stands in the file of a model: the JSON of its header, and its arrays."""
    data, arrays = model.state()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "confidential": model.confidential,
        **({} if model.kind == UNNAMED_KIND else {"kind": model.kind}),
        "schema": schema_to_dict(model.schema),
        **data,
    }
    return header, arrays


def load_model(path: str | os.PathLike[str]) -> FittedModel:
    """Return the model in a file; raise a clear error for any other file."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"A model is loaded from the path of its file, which `model.save` wrote. Got a {type(path).__name__}."
        )
    file = Path(path)
    try:
        size = file.stat().st_size
        with open(file, "rb") as handle:
            head = handle.read(9)
    except FileNotFoundError:
        raise FileError(f"No such file: '{file}'.") from None
    except OSError as error:
        raise FileError(f"Cannot read '{file}': {error.strerror}.") from error
    if (
        size > MOST_BYTES
        or len(head) < 9
        or head[8:9] != b"{"
        or int.from_bytes(head[:8], "little") > size
    ):
        raise FileError(
            f"'{file}' is not a Chaffinch model. `chaffinch fit DATA -o MODEL` writes one."
        )
    return _model(str(file), lambda: _read(file))


load = load_model
"""Its name at the top, `chaffinch.load`."""


def model_to_bytes(model: FittedModel) -> bytes:
    """Return what `save_model` would write, to be sent to a worker. As confidential as the model."""
    from safetensors.numpy import save

    return save(*_file_parts(model))


def _file_parts(model: FittedModel) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """The tensors of a model's file, and its metadata: one entry, since several come in any order."""
    header, arrays = file_parts(model)
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return contiguous, {
        "chaffinch": with_checksum(
            json.dumps(header, ensure_ascii=False, allow_nan=False), contiguous
        )
    }


def with_checksum(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the JSON of a header with a checksum over it and the arrays as its first entry."""
    return f'{{"sha256": "{_checksum(arrays, text)}", {text[1:]}'


_CHECKSUM = re.compile(r'\{"sha256": "([0-9a-f]{64})", ')


def _is_whole(text: str, arrays: Mapping[str, NDArray[Any]]) -> bool | None:
    """Whether a header and arrays are those that the checksum was made of; None where there is none."""
    match = _CHECKSUM.match(text)
    return None if match is None else match[1] == _checksum(arrays, "{" + text[match.end() :])


def _checksum(arrays: Mapping[str, NDArray[Any]], text: str) -> str:
    """The SHA-256 of a header and of arrays, each with its name, type and shape."""
    digest = hashlib.sha256(
        json.dumps(
            [text, [[name, arrays[name].dtype.str, arrays[name].shape] for name in sorted(arrays)]]
        ).encode()
    )
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def model_from_bytes(raw: bytes) -> FittedModel:
    """Return the model that `model_to_bytes` wrote, every part checked."""

    def read() -> tuple[dict[str, NDArray[Any]], str]:
        from safetensors.numpy import load

        length = int.from_bytes(raw[:8], "little")
        return load(raw), json.loads(raw[8 : 8 + length])["__metadata__"]["chaffinch"]

    return _model("the model sent", read)


def _model(file: str, read: Callable[[], tuple[dict[str, NDArray[Any]], str]]) -> FittedModel:
    """Return the model that is read as arrays and the text of a header; `file` names it in messages."""
    try:
        arrays, text = read()
        data = json.loads(text)
        is_whole = _is_whole(text, arrays)
    except FileError:
        raise
    except Exception:  # whatever a damaged header makes the reader raise
        raise FileError(
            f"'{file}' is not a Chaffinch model, or it is damaged or truncated."
        ) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileError(
            f"'{file}' is not a Chaffinch model. `chaffinch fit DATA -o MODEL` writes one."
        )
    if data.get("version") not in (VERSION, UNCHECKED):
        raise FileError(
            f"'{file}' has version {str(data.get('version'))[:20]}; this release reads version {VERSION}. Use a newer release."
        )
    if not is_whole and not (
        is_whole is None and data["version"] == UNCHECKED and "sha256" not in data
    ):
        raise FileError(
            f"'{file}' is damaged: it was changed after it was written, by its checksum. Copy it again, or fit the model anew."
        )
    kind, kinds = (
        data.get("kind", UNNAMED_KIND),
        {settings.model.kind: settings.model for settings in SYNTHESISERS},
    )
    if not isinstance(kind, str) or kind not in kinds:
        raise FileError(
            f"'{file}' holds a model of kind '{str(kind)[:40]}', which no registered synthesiser makes. Import the module that "
            "registers it first."
        )
    try:
        return kinds[kind].from_state(schema_from_dict(data["schema"]), data, arrays)
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        OverflowError,
        AttributeError,
        RecursionError,
        ChaffinchError,
    ):
        raise FileError(f"'{file}' is damaged: its parts do not fit together.") from None


def _read(file: Path) -> tuple[dict[str, NDArray[Any]], str]:
    from safetensors import safe_open

    with safe_open(str(file), framework="numpy") as opened:
        metadata = opened.metadata() or {}
        if "chaffinch" not in metadata:
            raise FileError(f"'{file}' is a safetensors file, but not a Chaffinch model.")
        return {name: opened.get_tensor(name) for name in opened.keys()}, metadata["chaffinch"]  # noqa: SIM118


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """Return a fitted schema as plain data."""
    columns = []
    for column in schema:
        entry = {
            f.name: getattr(column, f.name)
            for f in fields(Column)
            if f.name not in ("codec", "evidence")
        }
        entry["codec"] = None if column.codec is None else column.codec.to_dict()
        columns.append(entry)
    rules: dict[str, Any] = {"rules": list(schema.rules)} if schema.rules else {}
    if schema.functions:
        rules["functions"] = [function.to_dict() for function in schema.functions]
    return {
        "rare_below": schema.rare_below,
        "public": schema.public,
        "rows": schema.rows,
        **rules,
        "columns": columns,
    }


@dataclass(frozen=True)
class _SchemaData:
    """What plain data say of a schema beside its columns."""

    rare_below: int
    public: bool = False
    rows: int | None = None
    rules: tuple[str, ...] = ()
    functions: tuple[FunctionMap, ...] = ()


def schema_from_dict(data: Any) -> Schema:
    """Return the schema that `schema_to_dict` described."""
    columns = []
    for entry in data["columns"]:
        known = {f.name for f in fields(Column)} - {"evidence"}
        entry = {"discover": False, "decimal": ".", "form": "", "repeats": None, **entry}
        if entry["output"] == "drop" and entry["codec"] is not None:
            entry["output"] = ""  # files of older releases say so of every column
        if set(entry) != known:
            raise InputError(
                "A column of the model's schema has other entries than this release knows."
            )
        ready = {key: _tuples(value) for key, value in entry.items() if key != "codec"}
        codec = None if entry["codec"] is None else domain_from_dict(entry["codec"])
        for key in (
            "name",
            "kind",
            "role",
            "type",
            "title",
            "format",
            "decimal",
            "output",
            "form",
            "reason",
        ):
            if not isinstance(ready[key], str):
                raise InputError("A column of the model's schema has an entry of the wrong type.")
        columns.append(Column(**ready, codec=codec))
        _check_column(columns[-1])
    stated = from_plain(_SchemaData, data, what="the model's schema")
    schema = Schema(tuple(columns), **vars(stated))
    check_functions(schema)
    allowed_codes(schema)
    return schema


def _check_column(column: Column) -> None:
    """Raise unless values of the column's type can be made of its codes."""
    if not column.modelled:
        return
    kind, codec = value_type(parse_type(column.type)), column.codec
    if (
        codec is not None
        and codec.numeric
        and not (
            column.kind in NUMERIC_KINDS
            and is_numeric(kind)
            and 1 <= codec.step < 1 << 62
            and (codec.decimals is None or 0 <= codec.decimals <= 15)
        )
    ):
        raise InputError(f"The codes of column '{column.name}' do not go with its kind and type.")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
