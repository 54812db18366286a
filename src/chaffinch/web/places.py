"""Which files the page may read: those in folders that were opened from the terminal, and nothing that a link leads out to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .._base.errors import FileError

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
