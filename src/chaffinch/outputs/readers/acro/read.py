"""A directory of outputs as ACRO finalised it: every file checked against its checksum, nothing outside the folder touched.

    results.json            version, tool, results {uid: {status, type, properties, files, command, summary, fair, ...}}
    config.json             the rules that ACRO was run with; it has no checksum
    output_0_0.csv ...      what was published
    checksums/<file>.txt    the sha256 of each file

Read are versions 1.0.x. Before 1.0 results do not name their variables (they have no `fair`) and checks have other names; ACRO's own loader
takes its own version alone, so the JSON is read here.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...._base.checks import check_name, check_whole
from ...._base.errors import FileError, InputError, join_names
from ..understood import check_reasons

RESULTS, CONFIG, CHECKSUMS = "results.json", "config.json", "checksums"
STATUSES = ("pass", "review", "fail")
NOT_FOR_RELEASE = "DONT_RELEASE"
"""How ACRO marks results that are for the checker alone, such as the summary of a session."""

MOST_JSON_BYTES = 64 << 20
MOST_TABLE_BYTES = 64 << 20
MOST_FILE_BYTES = 1 << 30
MOST_RESULTS = 10_000

_VERSION = re.compile(r"1\.0(\.\d+)?((a|b|rc|\.dev|\.post|\+)[\w.]+)?")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class UnclearError(InputError):
    """Something of an output that cannot be told from its files."""


def check_clear(*reasons: tuple[object, str]) -> None:
    """Raise UnclearError with the first of some reasons that holds: each is whether it does, and what it says."""
    check_reasons(*reasons, error=UnclearError)


class _FileFaultError(InputError):
    """A file of a result that is missing, was changed or is no table."""


@dataclass(frozen=True)
class AcroFile:
    """A file of a result, checked: its name in the folder, its sha256, and its rows if it is a table."""

    name: str
    sha256: str = field(repr=False)
    rows: tuple[tuple[str, ...], ...] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class AcroResult:
    """One output: `pass`, `review` or `fail` by ACRO or whoever changed it, and what ACRO noted.

    `type` and `method` are such as `table` and `crosstab`. `command` is the line of source that made it, of several lines the first; it is
    parsed, never run. `statbarn` is the class of the last function of a table. `dependent` and `independent` are the variables: values, and then
    rows and columns; or coefficients' names. `properties` has what else it says, such as `mitigation` and `round_base`. `fault` is what is
    amiss with its files, where the folder was read leniently: it then has none.
    """

    uid: str
    status: str
    type: str
    method: str
    files: tuple[AcroFile, ...]
    command: str = field(default="", repr=False)
    summary: str = field(default="", repr=False)
    timestamp: str = field(default="", repr=False)
    comments: tuple[str, ...] = field(default=(), repr=False)
    exception: str = field(default="", repr=False)
    statbarn: str | None = None
    dependent: str | None = field(default=None, repr=False)
    independent: tuple[str, ...] = field(default=(), repr=False)
    properties: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    fault: str = ""

    @property
    def tables(self) -> tuple[AcroFile, ...]:
        """Its files that are tables."""
        return tuple(file for file in self.files if file.rows is not None)


@dataclass(frozen=True)
class AcroDirectory:
    """A directory as ACRO wrote it: its rules (what is absent has ACRO's own default), its outputs, and the uids of those for the checker alone."""

    folder: Path
    version: str
    config: Mapping[str, Any] = field(repr=False)
    results: tuple[AcroResult, ...]
    withheld: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    """Files and folders that belong to no result: they would leave with the folder."""

    @property
    def uids(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(result.uid for result in self.results)

    def __getitem__(self, uid: str) -> AcroResult:
        check_name("ACRO result", uid, self.uids)
        return self.results[self.uids.index(uid)]

    @property
    def threshold(self) -> int:
        """The count below which cells are withheld."""
        return int(self.config.get("safe_threshold", 10))

    @property
    def zeros_withheld(self) -> bool:
        """Whether a withheld cell may be empty: ACRO then turns zeros of suppressed tables into missing numbers, too."""
        return bool(self.config.get("zeros_are_disclosive", True))

    @property
    def round_base(self) -> int:
        """What rounded tables are rounded to, unless they say otherwise."""
        return int(self.config.get("safe_round_base", 5))

    @property
    def blocked_extensions(self) -> tuple[str, ...]:
        """Endings of files that ACRO does not take, in small letters."""
        endings = self.config.get("blocked_extensions", ())
        return (
            tuple(str(ending).lower() for ending in endings)
            if isinstance(endings, list | tuple)
            else ()
        )


def read_acro(folder: str | os.PathLike[str], *, lenient: bool = False) -> AcroDirectory:
    """Return an ACRO directory, checked; InputError or FileError, naming the file, where something is amiss.

    Every file of a result must lie in the folder itself and have the checksum that ACRO wrote. Links are refused. No file is changed.
    `lenient`: a result with a file that is missing, changed or no table has this as its `fault`, and no files; the others are read.
    """
    folder_path = Path(folder)
    if not folder_path.is_dir():
        raise FileError(
            f"No such folder: '{folder_path}'. Name the folder that ACRO's finalise wrote."
        )
    if not (folder_path / RESULTS).exists():
        raise InputError(
            f"'{folder_path}' has no {RESULTS}, so it is no directory of ACRO's.{_instead(folder_path)}"
        )
    raw = _checked_bytes(folder_path, RESULTS, MOST_JSON_BYTES)
    data = json_object(raw, f"'{folder_path / RESULTS}'")
    version = _version(data, folder_path)
    entries: Any = data.get("results")
    n_results = len(entries) if isinstance(entries, dict) else None
    check_reasons(
        (
            n_results is None,
            f"'{folder_path / RESULTS}' must have results by name. Finalise the session again.",
        ),
        (
            (n_results or 0) > MOST_RESULTS,
            f"'{folder_path / RESULTS}' has {n_results} results, over {MOST_RESULTS}.",
        ),
    )
    config = _config(folder_path)
    results = [_result(uid, entry, folder_path, lenient=lenient) for uid, entry in entries.items()]
    withheld = tuple(uid for uid in entries if NOT_FOR_RELEASE in uid)
    shown = tuple(result for result in results if result.uid not in withheld)
    listed_files = {file.get("name") for entry in entries.values() for file in entry["files"]}
    unlisted = tuple(
        sorted(
            entry_path.name
            for entry_path in folder_path.iterdir()
            if entry_path.name not in {RESULTS, CONFIG, CHECKSUMS, *listed_files}
        )
    )
    return AcroDirectory(folder_path, version, config, shown, withheld, unlisted)


def json_object(raw: bytes, what: str) -> dict[str, Any]:
    """Return the object in some JSON; InputError if it is none, or names a key twice."""
    try:
        data = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_once)
    except UnicodeDecodeError:
        raise InputError(f"{what} is not UTF-8, which JSON is.") from None
    except (ValueError, RecursionError) as error:
        reason = (str(error).splitlines() or ["it cannot be parsed"])[0].rstrip(".")
        raise InputError(f"{what} is not valid JSON: {reason}.") from None
    if not isinstance(data, dict):
        raise InputError(f"{what} must hold an object, with keys.")
    return data


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raise FileError for what the system refuses while a file is read."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"Cannot read '{path}': {error.strerror or 'the system refused'}."
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a key stands in it twice")
    return mapping


def _instead(folder: Path) -> str:
    """What a folder without results is, by what else it has."""
    hints = {
        "results.xlsx": ' It has results.xlsx: finalise the session as "json".',
        "evidence.json": " It has the evidence of a federated session, which has no results.",
    }
    return next((hint for name, hint in hints.items() if (folder / name).exists()), "")


def _version(data: Mapping[str, Any], folder: Path) -> str:
    version, tool = data.get("version"), data.get("tool")
    name = tool.get("name") if isinstance(tool, dict) else None
    if not isinstance(version, str) or (name is not None and name != "ACRO"):
        raise InputError(f"'{folder / RESULTS}' must say which version of ACRO wrote it.")
    if not _VERSION.fullmatch(version):
        older = (
            " Before 1.0 results do not name their variables." if version.startswith("0.") else ""
        )
        raise InputError(
            f"'{folder / RESULTS}' was written by ACRO {version[:20]}; this release reads 1.0.{older} Run the session with ACRO 1.0, or describe "
            "the outputs in a file of their own."
        )
    return version


def _config(folder: Path) -> Mapping[str, Any]:
    if not (folder / CONFIG).exists():
        raise InputError(
            f"'{folder}' has no {CONFIG}: the rules that ACRO was run with are needed."
        )
    raw = _bytes(folder, CONFIG, MOST_JSON_BYTES)
    if (folder / CHECKSUMS / f"{CONFIG}.txt").exists():  # ACRO 1.0.2 writes none
        _compare(folder, CONFIG, hashlib.sha256(raw).hexdigest())
    config = json_object(raw, f"'{folder / CONFIG}'")
    for key in ("safe_threshold", "safe_round_base"):
        check_whole(f"'{folder / CONFIG}': {key}", config.get(key, 1), 1)
    return MappingProxyType(config)


def _result(uid: str, entry: object, folder: Path, *, lenient: bool) -> AcroResult:
    what = f"'{folder / RESULTS}', result '{uid}'"
    if not isinstance(entry, dict):
        raise InputError(f"{what} must be an object, with keys.")
    if missing := [key for key in ("uid", "status", "type", "files") if key not in entry]:
        raise InputError(f"{what} lacks {join_names(missing)}.")
    texts = {
        key: entry.get(key) or ""
        for key in ("type", "command", "summary", "timestamp", "exception")
    }
    files, comments = entry["files"], entry.get("comments") or []
    if entry["uid"] != uid:
        raise InputError(f"{what} must have its own name as uid.")
    check_name("status", entry["status"], STATUSES, prefix=f"{what}: ")
    wrong = next((key for key, text in texts.items() if not isinstance(text, str)), None)
    is_list = isinstance(files, list) and all(isinstance(file, dict) for file in files)
    check_reasons(
        (not is_list, f"{what} must have a list of files."),
        (wrong, f"{what}: its {wrong} must be words."),
        (not isinstance(comments, list), f"{what} must have a list of comments."),
    )
    fair, properties = (
        section if isinstance(section := entry.get(key), dict) else {}
        for key in ("fair", "properties")
    )
    independent = fair.get("independent")
    try:
        checked, fault = tuple(_file(file.get("name"), folder, what) for file in files), ""
    except _FileFaultError as error:
        if not lenient:
            raise
        checked, fault = (), str(error)
    return AcroResult(
        uid=uid,
        status=entry["status"],
        method=str(properties.get("method", "")),
        files=checked,
        comments=tuple(str(comment) for comment in comments),
        statbarn=_word(fair.get("statbarn")),
        dependent=_word(fair.get("dependent")),
        independent=tuple(map(str, independent)) if isinstance(independent, list) else (),
        properties=MappingProxyType(properties),
        fault=fault,
        **texts,
    )


def _word(text: object) -> str | None:
    return text if isinstance(text, str) and text not in ("", "unknown", "none") else None


def _file(name: object, folder: Path, what: str) -> AcroFile:
    if (
        not isinstance(name, str)
        or not name
        or name in (".", "..")
        or any(sign in name for sign in "/\\\0")
    ):
        raise InputError(
            f"{what} names a file that is not in its folder: names may have no path. Nothing was read."
        )
    if name.lower().endswith(".csv"):
        raw = _checked_bytes(folder, name, MOST_TABLE_BYTES)
        return AcroFile(name, hashlib.sha256(raw).hexdigest(), _rows(raw, folder / name))
    path = _inside(folder, name, MOST_FILE_BYTES)
    with reading(path), open(path, "rb") as handle:
        sha256 = hashlib.file_digest(handle, "sha256").hexdigest()
    _compare(folder, name, sha256)
    return AcroFile(name, sha256)


def _rows(raw: bytes, path: Path) -> tuple[tuple[str, ...], ...]:
    try:
        return tuple(
            tuple(row)
            for row in csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True)
        )
    except (UnicodeDecodeError, csv.Error):
        raise _FileFaultError(
            f"'{path}' is not a table that can be read: it must be CSV in UTF-8."
        ) from None


def _inside(folder: Path, name: str, max_bytes: int) -> Path:
    """The path of a plain file of the folder, not too large."""
    path = folder / name
    with reading(path):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise InputError(
                f"'{path}' must be a file of the folder itself, no link. Nothing was read."
            )
        if not path.exists():
            raise _FileFaultError(
                f"'{path}' is missing, though the directory lists it. Finalise the session again."
            )
        size = path.stat().st_size
    if size > max_bytes:
        raise InputError(f"'{path}' is over {max_bytes >> 20} MiB, more than is read of one file.")
    return path


def _bytes(folder: Path, name: str, max_bytes: int) -> bytes:
    path = _inside(folder, name, max_bytes)
    with reading(path):
        return path.read_bytes()


def _checked_bytes(folder: Path, name: str, max_bytes: int) -> bytes:
    """A file's bytes, those that were checked: it is read once."""
    raw = _bytes(folder, name, max_bytes)
    _compare(folder, name, hashlib.sha256(raw).hexdigest())
    return raw


def _compare(folder: Path, name: str, sha256: str) -> None:
    path = folder / CHECKSUMS / f"{name}.txt"
    if (folder / CHECKSUMS).is_symlink() or not path.exists():
        raise _FileFaultError(
            f"'{folder / name}' has no checksum, {CHECKSUMS}/{name}.txt. Finalise the session again."
        )
    text = _bytes(folder / CHECKSUMS, path.name, 4096).decode("ascii", "replace").strip().lower()
    if not _SHA256.fullmatch(text) or text != sha256:
        raise _FileFaultError(
            f"'{folder / name}' does not have the checksum in {CHECKSUMS}/{name}.txt: one of them was changed after ACRO wrote them. "
            "Finalise the session again."
        )
