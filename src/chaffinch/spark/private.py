"""A Spark DataFrame for a private fit: encoded under a declared schema, with a bounded number of
rows per person.

Workers count; noise is drawn on the driver alone, where every answer is charged
(`privacy.PrivateCounter`). No record is collected.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .._base.checks import check_whole
from .._base.errors import InputError, join_names
from ..privacy.discover import wanted_columns
from ..privacy.domain import check_declared, declared_schema
from ..privacy.prepare import prepare as prepare_declared
from ..privacy.prepare import with_person
from ..privacy.session import promised_schema
from ..table.codes import Codes
from ..table.fit_schema import check_columns
from ..table.personal.detect import personal_note, warn_of, with_evidence
from ..table.rows import Names, Step
from ..table.schema import Schema
from ..table.schema_file import SchemaLike, as_schema
from ..table.table import Table
from .blocks import unhashable
from .rows import RawFrame
from .scanning import SparkScan
from .session import ready, session_of, spark_functions

_BLANKS = r"[ \t\n\r\x0B\f]+"


@dataclass(frozen=True, eq=False)
class EncodeDeclared(Step):
    """Encodes raw cells under a declared schema: each code depends on its own cell and the
    declaration alone.
    """

    schema: Schema

    def needs(self, columns: Names) -> Names:
        """Return the columns that have codes."""
        return self.schema.names

    def __call__(self, chunk: Table) -> Table:
        table = prepare_declared(chunk.data.select(self.schema.names), self.schema)
        codes = [table.code(name) for name in self.schema.names]
        return replace(
            chunk,
            schema=self.schema,
            data=table.data,
            codes=Codes.from_columns(codes, self.schema.sizes, n_rows=chunk.n_rows),
        )


def prepare(
    frame: Any,
    schema: SchemaLike | None,
    *,
    person: str | None = None,
    rows_per_person: int = 1,
    check: Callable[[Schema], object] = lambda schema: None,
) -> SparkScan:
    """Return a scan of a DataFrame for a private fit, as `chaffinch.prepare` does for a table:
    `BayesNet(epsilon=1).fit(counter)` of its `coded`.

    The schema is public and declares the domain of every column: nothing is discovered on Spark.
    With `person`, the column that tells persons apart (the schema's role `person` unless named), up
    to `rows_per_person` rows of each are kept, chosen by a hash with a secret key: which of a
    person's rows are kept depends on these rows alone, so that one person changes at most so many
    (`privacy.prepare.keep_rows`). On one machine the first ones of the file are. `check` is called
    with the schema of the fit before a record is read: that is when a project ledger is charged.
    """
    session = session_of(frame)
    declared = as_schema(schema)
    if declared is None:
        raise InputError(
            "A private fit on Spark needs a declared schema: `chaffinch schema DATA --blank -o schema.toml` writes one to fill in."
        )
    person = declared.only("person") if person is None else person
    promised = promised_schema(declared, person=person, rows_per_person=rows_per_person)
    check_declared(promised, source="the DataFrame")
    if waiting := wanted_columns(promised):
        names = join_names(column.name for column in waiting)
        raise InputError(
            f"Nothing is discovered on Spark, and the schema leaves it to be for: {names}. Declare levels or bounds of these columns."
        )
    check_columns("the DataFrame", frame.columns, promised)
    warn_of(personal_note(with_evidence(promised)))
    check(promised)
    ready(session)
    if person is not None:
        frame = first_rows(frame, person, rows_per_person)
    sealed = declared_schema(with_person(declared, person))
    sealed = replace(
        sealed,
        columns=tuple(sealed[name] for name in frame.columns),
        persons=0 if person is None else rows_per_person,
    )
    row_source = RawFrame(frame)
    encode = EncodeDeclared(replace(sealed, columns=sealed.modelled))
    return SparkScan(row_source, sealed, row_source.seen.n_rows, (encode,))


def first_rows(frame: Any, person: str, max_rows: int, *, key: str | None = None) -> Any:
    """Return at most `max_rows` rows of each person: the first by a hash of the row and a secret
    key. Rows without an id are persons of their own.

    Words are compared without the blanks around them, so that two spellings of an id are one
    person.
    """
    check_whole("rows_per_person", max_rows, 1)
    functions = spark_functions()
    from pyspark.sql import Window

    names, kinds = frame.columns, [field.dataType.simpleString() for field in frame.schema]
    kind = kinds[names.index(person)]
    if kind == "binary" or "<" in kind:
        raise InputError(
            f"A person cannot be told by a column of type {kind} on Spark. Cast it to text or numbers."
        )
    columns = [f"c{j}" for j in range(len(names))]
    plain = frame.toDF(*columns)
    who = functions.col(columns[names.index(person)])
    if kind == "string":
        who = functions.regexp_replace(who, rf"^{_BLANKS}|{_BLANKS}\z", "")
        who = functions.when(who != "", who)
    elif kind in ("float", "double"):
        who = functions.when(~functions.isnan(who), who)
    hashes = [
        column
        for column, field in zip(columns, frame.schema, strict=True)
        if not unhashable(field.dataType)
    ]
    order = functions.xxhash64(functions.lit(key or secrets.token_hex(16)), *hashes)
    rows = plain.withColumn("who", who).withColumn("place", order)
    # Rows without an id are no group: a window over them would put them all into one task.
    alone, others = (
        rows.where(functions.col("who").isNull()),
        rows.where(functions.col("who").isNotNull()),
    )
    rank = functions.row_number().over(Window.partitionBy("who").orderBy("place", *hashes))
    limited = others.withColumn("rank", rank).where(functions.col("rank") <= max_rows)
    return limited.select(*columns).unionAll(alone.select(*columns)).toDF(*names)
