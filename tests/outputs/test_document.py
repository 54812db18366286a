"""Recipes: what is left of an output without its numbers, what is read off them, and the message for every way to get it wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch._base.errors import FileError, InputError, UnknownNameError
from chaffinch.outputs.document import Outputs, named_columns, read_outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain

HEAD = {"format": "chaffinch-outputs", "version": 1}
FIELDS = OutputDomain(
    (
        OutputColumn("sex", ("f", "m")),
        OutputColumn("area", ("n", "e", "s")),
        OutputColumn("age", tuple(range(5))),
    )
)
COLUMNS = [
    {"name": "sex", "levels": ["f", "m"]},
    {"name": "area", "levels": ["n", "e", "s"]},
    {"name": "age", "from": 0, "to": 4},
]
CODES = np.array([[0, 0, 1], [1, 1, 2], [0, 2, 3], [1, 0, 4], [0, 0, 0], [0, 1, 2]], dtype=np.int32)


def recipe(made: Outputs) -> dict[str, Any]:
    return made.outputs[0].without_numbers(made.fields.with_rows(10**9)).to_dict()


def one(**entry: Any) -> dict[str, Any]:
    """The recipe of an entry, without its name."""
    made = recipes_of([{"name": "it", **entry}], FIELDS)
    found = recipe(made)
    assert found.pop("name") == "it"
    return found


def test_numbers_go_and_rules_stay() -> None:
    rules = {
        "kind": "table",
        "by": ["sex", "area"],
        "where": "age > 0",
        "base": 5,
        "rounding": "random",
        "comment": "c",
    }
    assert one(**rules, counts=[[5, 10, 0], [15, 0, 5]], n=35) == {**rules, "n": True}
    assert one(**rules, n=True) == {**rules, "n": True}
    assert one(**rules, n=False) == rules
    assert one(
        kind="table", by=["sex"], percentages="rows", values=["33.3", "66.7"], totals=[1, "<5"]
    ) == {
        "kind": "table",
        "by": ["sex"],
        "percentages": "rows",
        "totals": True,
        "bands": ["<5"],
        "threshold": 5,
        "digits": {"values": "0.0"},
    }
    assert one(kind="histogram", of="age", edges=[0, 2, 4]) == {
        "kind": "histogram",
        "of": "age",
        "edges": [0, 2, 4],
    }


def test_what_is_withheld_is_read_off_counts() -> None:
    table = {"kind": "table", "by": ["area"]}
    assert one(**table, counts=["<10", 20, 30]) == {**table, "bands": ["<10"], "threshold": 10}
    assert one(**table, counts=["<=4", "5-9", ">=10"]) == {
        **table,
        "bands": ["<=4", "5-9", ">=10"],
        "threshold": 5,
    }
    assert one(**table, counts=["x", None, 30], threshold=10) == {**table, "threshold": 10}
    assert one(**table, cells={"n": "?", "e": 20}) == {**table, "withheld": ["n"]}
    assert one(**table, counts=["12", 20, 30]) == table  # a count in quotes
    tree = {
        "kind": "tree",
        "label": "sex",
        "leaves": [{"where": "age < 2", "counts": {"f": "<10"}}, {"where": "age >= 2", "n": 0}],
    }
    found = one(**tree)
    assert found["leaves"] == [
        {"where": "age < 2", "counts": True},
        {"where": "age >= 2", "n": True},
    ]
    assert (found["bands"], found["threshold"]) == (["<10"], 10)
    assert one(kind="tree", leaves=[{"where": "age < 2"}])["leaves"] == [
        {"where": "age < 2", "n": True}
    ]


def test_what_else_was_published_is_read_off_regressions() -> None:
    entry = {
        "kind": "logit",
        "formula": "sex ~ area + age",
        "success": "m",
        "decimals": 3,
        "coefficients": {"const": 0.1, "area[T.e]": "0.1000", "area[T.s]": "3.241e+04", "age": 1.0},
        "standard_errors": {"area[ T.e]": "0.10", "const": "0.20"},
        "loglik": "-12.3",
    }
    assert one(**entry) == {
        "kind": "logit",
        "formula": "sex ~ area + age",
        "success": "m",
        "decimals": 3,
        "standard_errors": ["Intercept", "area[T.e]"],
        "loglik": True,
        "digits": {
            "coefficients": {"area[T.e]": "0.0000", "area[T.s]": "0.000e+00"},
            "loglik": "0.0",
            "standard_errors": "0.00",
        },
    }
    bare = {
        "kind": "logit",
        "formula": "sex ~ age",
        "success": "m",
        "standard_errors": True,
        "loglik": True,
        "n": True,
    }
    assert one(**bare, digits={"loglik": 2}) == {**bare, "digits": {"loglik": 2}}
    assert one(**{**bare, "standard_errors": ["age"]})["standard_errors"] == ["age"]
    assert one(**{**bare, "standard_errors": {"const": 0.1, "age": 0.2}})["standard_errors"] is True


def test_digits_and_withheld_of_other_kinds() -> None:
    by = {"kind": "mean", "of": "age", "by": ["area"]}
    assert one(**by, values={"n": "1.0", "e": "2.50"}) == {
        **by,
        "digits": {"values": {"n": "0.0", "e": "0.00"}},
        "withheld": ["s"],
    }
    assert one(**by, values=["1.0", "x", "2.0"], threshold=3) == {
        **by,
        "threshold": 3,
        "digits": {"values": "0.0"},
    }
    quantiles = {"kind": "quantiles", "of": "age", "by": ["sex"], "at": [0.25, 0.75]}
    for values in ([["1.0", "2.0"], ["x", "3.0"]], {"f": ["1.0", "2.0"], " m": ["x", "3.0"]}):
        assert one(**quantiles, values=values) == {
            **quantiles,
            "digits": {"values": "0.0"},
            "withheld": ["m at 0.25"],
        }
    assert one(**quantiles, values={"f": [1, 2]})["withheld"] == ["m at 0.25", "m at 0.75"]
    km = {"kind": "kaplan-meier", "time": "age", "event": "sex", "times": [1, 2], "by": ["area"]}
    assert one(**km, survival=[["1.0", "x"]] * 3) == {
        **km,
        "survival": True,
        "digits": {"survival": "0.0"},
        "withheld": ["n survival at 2", "e survival at 2", "s survival at 2"],
    }
    three = OutputDomain((*FIELDS, OutputColumn("income", (0, 1)), OutputColumn("height", (0, 1))))
    matrix = [[1, "0.5", "x"], ["0.5", 1, "x"], ["x", "0.1", 1]]
    made = recipes_of(
        [{"kind": "correlation", "of": ["age", "income", "height"], "values": matrix}], three
    )
    assert recipe(made)["withheld"] == ["age|height"]
    assert made.outputs[0].name == "correlation 1"


def test_published_is_kept_whole_or_not_at_all() -> None:
    table = {"name": "it", "kind": "table", "by": ["sex"]}
    mean = {
        "name": "it",
        "kind": "mean",
        "of": "age",
        "by": ["sex"],
        "values": [1, "x"],
        "threshold": 5,
    }
    assert recipes_of([{**table, "counts": [1, 2]}], FIELDS).outputs[0].published == {
        **table,
        "counts": [1, 2],
    }
    assert recipes_of([table], FIELDS).outputs[0].published is None
    assert recipes_of([{**table, "counts": [1, 2], "n": True}], FIELDS).outputs[0].published is None
    published = recipes_of([mean], FIELDS).outputs[0].published
    assert published == {
        key: value for key, value in mean.items() if key != "threshold"
    }  # as a specification reads it
    made = recipes_of([mean, {**table, "name": "bare"}], FIELDS)
    assert [output.name for output in made.only(["it"]).published(rows=6).outputs] == ["it"]
    with pytest.raises(InputError, match="'bare' has no numbers"):
        made.published(rows=6)
    assert "x" not in repr(made.outputs[0])


def test_sets_of_recipes() -> None:
    made = recipes_of([{"kind": "table", "by": ["sex"]}, {"kind": "mean", "of": "age"}], FIELDS)
    assert made.names == ("table 1", "mean 2")
    assert made.only(["mean 2", "table 1"]).names == ("mean 2", "table 1")
    spec = made.computed(CODES, only=["mean 2"])
    assert (spec.rows, [output.name for output in spec.outputs]) == (6, ["mean 2"])
    with pytest.raises(UnknownNameError, match="Did you mean 'table 1'"):
        made.only(["table 2"])
    more = recipes_of(
        [{"name": "more", "kind": "table", "by": ["b", "sex"]}],
        OutputDomain((OutputColumn("b", (0, 1)), FIELDS["sex"])),
    )
    both = made.including(more)
    assert both.fields.names == ("sex", "area", "age", "b")
    assert both.names == ("table 1", "mean 2", "more")
    with pytest.raises(InputError, match="Two are called 'table 1'"):
        made.including(made)
    other = recipes_of(
        [{"name": "more", "kind": "table", "by": ["sex"]}],
        OutputDomain((OutputColumn("sex", ("m", "f")),)),
    )
    with pytest.raises(InputError, match="Column 'sex' has other levels"):
        made.including(other)


def test_recipes_in_files(tmp_path: Path) -> None:
    file = tmp_path / "outputs.toml"
    file.write_text(
        'format = "chaffinch-outputs"\nversion = 1\n[[outputs]]\nname = "r"\nkind = "logit"\nformula = "sex ~ age"\n'
        'success = "m"\nn = true\nloglik = true\nstandard_errors = ["age"]\ndecimals = 2\n',
        encoding="utf-8",
    )
    with pytest.raises(InputError, match="has no columns"):
        read_outputs(file)
    made = read_outputs(file, fields=FIELDS)
    found = made.entries(CODES)[0]
    assert set(found) == {
        "name",
        "kind",
        "formula",
        "success",
        "n",
        "loglik",
        "standard_errors",
        "decimals",
        "coefficients",
    }
    assert found["n"] == 6
    (tmp_path / "outputs.json").write_text(
        json.dumps({**HEAD, "columns": COLUMNS, "outputs": [found]}), encoding="utf-8"
    )
    again = read_outputs(tmp_path / "outputs.json")
    assert recipe(again) == recipe(made)
    assert again.outputs[0].published == found
    assert again.fields == FIELDS


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "tabel", "by": ["sex"]}, "Unknown kind 'tabel'. Did you mean 'table'"),
        ({"by": ["sex"]}, "'kind' is missing"),
        ({"kind": "table", "by": ["sexx"]}, "Unknown column 'sexx'. Did you mean 'sex'"),
        (
            {"kind": "table", "by": ["sex"], "wher": "age > 1"},
            "Unknown key 'wher'. Did you mean 'where'",
        ),
        ({"kind": "table", "by": ["sex"], "where": "agee > 1"}, "Unknown column 'agee'"),
        ({"kind": "table", "by": ["sex"], "bands": "<10"}, "bands must be a list of words"),
        ({"kind": "table", "by": ["sex"], "bands": ["few"]}, "a band must be a whole number"),
        ({"kind": "table", "by": ["sex"], "counts": [1]}, "must have 2 entries"),
        ({"kind": "mean", "of": "sex"}, "has words as levels"),
        ({"kind": "mean", "of": "age", "threshold": 0}, "threshold must be a whole number"),
        ({"kind": "mean", "of": "age", "digits": 2}, "digits must be given by key"),
        ({"kind": "mean", "of": "age", "digits": {"loglik": 2}}, "Unknown key 'loglik'"),
        ({"kind": "mean", "of": "age", "digits": {"values": "0,00"}}, "or an example such as"),
        ({"kind": "quantiles", "of": "age"}, "must say which quantiles"),
        ({"kind": "correlation", "of": ["age", "sex"]}, "has words as levels"),
        ({"kind": "histogram", "of": "age", "edges": [2, 1]}, "edges of a histogram must rise"),
        ({"kind": "kaplan-meier", "time": "age", "event": "sex", "times": [1]}, "at_risk = true"),
        (
            {
                "kind": "kaplan-meier",
                "time": "age",
                "event": "sex",
                "times": [2, 1],
                "events": True,
            },
            "times must rise",
        ),
        (
            {
                "kind": "tree",
                "label": "sex",
                "leaves": [{"where": "age < 1", "counts": True, "n": True}],
            },
            "must have counts",
        ),
        ({"kind": "tree", "leaves": [{"where": "age < 1", "counts": True}]}, "must have counts"),
        ({"kind": "logit", "formula": "sex ~ age"}, "say which of them counts as 1"),
        ({"kind": "logit", "formula": "sex ~ agee", "success": "m"}, "Unknown column 'agee'"),
        (
            {"kind": "ols", "formula": "age ~ sex", "standard_errors": ["sex"]},
            "Unknown standard error 'sex'",
        ),
        (
            {"kind": "multinomial", "formula": "area ~ age", "standard_errors": True},
            "not supported",
        ),
        (
            {"kind": "gamma", "formula": "age ~ sex", "where": "age > 0", "standard_errors": True},
            "needs the dispersion",
        ),
        (
            {"kind": "gamma", "formula": "age ~ sex", "where": "age > 0", "dispersion": True},
            "it needs n",
        ),
        ({"kind": "gamma", "formula": "age ~ sex"}, "must be above 0"),
    ],
)
def test_what_is_wrong_is_said_on_reading(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        recipes_of([{"name": "it", **entry}], FIELDS)
    assert message in str(caught.value)
    assert "'it'" in str(caught.value)


def test_columns_that_outputs_speak_of() -> None:
    known = ["a b", "age", "area", "died", "sex", "time", "unused", "when"]
    entries: list[dict[str, Any]] = [
        {"kind": "ols", "formula": "np.log(age) ~ Q('a b')", "where": "`area` == 'sex2'"},
        {"kind": "kaplan-meier", "time": "time", "event": "died"},
        {"kind": "tree", "label": "sex", "leaves": [{"where": "when > 1"}]},
    ]
    assert named_columns(entries, known) == ("a b", "age", "area", "died", "sex", "time", "when")
    assert named_columns([{"kind": "table", "by": ["sex"]}], known) == ("sex",)


SEX = {"name": "sex", "levels": ["f", "m"]}
AGE = {"name": "age", "from": 0, "to": 1, "step": 0.1}
TABLE = {"name": "t", "kind": "table", "by": ["sex"], "counts": [4, 6]}


def spec_of(**changes: Any) -> Outputs:
    return Outputs.from_dict(
        {**HEAD, "rows": 10, "columns": [SEX, AGE], "outputs": [TABLE], **changes}
    )


def test_columns() -> None:
    spec = spec_of(
        columns=[
            SEX,
            AGE,
            {"name": "n", "from": 0, "to": 5, "step": 2},
            {"name": "b", "levels": [False, True], "weights": [1, 3]},
        ]
    )
    assert spec.fields.names == ("sex", "age", "n", "b")
    assert spec.fields["age"].levels == (
        0.0,
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        1.0,
    )  # no 0.30000000000000004
    assert spec.fields["n"].levels == (0, 2, 4)
    assert spec.fields.columns[3].chances.tolist() == [0.25, 0.75]
    assert not spec.fields["b"].numeric


def test_equations_know_their_output() -> None:
    spec = spec_of(
        outputs=[
            {**TABLE, "where": "age > 0.5", "n": 10},
            {"kind": "mean", "of": "age", "value": 0.5},
        ]
    )
    assert [output.name for output in spec.problem().outputs] == ["t", "t: n", "mean 2"]
    assert spec.source("t: n") is spec.outputs[0]
    assert spec.source("mean 2").kind == "mean"
    assert [one.output.name for one in spec.compiled()] == ["t", "mean 2"]
    with pytest.raises(UnknownNameError, match="Unknown equation set"):
        spec.source("u")


def test_rows_may_come_later() -> None:
    spec = Outputs.from_dict({**HEAD, "columns": [SEX], "outputs": [TABLE]})
    assert len(spec.problem(rows=10).outputs) == 1
    with pytest.raises(InputError, match="The number of rows is missing"):
        spec.problem()
    with pytest.raises(InputError, match="at least 1"):
        spec.problem(rows=0)
    assert "rows" not in spec.to_dict()


def test_there_and_back() -> None:
    spec = spec_of(columns=[SEX, {**AGE, "weights": [1.0] * 11, "fixed": True}])
    again = Outputs.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again.to_dict() == spec.to_dict()
    assert again.fields == spec.fields


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "x"}, 'must say format = "chaffinch-outputs"'),
        ({"version": 2}, "must have version = 1"),
        ({"version": True}, "must have version = 1"),
        ({"rows": "ten"}, "'rows' is not as it should be"),
        ({"rows": 0}, "'rows' is not as it should be"),
        ({"colums": []}, "Unknown key 'colums'. Did you mean 'columns'"),
        ({"columns": []}, "at least one column"),
        ({"columns": [SEX, SEX]}, "different names"),
        ({"columns": [{"name": "sex"}]}, "Column 'sex' must have levels, or from and to"),
        ({"columns": [{"name": "sex", "levels": []}]}, "at least one level"),
        ({"columns": [{"name": "sex", "levels": ["f", "f"]}]}, "each of its levels once"),
        ({"columns": [{"name": "sex", "levels": ["f", 1]}]}, "mixes words and numbers"),
        ({"columns": [{"name": "sex", "levels": [2, 1]}]}, "must rise"),
        (
            {"columns": [{"name": "sex", "levels": ["f", "m"], "weights": [1]}]},
            "one finite number for each",
        ),
        ({"columns": [{"name": "a", "from": 0, "to": 1e9}]}, "over 1000000"),
        ({"columns": [{"name": "a", "from": 1, "to": 0}]}, "`to` must be at least `from`"),
        (
            {"columns": [{"name": "a", "level": ["f"]}]},
            "column 'a': Unknown key 'level'. Did you mean 'levels'",
        ),
        ({"columns": [{"levels": ["f"]}]}, "column 1: 'name' is missing"),
        ({"outputs": []}, "no outputs to reproduce"),
        ({"outputs": [{"name": "t"}]}, "output 't': 'kind' is missing. Kinds: table"),
        (
            {"outputs": [{"name": "t", "kind": "tabel"}]},
            "output 't': Unknown kind 'tabel'. Did you mean 'table'",
        ),
        (
            {"outputs": [{**TABLE, "count": [1]}]},
            "output 't': Unknown key 'count'. Did you mean 'counts'",
        ),
        ({"outputs": [{"kind": "table", "counts": [1]}]}, "output 1: 'by' is missing"),
        ({"outputs": [{**TABLE, "n": -1}]}, "'n' is not as it should be"),
        ({"outputs": [{**TABLE, "n": 2.5}]}, "'n' is not as it should be"),
        ({"outputs": [{**TABLE, "n": True}]}, "'n' is not as it should be"),  # announced
        ({"outputs": [{**TABLE, "decimals": 99}]}, "'decimals' is not as it should be"),
        ({"outputs": [TABLE, TABLE]}, "Two are called 't'"),
        (
            {"outputs": [{**TABLE, "where": "agee > 0"}]},
            "filter of output 't': Unknown column 'agee'",
        ),
        (
            {"outputs": [{**TABLE, "by": ["agee"]}]},
            "Output 't': Unknown column 'agee'. Did you mean 'age'",
        ),
        (
            {"outputs": [{"name": "m", "kind": "mean", "of": "sex", "value": 1}]},
            "Output 'm': Column 'sex' has words",
        ),
    ],
)
def test_bad_files(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        spec_of(**changes).problem()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(
        "\ufeff" + json.dumps({**HEAD, "rows": 10, "columns": [SEX], "outputs": [TABLE]}),
        encoding="utf-8",
    )
    assert read_outputs(file, numbers="required").rows == 10
    for text, message in (
        ("{", "not valid JSON"),
        ("a = ", "not valid TOML"),
        ('{"a": NaN}', "not valid JSON: NaN is no number"),
        ("[" * 9999, "not valid TOML"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            read_outputs(file, numbers="required")
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(FileError, match="not UTF-8"):
        read_outputs(file, numbers="required")
    with pytest.raises(FileError, match="No such file"):
        read_outputs(tmp_path / "none.toml", numbers="required")
    with pytest.raises(FileError, match="Cannot read"):
        read_outputs(tmp_path, numbers="required")


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaffinch.outputs.document.MOST_BYTES", 10)
    file = tmp_path / "a.toml"
    file.write_text("format = 'x'  # long", encoding="utf-8")
    with pytest.raises(FileError, match="no description of outputs is that large"):
        read_outputs(file, numbers="required")
