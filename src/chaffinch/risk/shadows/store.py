"""Finished shadows on disk: arrays in open files, so that a killed run goes on where it stopped.

A folder holds `shadows.json` (what the shadows are of, as a fingerprint, and their seed) and for each part two files of arrays, written
beside and renamed into place. The tables in it are synthetic, yet a model without a promise may have copied records: the folder is the
owner's alone and its files are as confidential as the data.
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
import weakref
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import FileError, InputError
from ..._base.safe_files import replacing, write_text
from ..._base.seeds import Seed, seed_sequence

__all__ = ["ShadowPart", "Store", "stored_seed"]

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


class Store:
    """A folder of finished shadows: one that was named, kept; or a temporary one, removed when nobody needs it any more."""

    def __init__(self, folder: Path | None, fingerprint: str) -> None:
        self.temporary = folder is None
        if folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="chaffinch-shadows-"))
            self._cleaner = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        else:
            self.folder = _made(folder)
        self._check(fingerprint)

    def leave(self) -> Path:
        """Keep the folder, temporary or not, and return it."""
        if self.temporary:
            self._cleaner.detach()
        return self.folder

    def _check(self, fingerprint: str) -> None:
        about = _about(self.folder)
        own = about.get("fingerprint")
        if own is None:
            write_text(self.folder / ABOUT, json.dumps({**about, "fingerprint": fingerprint}), mode=0o600)
        elif own != fingerprint:
            raise InputError(
                f"The folder '{self.folder}' holds shadows of other data or other settings. Name another, or delete it."
            )

    def add(self, part: ShadowPart) -> None:
        """Write a part; it is there when its second file is."""
        name = f"{int(part.ids[0]):07d}-{secrets.token_hex(3)}"
        with self._new(f"codes-{name}.npy") as path, open(path, "wb") as handle:
            np.save(handle, part.codes)
        seen = {key: value for key in ("nodes", "cells", "values") if (value := getattr(part, key)) is not None}
        with self._new(f"shadows-{name}.npz") as path, open(path, "wb") as handle:
            np.savez(handle, ids=part.ids, **seen)

    def _new(self, name: str) -> AbstractContextManager[Path]:
        # Waiting for the disk takes longer than some fits: a folder that nobody will open again need not outlive a power cut.
        return nullcontext(self.folder / name) if self.temporary else replacing(self.folder / name, mode=0o600)

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
        number = seed if isinstance(seed, int) else int(seed_sequence(seed).generate_state(1, np.uint64)[0])
        about["seed"] = number
        write_text(path / ABOUT, json.dumps(about), mode=0o600)
    return int(about["seed"]) if seed is None else seed


def _made(folder: Path) -> Path:
    """Return the folder for shadows, which is the owner's alone; make it if need be."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise FileError(f"Cannot keep shadows in '{path}': it is a file. Name a folder.")
    if path.is_dir() and any(path.iterdir()) and not (path / ABOUT).exists():
        raise FileError(f"Cannot keep shadows in '{path}': it holds other files. Name an empty folder or one with shadows.")
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise FileError(f"Cannot make the folder '{path}': {error.strerror or 'the system refused'}.") from error
    return path


def _about(folder: Path) -> dict[str, Any]:
    path = folder / ABOUT
    if not path.exists():
        return {}
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"The file '{path}' is damaged. Delete the folder to begin anew.") from error
    if not isinstance(facts, dict):
        raise FileError(f"The file '{path}' is not about shadows. Name another folder.")
    return facts
