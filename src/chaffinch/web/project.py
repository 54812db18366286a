"""A project: one folder of plain files, readable by its owner alone, that holds everything the page knows.

    project.toml      what was chosen: the file, the holdout, limits, the promise
    schema.toml       what columns are: kinds, roles, what becomes of those that say who somebody is
    columns.json      what was understood of the file, small counts hidden
    runs/0001/        a run: its choices as they were, the command, how far it is, what it said and what it wrote
    decisions/0001/   what was decided, with the table and its page where it may leave

The page may be closed, killed and opened again: nothing is held anywhere else. `Places` says which files of the computer it may read: those in folders that were
opened from the terminal, and nothing that a link leads out to.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from .._base.documents import check_head, parse_document, toml_value, validate_document
from .._base.errors import FileError
from .._base.files import read_small, write_text

FORMAT, VERSION = "chaffinch-project", 1
HEAD = frozenset(("format", "version", "declared"))
"""Keys of a project that are no choices; `declared` is of earlier releases, which followed a schema only where it was edited."""

MOST = 4 << 20
FOUND = "look/found.json"
"""What a look at the file found, in the folder of a project."""

READING = ("encoding", "delimiter", "decimal")
"""Choices of how a text file is read."""


Names = Annotated[tuple[str, ...], Field(strict=False)]


class ProjectChoices(BaseModel, frozen=True, extra="forbid", strict=True):
    """What a project's runs are made with. Roles of columns stand in the schema.

    Parameters
    ----------
    source, holdout
        The table, and people who are not in it.
    encoding, delimiter, decimal
        How a text file is read, where that is said.
    max_excess
        The limit: how much more an attacker may learn of people in the table than of others.
    epsilon, delta, domain, ledger
        The promise, the schema that declares the domain for it (what is not declared is found with noise), and the project ledger that it is
        charged to.
    require, forbid
        Edges of the network that must be or must not be, as PARENT:CHILD.
    attackers
        Who attacks, by name, group or kind; the default ones where none is named.
    thorough
        Whether everything is measured, in ten times the time.
    seed
        For results that can be had again.
    second
        Whether an approval needs a second name.
    options, check_options
        Other options of runs and of checks, as NAME=TEXT.
    """

    source: str = ""
    holdout: str = ""
    encoding: str = ""
    delimiter: str = ""
    decimal: str = ""
    max_excess: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    domain: str = ""
    ledger: str = ""
    require: Names = ()
    forbid: Names = ()
    attackers: Names = ()
    thorough: bool = False
    seed: int | None = None
    second: bool = False
    options: Names = ()
    check_options: Names = ()


def as_toml(choices: ProjectChoices) -> str:
    """Return choices as TOML; what was not chosen is left out."""
    lines = [
        "# What was chosen in `chaffinch open`. Roles of columns stand in schema.toml.",
        f'format = "{FORMAT}"',
        f"version = {VERSION}",
    ]
    chosen = choices.model_dump(exclude_defaults=True)
    lines += [f"{name} = {toml_value(value)}" for name, value in chosen.items()]
    return "\n".join(lines) + "\n"


def _choices_from(text: str, name: str) -> ProjectChoices:
    data = parse_document(text, name)
    check_head(data, f"'{name}'", what="project", format_=FORMAT, version=VERSION)
    chosen = {key: value for key, value in data.items() if key not in HEAD}
    return validate_document(ProjectChoices, chosen, f"'{name}'")


@dataclass(frozen=True)
class ProjectFolder:
    """The folder of a project."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> ProjectFolder:
        """Return the project in a folder, which is made if need be, for its owner alone.

        Raises
        ------
        FileError
            If the folder belongs to something else, or cannot be made.
        """
        new = not folder.exists()
        try:
            if not new and hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
                raise FileError(
                    f"'{folder}' belongs to another user of this computer. Copy it, or name a new folder: --project FOLDER."
                )
            folder.mkdir(mode=0o700, parents=False, exist_ok=True)
            if not new and not (folder / "project.toml").exists() and any(folder.iterdir()):
                raise FileError(
                    f"'{folder}' has files and is no project. Name a new folder: --project FOLDER."
                )
            folder.chmod(0o700)
            for name in ("runs", "decisions", "look"):
                if (folder / name).is_symlink():
                    raise FileError(
                        f"'{folder / name}' is a link, which no project of Chaffinch has. Remove it, or name a new folder: --project FOLDER."
                    )
            for name in ("runs", "decisions"):
                (folder / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError(
                f"Cannot make '{folder}': {error.strerror or 'the system refused'}. Name another: --project FOLDER."
            ) from None
        project = cls(folder.resolve())
        if not project.path("project.toml").exists():
            project.save(ProjectChoices())
        project.choices()
        return project

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the project while its page is served: two pages would start runs and number decisions beside each other."""
        try:
            import fcntl
        except ImportError:  # not on this system
            yield
            return
        with open(
            os.open(self.path("page.lock"), os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600), "r+"
        ) as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FileError(
                    f"The page of '{self.folder}' is open already. Go to the address that it printed, or stop it with Ctrl-C in its terminal first."
                ) from None
            yield

    def path(self, *names: str) -> Path:
        """Return the path of a file in the folder."""
        return self.folder.joinpath(*names)

    def choices(self) -> ProjectChoices:
        """Return what was chosen."""
        path = self.path("project.toml")
        return _choices_from(
            read_small(
                path, what="project", max_bytes=MOST, next_step="`chaffinch open` makes one."
            ),
            str(path),
        )

    def save(self, choices: ProjectChoices) -> None:
        """Keep what was chosen."""
        write_private(self.path("project.toml"), as_toml(choices))

    def change(self, **changes: Any) -> ProjectChoices:
        """Change some choices, and return all."""
        changed = self.choices().model_copy(update=changes)
        self.save(changed)
        return changed

    def schema_text(self) -> str:
        """Return the schema as it is written; empty where there is none yet."""
        path = self.path("schema.toml")
        return (
            read_small(path, what="schema", max_bytes=MOST, next_step="Open a file first.")
            if path.exists()
            else ""
        )

    def columns(self) -> dict[str, Any] | None:
        """Return what was understood of the file; None before it was looked at."""
        return read_json(self.path("columns.json"))

    def adopt(self) -> None:
        """Take over what a look at the file found, where that is new: roles and decisions made while only first rows were known are kept."""
        known = self.columns()
        if known is not None and not known.get("part"):
            return
        look = read_json(self.path(FOUND))
        if look is None or (known is not None and look.get("part")):
            return
        choices = self.choices()
        if look.get("source") != choices.source or look.get("options") != {
            name: word for name in READING if (word := getattr(choices, name))
        }:
            return
        text, before = str(look.get("schema", "")), self.stamp()
        if known is not None:
            from .commands import with_choices

            text = with_choices(text, self.schema_text(), str(known.get("schema", "")))
        write_private(self.path("schema.toml"), text)
        write_json(self.path("columns.json"), {**look, "before": before})

    def stamp(self) -> str:
        """Return what tells this state of choices and schema from all others."""
        return _stamp(self.path("project.toml"), self.path("schema.toml"))

    def decisions_stamp(self) -> str:
        """Return what tells this state of decisions from all others."""
        return _stamp(*sorted(self.path("decisions").glob("*/decision.json")))

    def use_again(self, folder: Path) -> None:
        """Go back to the choices that a run was made with."""
        for name in ("project.toml", "schema.toml", "columns.json"):
            if (stored := folder / name).exists():
                write_private(self.path(name), stored.read_text("utf-8"))

    def next_folder(self, kind: str) -> Path:
        """Make and return the folder of the next run or decision, by a number of its own."""
        root = self.path(kind)
        number = max((int(path.name) for path in root.iterdir() if path.name.isdigit()), default=0)
        while True:
            number += 1
            try:
                (folder := root / f"{number:04d}").mkdir(mode=0o700)
            except FileExistsError:
                continue
            return folder


def _stamp(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.parent.name}/{path.name}:".encode("utf-8", "surrogatepass"))
        digest.update(hashlib.sha256(path.read_bytes()).digest() if path.exists() else b"-")
    return digest.hexdigest()[:24]


def read_json(path: Path) -> dict[str, Any] | None:
    """Return a small JSON file; None where there is none, or it is not whole."""
    try:
        data = json.loads(path.read_text("utf-8")) if path.stat().st_size <= 256 << 20 else None
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def write_private(path: Path, text: str) -> None:
    """Write a text for the owner alone, wholly or not at all."""
    write_text(path, text, mode=0o600, overwrite=True)


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write plain data for the owner alone, wholly or not at all."""
    write_private(path, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def default_folder(opened: Path) -> Path:
    """Return where a project goes unless somebody says it: beside what was opened where that can be written to, else here."""
    folder = opened if opened.is_dir() else opened.parent
    return (folder if os.access(folder, os.W_OK) else Path.cwd()) / "chaffinch-project"


MOST_LISTED = 500
"""Files and folders that a listing shows."""


@dataclass(frozen=True)
class FolderListing:
    """What stands in a folder: folders and files by name, and how many more there are than are shown."""

    folder: Path
    above: Path | None
    folders: tuple[str, ...]
    files: tuple[str, ...]
    more: int = 0


@dataclass(frozen=True)
class Places:
    """Folders that were opened; a path is inside where it lies below one of them once all links are followed."""

    folders: tuple[Path, ...]

    def inside(self, text: str) -> Path:
        """Return the path that somebody typed, with all links followed.

        Raises
        ------
        FileError
            If it lies outside the folders, or is not there.
        """
        if not text or "\0" in text or len(text) > 4096:
            raise FileError("Name a file: its path on this computer.")
        try:
            asked = Path(text).expanduser()
            path = (asked if asked.is_absolute() else self.folders[0] / asked).resolve()
        except (OSError, RuntimeError, ValueError):
            raise FileError("This path cannot be followed. Name the file itself.") from None
        if not any(path == folder or folder in path.parents for folder in self.folders):
            raise FileError(
                f"'{text}' is outside the folders that were opened. Start the page with its folder: chaffinch open FOLDER."
            )
        if not os.path.exists(path):  # Path.exists raises for a name that is too long
            raise FileError(f"No such file: '{text}'.")
        return path

    def still(self, text: str) -> Path:
        """Return a path that was found inside before; raise where it leads elsewhere by now, as through a link that took its place."""
        path = self.inside(text)
        if str(path) != text:
            raise FileError(
                f"'{text}' is a link by now, and was none when it was chosen. Choose the file again."
            )
        return path

    def listing(self, text: str = "") -> FolderListing:
        """Return what stands in a folder, the first that was opened unless one is named; hidden files and links that lead out are left out."""
        folder = self.inside(text) if text else self.folders[0]
        if not folder.is_dir():
            folder = folder.parent
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or (
                        entry.is_symlink() and not self._leads_inside(entry.path)
                    ):
                        continue
                    (folders if entry.is_dir() else files).append(entry.name)
        except OSError as error:
            raise FileError(
                f"Cannot list '{folder}': {error.strerror or 'the system refused'}."
            ) from None
        above = folder.parent if any(root in folder.parents for root in self.folders) else None
        more = max(len(folders) - MOST_LISTED, 0) + max(len(files) - MOST_LISTED, 0)
        return FolderListing(
            folder,
            above,
            tuple(sorted(folders)[:MOST_LISTED]),
            tuple(sorted(files)[:MOST_LISTED]),
            more,
        )

    def _leads_inside(self, path: str) -> bool:
        try:
            self.inside(path)
        except FileError:
            return False
        return True
