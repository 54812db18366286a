"""Opening the file of a model: by what is in it, whatever its name, and without running anything of it.

Read are skops files of scikit-learn's trees, our plain JSON, ONNX, and what XGBoost and LightGBM write as JSON or text. A pickle (joblib's too) runs what its writer wants when it is
opened, so it is refused by its first bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..._base.errors import FileError, InputError
from ..._base.safe_files import replacing
from ..tree import Ensemble
from .dumps import read_lightgbm, read_xgboost
from .from_sklearn import read_model
from .onnx_trees import onnx_ensemble
from .plain import FORMAT, plain_ensemble, plain_text, strict_json
from .skops_files import dumped, loaded

__all__ = ["OpenedModel", "open_model", "write_model"]

MOST_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """A model from a file: its trees, and for skops files the model of scikit-learn itself, which alone can be pruned in place."""

    form: Literal["skops", "json", "onnx", "xgboost", "lightgbm"]
    ensemble: Ensemble
    model: Any = None


def open_model(path: str | os.PathLike[str]) -> OpenedModel:
    """Return the model in a file, whatever the file is called; raise a clear error for a file that is none."""
    file = Path(path)
    data = _bytes_of(file)
    head = data.lstrip()[:1]
    if data[:2] in (b"PK",) and data[2:4] in (b"\x03\x04", b"\x05\x06"):
        model = loaded(data, name=str(file))
        return OpenedModel("skops", _trees_of(model, str(file)), model)
    if _packed(data) or (data[:1] == b"\x80" and data[1:2] <= b"\x05") or _old_pickle(data):
        raise FileError(
            f"'{file}' is a pickle (joblib writes them too), or packed like one. Opening it would run whatever its writer wants, so it is "
            'not read. Save the model with skops: skops.io.dump(model, "model.skops").'
        )
    if head in (b"{", b"["):
        return _of_json(data, str(file))
    if data.lstrip()[:5] in (b"tree\n", b"tree\r"):
        return OpenedModel("lightgbm", _dumped(read_lightgbm, _text(data, str(file)), str(file)))
    if data[:1] == b"\x08":  # the version of ONNX, its first entry
        return OpenedModel("onnx", onnx_ensemble(data, name=str(file)))
    raise FileError(
        f"'{file}' is no model that is read here: skops, JSON of the form {FORMAT}, ONNX, or a dump of XGBoost or LightGBM."
    )


def write_model(
    path: str | os.PathLike[str], ensemble: Ensemble, model: Any = None, *, check: Callable[[Path], None] | None = None
) -> None:
    """Write a model, wholly or not at all: as skops where the name ends so (scikit-learn's model is needed), as plain JSON for .json.

    `check` is called with the file while it still has another name: if it raises, there is no file.
    """
    ending = Path(path).suffix.lower()
    if ending not in (".skops", ".json"):
        raise InputError(f"The name of the output must end in .skops or .json. Got '{Path(path).name}'.")
    if ending == ".skops" and model is None:
        raise InputError("Only a model of scikit-learn can be written as skops. Name a file that ends in .json.")
    data = dumped(model) if ending == ".skops" else plain_text(ensemble).encode("utf-8")
    with replacing(path) as part:
        part.write_bytes(data)
        if check is not None:
            check(part)


def _bytes_of(file: Path) -> bytes:
    try:
        if (size := file.stat().st_size) > MOST_BYTES:
            raise FileError(f"'{file}' is larger than the {MOST_BYTES >> 30} GB that a model may have.")
        data = file.read_bytes()
    except FileNotFoundError:
        raise FileError(f"No such file: '{file}'.") from None
    except IsADirectoryError:
        raise FileError(f"'{file}' is a folder. Name a file.") from None
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"Cannot read '{file}': {error.strerror}.") from error
    if not size or not data:
        raise FileError(f"'{file}' is empty. A model file is needed.")
    return data


def _of_json(data: bytes, name: str) -> OpenedModel:
    """A model in JSON, whoever wrote it."""
    found = strict_json(data, name=name)
    if isinstance(found, dict) and "tree_info" in found:
        return OpenedModel("lightgbm", _dumped(read_lightgbm, found, name))
    first = found[0] if isinstance(found, list) and found else found
    if isinstance(first, dict) and ("learner" in first or "nodeid" in first):
        return OpenedModel("xgboost", _dumped(read_xgboost, found, name))
    return OpenedModel("json", plain_ensemble(found, name=name))


def _dumped(read: Callable[[Any], Ensemble], held: Any, name: str) -> Ensemble:
    try:
        return read(held)
    except (InputError, RecursionError, MemoryError) as error:
        why = str(error) if isinstance(error, InputError) else "It is nested without end."
        raise FileError(f"'{name}' cannot be read as trees. {why}") from None


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileError(f"'{name}' is not sound text: it is damaged or of another format.") from None


def _packed(data: bytes) -> bool:
    """Whether the bytes are packed as joblib packs its pickles: zlib, gzip, bzip2, xz, lzma, lz4."""
    return data.startswith((b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"]\x00\x00", b"\x04\x22\x4d\x18"))  # fmt: skip


def _old_pickle(data: bytes) -> bool:
    """Whether the bytes look like a pickle of protocol 0 or 1: it ends in a dot, and starts as an object or a global does."""
    return data[:1] in b"c(]}" and data.rstrip().endswith(b".") and data.lstrip()[:1] not in b"{["


def _trees_of(model: Any, name: str) -> Ensemble:
    try:
        return read_model(model)
    except InputError as error:
        raise FileError(f"'{name}' is no model that can be audited. {error}") from None
    except Exception:  # attributes of a hostile file may be anything
        raise FileError(f"'{name}' is damaged: the parts of its model do not fit together.") from None
