"""Model files: one safetensors file whose header carries the model as JSON. Opening one executes nothing.

The JSON holds the schema with its codecs, the network and how it was fitted; the tensors hold the tables. Both are read with
limits and checked against each other, so a damaged or hostile file gives an error and nothing else.
"""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from .._base.errors import ChaffinchError, FileError, InputError
from .._base.safe_files import replacing
from ..privacy.account import account_from_dict
from ..table.codec import Intervals, codec_from_dict
from ..table.schema import NUMERIC_KINDS, Column, Schema
from ..table.types import is_numeric, parse_type, value_type
from .bayesnet.model import BayesNetModel, Fitted
from .bayesnet.network import Network
from .bayesnet.protection import Cut, Protection
from .bayesnet.tables import ConditionalTable, Level

__all__ = ["FORMAT", "VERSION", "load_model", "save_model"]

FORMAT = "chaffinch-model"
VERSION = 1
MOST_BYTES = 16 << 30


def save_model(model: BayesNetModel, path: str | os.PathLike[str]) -> None:
    """Write a model, wholly or not at all, readable by its owner only: its tables are counts of records."""
    from safetensors.numpy import save_file

    tensors: dict[str, np.ndarray[Any, Any]] = {}
    for t, table in enumerate(model.tables):
        for i, level in enumerate(table.levels):
            tensors[f"{t}.{i}.keys"] = level.keys
            tensors[f"{t}.{i}.starts"] = level.starts
            tensors[f"{t}.{i}.codes"] = level.codes
            tensors[f"{t}.{i}.weights"] = level.weights
    text = json.dumps(_describe(model), ensure_ascii=False, allow_nan=False)
    with replacing(path, mode=0o600) as part:
        save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, part, {"chaffinch": text})
        part.chmod(0o600)


def load_model(path: str | os.PathLike[str]) -> BayesNetModel:
    """Return the model in a file; raise a clear error for any other file."""
    file = Path(path)
    try:
        size = file.stat().st_size
        with open(file, "rb") as handle:
            head = handle.read(9)
    except FileNotFoundError:
        raise FileError(f"No such file: '{file}'.") from None
    except OSError as error:
        raise FileError(f"Cannot read '{file}': {error.strerror}.") from error
    if size > MOST_BYTES or len(head) < 9 or head[8:9] != b"{" or int.from_bytes(head[:8], "little") > size:
        raise FileError(f"'{file}' is not a Chaffinch model. `chaffinch fit DATA -o MODEL` writes one.")
    try:
        tensors, text = _read(file)
        data = json.loads(text)
    except FileError:
        raise
    except Exception:  # whatever a damaged header makes the reader raise
        raise FileError(f"'{file}' is not a Chaffinch model, or it is damaged or truncated.") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileError(f"'{file}' is not a Chaffinch model. `chaffinch fit DATA -o MODEL` writes one.")
    if data.get("version") != VERSION:
        raise FileError(
            f"'{file}' has version {str(data.get('version'))[:20]}; this release reads version {VERSION}. Use a newer release."
        )
    try:
        return _build(data, tensors)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, RecursionError, ChaffinchError):
        raise FileError(f"'{file}' is damaged: its parts do not fit together.") from None


def _read(file: Path) -> tuple[dict[str, np.ndarray[Any, Any]], str]:
    from safetensors import safe_open

    with safe_open(str(file), framework="numpy") as opened:
        metadata = opened.metadata() or {}
        if "chaffinch" not in metadata:
            raise FileError(f"'{file}' is a safetensors file, but not a Chaffinch model.")
        return {name: opened.get_tensor(name) for name in opened.keys()}, metadata["chaffinch"]  # noqa: SIM118


def _describe(model: BayesNetModel) -> dict[str, Any]:
    fitted = {f.name: getattr(model.fitted, f.name) for f in fields(Fitted)}
    fitted["protection"] = None if model.fitted.protection is None else model.fitted.protection.to_dict()
    fitted["privacy"] = None if model.fitted.privacy is None else model.fitted.privacy.to_dict()
    return {
        "format": FORMAT,
        "version": VERSION,
        "confidential": model.confidential,
        "schema": schema_to_dict(model.schema),
        "order": list(model.network.order),
        "parents": [list(parents) for parents in model.network.parents],
        "smoothing": [table.smoothing for table in model.tables],
        "fitted": fitted,
    }


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """Return a fitted schema as plain data."""
    columns = []
    for column in schema:
        entry = {f.name: getattr(column, f.name) for f in fields(Column) if f.name != "codec"}
        entry["codec"] = None if column.codec is None else column.codec.to_dict()
        columns.append(entry)
    return {"rare_below": schema.rare_below, "public": schema.public, "rows": schema.rows, "columns": columns}


def schema_from_dict(data: Any) -> Schema:
    """Return the schema that `schema_to_dict` described."""
    columns = []
    for entry in data["columns"]:
        known = {f.name for f in fields(Column)}
        entry = {"discover": False, "decimal": ".", **entry}
        if set(entry) != known:
            raise InputError("A column of the model's schema has other entries than this release knows.")
        ready = {key: _tuples(value) for key, value in entry.items() if key != "codec"}
        codec = None if entry["codec"] is None else codec_from_dict(entry["codec"])
        for key in ("name", "kind", "role", "type", "title", "format", "decimal", "reason"):
            if not isinstance(ready[key], str):
                raise InputError("A column of the model's schema has an entry of the wrong type.")
        columns.append(Column(**ready, codec=codec))
        _check_column(columns[-1])
    rows = data.get("rows")
    public = data.get("public", False)
    if not isinstance(public, bool) or not (rows is None or (isinstance(rows, int) and rows >= 0)):
        raise InputError("The model's schema has an entry of the wrong type.")
    return Schema(tuple(columns), int(data["rare_below"]), public=public, rows=rows)


def _check_column(column: Column) -> None:
    """Raise unless values of the column's type can be made of its codes."""
    if not column.modelled:
        return
    kind, codec = value_type(parse_type(column.type)), column.codec
    if isinstance(codec, Intervals) and not (
        column.kind in NUMERIC_KINDS
        and is_numeric(kind)
        and 1 <= codec.step < 1 << 62
        and (codec.decimals is None or 0 <= codec.decimals <= 15)
    ):
        raise InputError(f"The codes of column '{column.name}' do not go with its kind and type.")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _build(data: dict[str, Any], tensors: dict[str, np.ndarray[Any, Any]]) -> BayesNetModel:
    schema = schema_from_dict(data["schema"])
    network = Network(tuple(data["order"]), tuple(tuple(parents) for parents in data["parents"]))
    sizes = dict(zip(schema.names, schema.sizes, strict=True))
    n_tensors = 4 * sum(len(parents) + 1 for parents in network.parents)
    if len(tensors) != n_tensors or len(data["smoothing"]) != len(network.order):
        raise InputError("There are more or fewer tables than the network needs.")
    tables = []
    for t, (name, parents) in enumerate(zip(network.order, network.parents, strict=True)):
        levels = []
        for i in range(len(parents) + 1):
            keys, starts, codes, weights = (
                tensors[f"{t}.{i}.{part}"] for part in ("keys", "starts", "codes", "weights")
            )
            kinds = (keys.dtype, starts.dtype, codes.dtype, weights.dtype)
            if kinds != (np.int64, np.int64, np.uint32, np.float64) or any(
                a.ndim != 1 for a in (keys, starts, codes, weights)
            ):
                raise InputError("A table has the wrong type.")
            levels.append(Level(tuple(sizes[p] for p in parents[:i]), keys, starts, codes, weights))
        tables.append(ConditionalTable(name, sizes[name], parents, tuple(levels), float(data["smoothing"][t])))
        tables[-1].check()
    fitted = {"privacy": None, **data["fitted"]}
    if set(fitted) != {f.name for f in fields(Fitted)}:
        raise InputError("The account of the fit has other entries than this release knows.")
    protection = fitted["protection"]
    if protection is not None:
        protection = Protection(protection["protect"], tuple(Cut(**cut) for cut in protection["cuts"]))
    privacy = None if fitted["privacy"] is None else account_from_dict(fitted["privacy"])
    fitted = {key: _tuples(value) for key, value in fitted.items()} | {"protection": protection, "privacy": privacy}
    if len(fitted["strengths"]) != len(network.edges) or not all(
        isinstance(x, float | int) for x in fitted["strengths"]
    ):
        raise InputError("The strengths of the edges are not as many as the edges.")
    _check_fitted(fitted, schema.names)
    return BayesNetModel(schema, network, tuple(tables), Fitted(**fitted))


def _check_fitted(fitted: dict[str, Any], names: tuple[str, ...]) -> None:
    """Raise unless the account of the fit is of the right types and speaks of the model's columns."""
    cuts = fitted["protection"].cuts if fitted["protection"] else ()
    words = [fitted[key] for key in ("method", "search", "score")]
    numbers = [fitted["fitness"], *fitted["strengths"], *(x for c in cuts for x in (c.information, c.through_label))]
    whole = [fitted["n_rows"], fitted["parents"]]
    columns = [*fitted["sensitive"], *fitted["kept"], *(name for c in cuts for name in (c.sensitive, c.other))]
    columns += [] if fitted["label"] is None else [fitted["label"]]
    sound = (
        all(isinstance(word, str) for word in words)
        and all(isinstance(x, float | int) and np.isfinite(x) for x in numbers)
        and all(isinstance(x, int) and x >= 0 for x in whole)
        and all(isinstance(name, str) and name in names for name in columns)
        and (not fitted["protection"] or fitted["protection"].protect in ("separate", "together"))
    )
    if not sound:
        raise InputError("The account of the fit does not go with the model.")
