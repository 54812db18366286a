"""Opening a model: a file by what is in it, whatever its name, or an object, and without running anything of a file.

A pickle (joblib's too) runs what its writer wants when it is opened, so it is refused by its first bytes, whatever is registered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..._base.errors import FileError, InputError
from ..._base.files import replacing
from ..tree import Ensemble
from .format import TREE_FORMATS, ModelFile, OpenedModel
from .plain import plain_ensemble

MOST_BYTES = 1 << 30


def as_opened(model: Any, *, features: Sequence[str] | None = None) -> OpenedModel:
    """Return a model that was given as a path, as an object of a library, as plain trees, or opened already."""
    if isinstance(model, OpenedModel):
        return model
    if isinstance(model, Ensemble):
        return OpenedModel("trees", model)
    if isinstance(model, str | os.PathLike):
        return open_model(model)
    for form in TREE_FORMATS:
        if form.accepts is not None and form.trees is not None and form.accepts(model):
            return OpenedModel(
                form.name, form.trees(model, features), model if form.rebuild else None
            )
    raise InputError(
        f"A model of scikit-learn is needed, plain trees, or the path of a file. Got {type(model).__name__} of "
        f"{type(model).__module__.split('.')[0]}."
    )


def open_model(path: str | os.PathLike[str]) -> OpenedModel:
    """Return the model in a file, whatever the file is called; raise a clear error for a file that is none."""
    file = Path(path)
    content = ModelFile(_bytes_of(file), str(file))
    data = content.data
    if _is_packed(data) or (data[:1] == b"\x80" and data[1:2] <= b"\x05") or _old_pickle(data):
        raise FileError(
            f"'{file}' is a pickle (joblib writes them too), or packed like one. Opening it would run whatever its writer wants, so it is "
            'not read. Save the model with skops: skops.io.dump(model, "model.skops").'
        )
    for form in TREE_FORMATS:
        if form.recognise is not None and form.read is not None and form.recognise(content):
            return form.read(content)
    if content.is_json:
        plain_ensemble(content.json, name=content.name)  # says what our own form needs
    titles = [form.title for form in TREE_FORMATS if form.read is not None]
    raise FileError(f"'{file}' is no model that is read here: {', '.join(titles)}.")


def write_model(
    path: str | os.PathLike[str],
    ensemble: Ensemble,
    model: Any = None,
    *,
    check: Callable[[Path], None] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a model, wholly or not at all, in the format that the name ends in: scikit-learn's own model as .skops, plain trees as .json.

    A file that is there is refused unless `overwrite`. `check` is called with the file while it still has another name: if it raises, there is no file.
    """
    writers = {form.ending: form.write for form in TREE_FORMATS if form.ending and form.write}
    ending = Path(path).suffix.lower()
    if ending not in writers:
        raise InputError(
            f"The name of the output must end in {' or '.join(writers)}. Got '{Path(path).name}'."
        )
    data = writers[ending](ensemble, model)
    with replacing(path, overwrite=overwrite) as temporary_path:
        temporary_path.write_bytes(data)
        if check is not None:
            check(temporary_path)


def _bytes_of(file: Path) -> bytes:
    try:
        if (size := file.stat().st_size) > MOST_BYTES:
            raise FileError(
                f"'{file}' is larger than the {MOST_BYTES >> 30} GB that a model may have."
            )
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


def _is_packed(data: bytes) -> bool:
    """Whether the bytes are packed as joblib packs its pickles: zlib, gzip, bzip2, xz, lzma, lz4."""
    return data.startswith(
        (
            b"\x78\x01",
            b"\x78\x5e",
            b"\x78\x9c",
            b"\x78\xda",
            b"\x1f\x8b",
            b"BZh",
            b"\xfd7zXZ",
            b"]\x00\x00",
            b"\x04\x22\x4d\x18",
        )
    )


def _old_pickle(data: bytes) -> bool:
    """Whether the bytes look like a pickle of protocol 0 or 1: it ends in a dot, and starts as an object or a global does."""
    return data[:1] in b"c(]}" and data.rstrip().endswith(b".") and data.lstrip()[:1] not in b"{["
