"""What columns are taken for, and why."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch import Column
from chaffinch.table.infer import suggested_role
from chaffinch.table.schema import IdentifierEvidence, Reason


def kinds(**columns):
    table = chaffinch.read(
        pa.table({**columns, "other": ["a", "b"] * (len(next(iter(columns.values()))) // 2)})
    )
    return {column.name: column.kind for column in table.schema}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.arange(200) % 4, "categorical"),
        (np.arange(200) % 50, "integer"),
        (np.arange(200), "identifier"),
        (np.arange(200) ** 2 * 17, "integer"),
        (np.arange(200) / 7, "float"),
        ((np.arange(200) % 40).astype(float), "integer"),
        ([True, False] * 100, "boolean"),
        (["x", "y", "z", "x"] * 50, "categorical"),
        ([f"u{i}" for i in range(200)], "identifier"),
        ([f"she said {i}" for i in range(200)], "text"),
        ([datetime.date(2000, 1, 1 + i % 28) for i in range(200)], "date"),
        ([datetime.datetime(2000, 1, 1, i % 24) for i in range(200)], "datetime"),
        ([[1, 2]] * 200, "text"),
        ([b"x"] * 200, "text"),
        ([None] * 200, "categorical"),
        ([7] * 200, "categorical"),
        ([2.5] * 200, "float"),
    ],
)
def test_kinds(values, kind):
    assert kinds(column=values)["column"] == kind


def test_every_column_has_a_reason_and_inference_is_deterministic(data):
    for path in sorted(data.glob("*.csv")) + sorted(data.glob("*.parquet")):
        first, second = chaffinch.scan(path), chaffinch.scan(path)
        assert all(column.reason for column in first.schema)
        assert first.schema == second.schema
        assert all(
            a.codec.to_dict() == b.codec.to_dict()
            for a, b in zip(first.schema.modelled, second.schema.modelled, strict=True)
        )


def test_row_order_does_not_change_inference(data):
    import pyarrow.parquet as pq

    table = pq.read_table(data / "adult_train.parquet")
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))
    one, two = chaffinch.read(table).schema, chaffinch.read(shuffled).schema
    for a, b in zip(one.modelled, two.modelled, strict=True):
        assert a.codec.to_dict() == b.codec.to_dict()


def test_a_rare_odd_value_late_in_the_table_counts(tmp_path):
    """A word in the last of 50,000 rows makes a whole-number column mixed: nothing is guessed from a sample."""
    path = tmp_path / "late.csv"
    path.write_text("a,b\n" + "".join(f"{i % 97},x\n" for i in range(50_000)) + "unknown,x\n")
    with pytest.raises(chaffinch.errors.SchemaError, match="Column 'a' mixes numbers and text"):
        chaffinch.read(path)


def test_top_coded_numbers_are_categories(tmp_path):
    path = tmp_path / "top.csv"
    path.write_text(
        "children,b\n" + "".join(f"{i % 4 if i % 5 else '4+'},x{i % 2}\n" for i in range(100))
    )
    schema = chaffinch.read(path).schema
    assert schema["children"].kind == "categorical"
    assert schema["children"].codec.levels == ("0", "1", "2", "3", "4+")


def test_a_lone_negative_code_is_hinted_at():
    table = chaffinch.read(
        pa.table({"income": [-8] * 20 + list(range(0, 3000, 10)), "b": ["x", "y"] * 160})
    )
    assert "missing = [-8]" in table.schema["income"].reason


def test_declared_missing_codes_are_levels_of_their_own():
    from dataclasses import replace

    values = [-8] * 20 + [99] * 15 + list(range(0, 30)) * 10
    frame = pa.table({"x": values, "b": (["p", "q"] * 200)[: len(values)]})
    first = chaffinch.read(frame).schema
    schema = chaffinch.Schema(
        (replace(first["x"], missing=(-8, 99), codec=None), replace(first["b"], codec=None))
    )
    table = chaffinch.read(frame, schema=schema)
    codec = table.schema["x"].codec
    assert codec.size == codec.n_values + 2
    assert (table.code("x") == codec.size - 2).sum() == 20
    assert (table.code("x") == codec.size - 1).sum() == 15
    out = chaffinch.Table.from_codes(table.schema, [table.codes[0], table.codes[1]], seed=0)
    assert out.data["x"].to_pylist()[:35] == [-8] * 20 + [99] * 15


def test_roles():
    schema = chaffinch.read(
        pa.table({"a": ["x", "y"] * 9, "b": ["x", "y"] * 9, "c": ["p", "q"] * 9})
    ).schema
    named = schema.with_roles(label="a", sensitive=["b"], keys=["c"])
    assert [column.role for column in named] == ["label", "sensitive", "key"]
    assert named.with_roles(label="c").with_role("label") == ("c",)
    with pytest.raises(chaffinch.errors.InputError, match="cannot be key and label"):
        schema.with_roles(label="a", keys=["a"])
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Unknown column 'd'"):
        schema.with_roles(label="d")


def test_nothing_to_model_is_said():
    with pytest.raises(chaffinch.errors.InputError, match="nothing to model"):
        chaffinch.read(pa.table({"id": range(100), "uuid": [f"x{i}" for i in range(100)]}))


def write_column(path, cells):
    path.write_text("code,b\n" + "".join(f"{cell},{'xy'[i % 2]}\n" for i, cell in enumerate(cells)))
    return path


CODES = {
    "zero-padded": [f"{i:05d}" for i in [772, 1002, *range(94103, 94161)]],
    "zero-padded, with a word": [*(f"{i:05d}" for i in [772, *range(94103, 94161)]), "abroad"],
    "zero-padded, of several widths": [f"0{i}" for i in range(1, 9)]
    + [str(i) for i in range(10, 60)],
    "mixed": [f"A{i}" for i in range(17, 37)] + [str(i) for i in range(345, 385)],
    "mixed, mostly numbers": ["A17", "B2", *(str(i) for i in range(300, 358))],
    "with a point": [f"{i}.{j}" for i in range(250, 262) for j in range(4)]
    + [f"V{i}.1" for i in range(12)],
    "ranges": [str(i) for i in range(18, 50)] + [f"{i}-{i + 4}" for i in range(50, 90, 5)],
}


@pytest.mark.parametrize("cells", CODES.values(), ids=CODES)
def test_codes_are_categories_and_come_back_as_written(tmp_path, cells):
    path = write_column(tmp_path / "in.csv", [cell for cell in cells for _ in range(5)])
    table = chaffinch.read(path)
    assert (table.schema["code"].kind, table.schema["code"].type) == ("categorical", "string")
    assert set(table.schema["code"].codec.levels) == set(cells)
    drawn = chaffinch.Independent().fit(table, seed=1).sample(600, seed=2, like=table)
    drawn.write(tmp_path / "out.csv")
    written = {line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]}
    assert len(written) > 20
    assert written <= set(cells)
    table.write(tmp_path / "same.csv")
    assert (tmp_path / "same.csv").read_text() == path.read_text()


MISTAKES = {
    "a word": ([str(i) for i in range(2000)] + ["unknown"] * 12, 'missing = ["unknown"]'),
    "several words": (
        [str(i / 4) for i in range(999)] + ["refused", "unknown"] * 15,
        'missing = ["refused", "unknown"]',
    ),
    "a bound": ([str(i) for i in range(5, 2000)] + ["<5"] * 200, 'missing = ["<5"]'),
    "a few units": ([str(i % 97) for i in range(3000)] + ["3m", "5m", "11m"], "missing = ["),
    "one padded number": ([str(i % 97) for i in range(3000)] + ["07"], "missing = ["),
}


@pytest.mark.parametrize(("cells", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_measure_with_stray_words_is_an_error_that_says_what_to_declare(tmp_path, cells, says):
    path = write_column(tmp_path / "in.csv", cells)
    with pytest.raises(
        chaffinch.errors.SchemaError, match="Column 'code' mixes numbers and text"
    ) as caught:
        chaffinch.read(path)
    assert says in str(caught.value)
    assert not any(
        word in str(caught.value) for word in ("3m", "07", "11m")
    )  # fewer than ten records have it
    schema = tmp_path / "s.toml"
    words = sorted({cell for cell in cells if not cell.replace(".", "").isdigit()} | {"07"})
    schema.write_text(
        f'format = "chaffinch-schema"\nversion = 1\n[columns.code]\nkind = "float"\nmissing = {words}\n[columns.b]\nkind = "categorical"\n'
    )
    assert chaffinch.read(path, schema=schema).schema["code"].kind == "float"


def test_what_a_column_is_does_not_depend_on_how_many_batches_it_comes_in():
    """Seven numbers and a word are categories, however often they come."""
    from chaffinch.table.guess import TextGuess

    guess = TextGuess("children")
    for _ in range(10):
        guess.add(pa.array(["0", "1", "2", "3", "4", "5", "6", "7+"]))
    assert guess.spelling().type == pa.string()


@pytest.mark.parametrize("threshold", [10, 20])
def test_a_reason_names_a_number_that_as_many_records_as_the_threshold_share(threshold):
    table = pa.table({"pay": [-9] * 15 + list(range(100, 400)), "sex": ["f", "m", "f"] * 105})
    reason = chaffinch.read(table, threshold=threshold).schema["pay"].reason
    assert ("-9 alone is negative" in reason) == (threshold == 10)


ROLES = {
    "key": ["age", "Sex", "marital-status", "zip_code", "birth_year", "native_country", "wife_age"],
    "sensitive": ["income", "annual_salary", "diagnosis", "hiv_status", "religion"],
    "weight": ["fnlwgt", "sample_weight", "pweight1", "wt"],
    "label": ["target", "outcome", "class"],
    None: ["weight", "x1", "height", "tenure", "year", "classroom"],
}


def test_names_suggest_roles():
    found = {
        name: suggestion and suggestion.role
        for names in ROLES.values()
        for name in names
        for suggestion in [suggested_role(Column(name, "integer"))]
    }
    assert found == {name: role for role, names in ROLES.items() for name in names}


def test_evidence_comes_first_and_kinds_are_respected():
    column = Column("age", "integer", evidence=IdentifierEvidence("numbers", Reason.NUMBERS))
    assert suggested_role(column).role == "identifier"
    assert suggested_role(Column("fnlwgt", "categorical")) is None
    assert suggested_role(Column("age", "text")) is None
