"""Finished shadows on disk: arrays in open files, so that a killed run goes on where it stopped.

A folder holds `shadows.json` (what the shadows are of, as a fingerprint, and their seed) and for each part two files of arrays, written
beside and renamed into place. The tables in it are synthetic, yet a model without a promise may have copied records: the folder is the
owner's alone and its files are as confidential as the data. Where no folder is named, tables go to a file without a name, which the system takes
back however the process ends, killed or not.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import FileError, InputError
from ..._base.files import replacing, write_text
from ..._base.seeds import Seed, seed_sequence

ABOUT = "shadows.json"


@dataclass(frozen=True, eq=False)
class ShadowPart:
    """Some shadows: their numbers, codes (shadows, tables, rows, columns), and what was seen of their models and values, if anything.

    `nodes`, `cells`: of models. `values`: of released values, (shadows, tables, targets, features).
    """

    ids: NDArray[np.int64]
    codes: NDArray[Any]
    nodes: NDArray[np.float32] | None = None
    cells: NDArray[np.float32] | None = None
    values: NDArray[np.float32] | None = None


class Store(Protocol):
    """Where finished shadows are."""

    def add(self, part: ShadowPart) -> None:
        """Add a part."""
        ...

    def parts(self) -> list[ShadowPart]:
        """Return what is there; codes stay on disk until they are looked at."""
        ...

    def leave(self) -> Path:
        """Return a folder with what is there, to go on from in another run."""
        ...


def store_for(folder: Path | None, fingerprint: str) -> Store:
    """Return the store in a folder, or one that nobody else can open and that ends with its run."""
    return UnnamedStore(fingerprint) if folder is None else FolderStore(folder, fingerprint)


class UnnamedStore:
    """Shadows in a file without a name (where the system has such; else one that is deleted when it is closed)."""

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        self._file = tempfile.TemporaryFile(prefix="chaffinch-shadows-")  # noqa: SIM115 (it lives as long as the store)
        self._parts: list[ShadowPart] = []

    def add(self, part: ShadowPart) -> None:
        """Add a part; its codes go to the file."""
        codes = np.ascontiguousarray(part.codes)
        offset = self._file.seek(0, 2)
        self._file.write(codes.tobytes())
        self._file.flush()
        mapped = (
            np.memmap(self._file, codes.dtype, "r", offset, codes.shape) if codes.size else codes
        )
        self._parts.append(replace(part, codes=mapped))

    def parts(self) -> list[ShadowPart]:
        """Return what is there; codes stay on disk until they are looked at."""
        return list(self._parts)

    def leave(self) -> Path:
        """Return a folder, the owner's alone, that what is there was written to."""
        store = FolderStore(Path(tempfile.mkdtemp(prefix="chaffinch-shadows-")), self._fingerprint)
        for part in self._parts:
            store.add(part)
        return store.folder


class FolderStore:
    """A folder of finished shadows that was named: it is kept."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = _made(folder)
        self._check(fingerprint)

    def leave(self) -> Path:
        """Return the folder."""
        return self.folder

    def _check(self, fingerprint: str) -> None:
        about = _about(self.folder)
        own = about.get("fingerprint")
        if own is None:
            write_text(
                self.folder / ABOUT,
                json.dumps({**about, "fingerprint": fingerprint}),
                mode=0o600,
                overwrite=True,
            )
        elif own != fingerprint:
            raise InputError(
                f"The folder '{self.folder}' holds shadows of other data or other settings. Name another, or delete it."
            )

    def add(self, part: ShadowPart) -> None:
        """Write a part; it is there when its second file is."""
        name = f"{int(part.ids[0]):07d}-{secrets.token_hex(3)}"
        with (
            replacing(self.folder / f"codes-{name}.npy", mode=0o600) as path,
            open(path, "wb") as handle,
        ):
            np.save(handle, part.codes)
        seen = {
            key: value
            for key in ("nodes", "cells", "values")
            if (value := getattr(part, key)) is not None
        }
        with (
            replacing(self.folder / f"shadows-{name}.npz", mode=0o600) as path,
            open(path, "wb") as handle,
        ):
            np.savez(handle, ids=part.ids, **seen)

    def parts(self) -> list[ShadowPart]:
        """Return what is there; codes stay on disk until they are looked at. Files are arrays of numbers: numpy loads no objects unless told to."""
        out = []
        for path in sorted(self.folder.glob("shadows-*.npz")):
            codes = path.with_name("codes-" + path.stem.removeprefix("shadows-") + ".npy")
            try:
                with np.load(path) as archive:
                    seen = {key: archive[key] for key in archive.files}
                out.append(ShadowPart(seen.pop("ids"), np.load(codes, mmap_mode="r"), **seen))
            except (OSError, ValueError, KeyError, EOFError) as error:
                raise FileError(
                    f"The file '{path.name}' in '{self.folder}' is damaged. Delete it: its shadows are fitted again."
                ) from error
        return out


def stored_seed(folder: Path | None, seed: Seed) -> Seed:
    """Return the seed of the shadows in a folder where none is given, so that a run without a seed can be resumed too."""
    if folder is None:
        return seed
    path = _made(folder)
    about = _about(path)
    if "seed" not in about:
        number = (
            seed
            if isinstance(seed, int)
            else int(seed_sequence(seed).generate_state(1, np.uint64)[0])
        )
        about["seed"] = number
        write_text(path / ABOUT, json.dumps(about), mode=0o600, overwrite=True)
    return int(about["seed"]) if seed is None else seed


def _made(folder: Path) -> Path:
    """Return the folder for shadows, which is the owner's alone; make it if need be."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise FileError(f"Cannot keep shadows in '{path}': it is a file. Name a folder.")
    if path.is_dir() and any(path.iterdir()) and not (path / ABOUT).exists():
        raise FileError(
            f"Cannot keep shadows in '{path}': it holds other files. Name an empty folder or one with shadows."
        )
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"Cannot make the folder '{path}': {error.strerror or 'the system refused'}."
        ) from error
    return path


def _about(folder: Path) -> dict[str, Any]:
    path = folder / ABOUT
    if not path.exists():
        return {}
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(
            f"The file '{path}' is damaged. Delete the folder to begin anew."
        ) from error
    if not isinstance(facts, dict):
        raise FileError(f"The file '{path}' is not about shadows. Name another folder.")
    return facts
