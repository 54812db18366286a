"""Tables by address: reading from an address or a folder, and writing there atomically."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._base.errors import ChaffinchError, FileError, InputError
from .._base.files import may_overwrite
from .jobs import in_our_words, reason, translate_error

MANIFEST = "_chaffinch.json"
"""The file that says that a folder of rows is ours, and may be replaced; readers of Parquet folders
pass over names that begin so.
"""

MAX_FILES = 10_000
"""Files of a folder whose columns are compared one by one, at most: beyond, evenly chosen ones."""

_ADDRESS = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):/")
_FORMATS = {
    ".csv": ("csv", ","),
    ".tsv": ("csv", "\t"),
    ".orc": ("orc", ""),
    ".parquet": ("parquet", ""),
    ".parq": ("parquet", ""),
}
_NO_TABLE = (
    "PATH_NOT_FOUND",
    "UNABLE_TO_INFER_SCHEMA",
    "CANNOT_READ_FILE_FOOTER",
    "FAILED_READ_FILE",
    "DATA_SOURCE_NOT_FOUND",
    "Path does not exist",
    "is not a Parquet file",
)
_MIXED = (
    "CANNOT_MERGE_SCHEMA",
    "Failed merging schema",
    "CSV header does not conform",
    "SparkException: Failed to merge",
    "FAILED_MERGE",
)


def is_address(address: str) -> bool:
    """Return whether an address has a scheme that Spark resolves, and not this machine's disk.

    Examples
    --------
    >>> is_address("hdfs:///people"), is_address("s3a://bucket/people"), is_address("file:/data/people"), is_address("C:/people"), is_address("people")
    (True, True, False, False, False)
    """
    match = _ADDRESS.match(address)
    return match is not None and match.group(1).lower() != "file"


def local_path(address: str) -> Path:
    """Return the path of an address on a disk, without the scheme file.

    Examples
    --------
    >>> local_path("file:///data/people").as_posix(), local_path("people").as_posix()
    ('/data/people', 'people')
    """
    return Path(re.sub(r"^file:/+", "/", address, flags=re.IGNORECASE))


def read_frame(session: Any, address: str) -> Any:
    """Return the DataFrame of a table by its address (hdfs://, s3a://, abfss:// ...) or path: a
    Parquet folder or file, ORC, CSV or TSV by its ending, Delta by its log.

    Raises
    ------
    FileError
        If there is no table, or a folder whose files have different columns.
    """
    url = address if is_address(address) else _on_disk(local_path(address))
    form, separator = next(
        (form for ending, form in _FORMATS.items() if address.rstrip("/").lower().endswith(ending)),
        ("parquet", ""),
    )
    try:
        if form == "parquet" and _exists(session, f"{url.rstrip('/')}/_delta_log"):
            return session.read.format("delta").load(
                url
            )  # as plain Parquet it would have rows that were deleted
        if form == "csv":
            reader = (
                session.read.option("header", True)
                .option("sep", separator)
                .option("inferSchema", True)
                .option("enforceSchema", False)
            )
            frame = reader.csv(url)
        else:
            frame = session.read.format(form).load(url)
        fields = frame.columns
    except Exception as error:
        raise _no_table(address, error) from None
    if not fields:
        raise FileError(
            f"'{address}' is no table: it has no columns. Name a table, or a folder of Parquet files."
        )
    if form == "parquet":
        _check_alike(session, frame, address)
    return frame


def _on_disk(path: Path) -> str:
    if not path.exists():
        raise FileError(
            f"There is no table '{path}'. Name a folder or a file of this machine, or an address with its scheme, as hdfs:///people."
        )
    return f"file:{path.absolute()}"


def _no_table(address: str, error: Exception) -> ChaffinchError:
    """Return our error for an address that Spark cannot read, without Spark's message, which may
    quote file contents.
    """
    text = str(error)
    if any(word in text for word in _MIXED):
        return _mixed_files_error(address)
    if any(word in text for word in _NO_TABLE):
        return FileError(
            f"There is no table at '{address}': it is absent, empty, or holds no file of the kind that its name says (Parquet, unless it ends in .csv, .tsv or .orc)."
        )
    for condition, advice in (
        ("UnknownHostException", "its host is unknown"),
        ("ConnectException", "nothing answers there"),
        (
            "No FileSystem for scheme",
            "Spark knows no such scheme: its package is not among the jars",
        ),
        (
            "UnsupportedFileSystemException",
            "Spark knows no such scheme: its package is not among the jars",
        ),
        ("AccessControlException", "access is denied"),
        ("AccessDenied", "access is denied"),
        ("ClassNotFoundException", "Spark knows no such scheme: its package is not among the jars"),
    ):
        if condition in text:
            return FileError(f"Cannot read '{address}': {advice}.")
    with contextlib.suppress(ChaffinchError), in_our_words():
        raise error
    return translate_error(error)


def _mixed_files_error(address: str) -> FileError:
    return FileError(
        f"The files of '{address}' have different columns or types: they are no one table. Read the ones that belong together, or write them anew as one table."
    )


def _check_alike(session: Any, frame: Any, address: str) -> None:
    """Raise unless all Parquet files of a folder have the same columns: Spark takes those of one
    file, and fills in nulls for what others lack.
    """
    with in_our_words():
        files = sorted(frame.inputFiles())
    if len(files) < 2:
        return
    chosen = files[:: -(-len(files) // MAX_FILES)]
    if hasattr(session, "_jsc"):
        jvm, conf = session._jvm, session._jsc.hadoopConfiguration()
        with in_our_words():
            shapes = {_shape(str(_footer(jvm, conf, file).getSchema())) for file in chosen}
        if len(shapes) > 1:
            raise _mixed_files_error(address)
        return
    try:  # Connect shows no footers: columns that some lack are found where the first file lacks them, types that differ always
        merged = session.read.option("mergeSchema", True).parquet(*chosen)
        same = sorted(merged.dtypes) == sorted(
            (name, kind) for name, kind in frame.dtypes if name in merged.columns
        )
    except Exception as error:
        raise _no_table(address, error) from None
    if not same:
        raise _mixed_files_error(address)


def _footer(jvm: Any, conf: Any, file: str) -> Any:
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(
        jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, conf)
    )
    try:
        return reader.getFileMetaData()
    finally:
        reader.close()


def _shape(message: str) -> str:
    """Return the columns and types of a footer as text, without its name and nullability, in which
    writers differ.

    Examples
    --------
    >>> _shape("message a {\\n  required int64 x;\\n}") == _shape("message b {\\n  optional int64 x;\\n}")
    True
    """
    return re.sub(r"\b(required|optional) ", "", message.partition("{")[2])


def check_free(session: Any, address: str, *, paid: bool = False) -> None:
    """Raise unless rows may be written to an address: it is empty, or has rows of an earlier run
    that may be overwritten, never by rows that are `paid` for.
    """
    if hasattr(session, "_jsc"):
        try:
            used = _exists(session, address) and not _empty(session, address)
            blocked = used and not _exists(session, f"{address.rstrip('/')}/{MANIFEST}")
        except Exception as error:
            raise _no_table(address, error) from None
        if blocked:
            raise FileError(
                f"'{address}' holds other files. Name a new folder, or empty it: it would be replaced."
            )
        if used and paid:
            raise FileError(
                f"Cannot write '{address}': it holds rows, and with --epsilon nothing is overwritten, since a privacy budget is spent once. Name another."
            )
        if used and not may_overwrite():
            raise FileError(
                f"Cannot write '{address}': it holds rows of an earlier run. Name another, or replace them with --overwrite."
            )


def write_frame(session: Any, frame: Any, address: str, n_rows: int, *, paid: bool = False) -> None:
    """Write drawn rows with Spark's writer to a staging folder and rename it to the address: until
    then the old rows are untouched.

    Connect cannot rename: there the address must be new, and Spark's mark `_SUCCESS` says that it
    is whole.
    """
    check_free(session, address, paid=paid)
    if not hasattr(session, "_jsc"):
        try:
            frame.write.parquet(address)
        except Exception as error:
            if "ALREADY_EXISTS" in str(error):
                raise InputError(
                    f"There is something at '{address}', and Connect replaces nothing. Name a new address."
                ) from None
            raise _no_table(address, error) from None
        return
    parent, _, name = address.rstrip("/").rpartition("/")
    staging, old = (f"{parent}/.{name}.{secrets.token_hex(4)}.{word}" for word in ("part", "old"))
    forget = remover(session, frame, staging)
    try:
        with in_our_words():
            frame.write.parquet(staging)
            _write_text(
                session,
                f"{staging}/{MANIFEST}",
                json.dumps({"format": "chaffinch-rows", "version": 1, "rows": n_rows}),
            )
            check_free(session, address, paid=paid)  # as it is by now
            replaced = _exists(session, address)
            if replaced:
                _rename(session, address, old)
            try:
                _rename(session, staging, address)
            except BaseException:
                if replaced:
                    _rename(session, old, address)
                raise
            if replaced:
                remover(session, frame, old)()
    finally:
        forget()


def on_hadoop(session: Any, address: str) -> tuple[Any, Any]:
    """Return the Hadoop path and file system of an address; not on Connect."""
    path = session._jvm.org.apache.hadoop.fs.Path(address)
    return path, path.getFileSystem(session._jsc.hadoopConfiguration())


def own_folder(session: Any, address: str) -> None:
    """Make a folder that only its owner may read, on file systems with owners; on Connect this is
    left to the server.
    """
    if hasattr(session, "_jsc"):
        path, files = on_hadoop(session, address)
        owner = session._jvm.org.apache.hadoop.fs.permission.FsPermission("700")
        files.mkdirs(path, owner)
        files.setPermission(path, owner)


def remover(session: Any, frame: Any, address: str, *, inside: str = "") -> Callable[[], None]:
    """Return the function that removes a folder that Spark wrote: by Hadoop where its classes can
    be reached, else by overwriting `inside` with no rows.
    """

    def forget() -> None:
        with in_our_words():
            if hasattr(session, "_jsc"):
                path, files = on_hadoop(session, address)
                files.delete(path, True)
            else:
                frame.limit(0).write.mode("overwrite").parquet(f"{address}{inside}")

    return forget


def _exists(session: Any, address: str) -> bool:
    if hasattr(session, "_jsc"):
        path, files = on_hadoop(session, address)
        return bool(files.exists(path))
    return not is_address(address) and local_path(address).exists()


def _empty(session: Any, address: str) -> bool:
    path, files = on_hadoop(session, address)
    return bool(files.getFileStatus(path).isDirectory()) and len(files.listStatus(path)) == 0


def _rename(session: Any, address: str, to: str) -> None:
    path, files = on_hadoop(session, address)
    if not files.rename(path, session._jvm.org.apache.hadoop.fs.Path(to)):
        raise FileError(
            f"Cannot rename what was written to '{to}': {reason(OSError())}. Look at who may write there."
        )


def _write_text(session: Any, address: str, text: str) -> None:
    path, files = on_hadoop(session, address)
    stream = files.create(path)
    stream.write(bytearray(text.encode("utf-8")))
    stream.close()
