"""Commands: parsed, never run; filters in our words, held against pandas itself."""

import ast

import pytest

from chaffinch.outputs.domain import OutputColumn
from chaffinch.outputs.filters import read_filter
from chaffinch.outputs.readers.acro.commands import (
    ComparedColumn,
    filters_of,
    read_call,
    read_comparison,
    referred_column,
)
from chaffinch.outputs.readers.acro.read import UnclearError

FILTERS = [
    "df[df.wife_age > 30]",
    "df[df['wife_age'] >= 30]",
    "df[30 < df.wife_age]",
    "df[(df.wife_age > 30) & (df.area == 'north')]",
    "df[(df.wife_age > 30) | ~(df.area == 'west side')]",
    "df.loc[df.area.isin(['north', 'south'])]",
    "df.loc[df.wife_age.between(20, 30), ['area', 'uses']]",
    "df[df.wife_age.between(20, 30, inclusive='left')]",
    "df[df.wife_age.between(left=20, right=30, inclusive='neither')]",
    "df[df.wife_age.gt(20)][df.area.ne('east')]",
    'df.query(\'wife_age > 30 and area in ["north", "east"]\')',
    "df.query('20 <= wife_age < 30 or not uses == 1')",
    "df.copy()[df.uses != 0]",
    "df[df.wife_age.notna() & (df.uses == 1)]",
    "df[['area', 'uses']]",
    "df",
]


@pytest.mark.parametrize("text", FILTERS)
def test_filters_keep_the_records_that_pandas_keeps(text, frame, fields):
    call = read_call(f"s.logitr('uses ~ wife_age', {text})", "logitr")
    where = " and ".join(f"({part})" for part in filters_of([call.arguments["data"]], call)) or None
    codes = fields.codes({name: frame[name].tolist() for name in frame})
    ours = read_filter(where, fields).record_mask(codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *args, **kwargs: None)  # pandas reindexes a condition
        theirs = frame.index.isin(eval(text, {"df": frame}).index)
    assert (ours == theirs).all()
    assert text == "df" or text.startswith("df[[") or 0 < ours.sum() < len(frame)


@pytest.mark.parametrize(
    "text",
    [
        "df[mask]",
        "df[df.wife_age > limit]",
        "df[df.wife_age.rank() > 7]",
        "df[df.wife_age > df.uses.mean()]",
        "df.query('wife_age > @limit')",
        "df.query(words)",
        "df.query('wife_age > 30 & uses == 1')",  # & binds as in pandas, not as in Python
        "df.sample(100)",
        "df.head(100)",
        "df[:100]",
        "df[df.flag]",
        "df.dropna()",
        "df[df.wife_age.between(20, 30, inclusive=True)]",
        "df[(df.wife_age.notna()) | (df.uses == 1)]",
        "df[df.area.str.startswith('n')]",
        "make(df)",
        "df[lambda d: d.uses == 1]",
        "df[df.wife_age == 1j]",
    ],
)
def test_filters_that_are_not_understood_are_not_guessed(text):
    call = read_call(f"s.logitr('uses ~ wife_age', {text})", "logitr")
    with pytest.raises(UnclearError, match="filter not understood: give a recipe"):
        filters_of([call.arguments["data"]], call)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("df.area", "area"),
        ("df['marital status']", "marital status"),
        ("df.loc[df.uses == 1, 'area']", "area"),
        ("df.area[df.uses == 1]", "area"),
        ("pd.cut(df.wife_age, 3)", "wife_age"),
        ("area", None),
    ],
)
def test_columns_are_told(text, column):
    call = read_call(f"s.crosstab({text}, df.uses)", "crosstab")
    assert referred_column(call.arguments["index"], call)[0] == column


@pytest.mark.parametrize(
    "text",
    ["df.wife_age > 30", "df.a + df.b", "df.a.map(names)", "pd.cut(df.a, 3, labels=False)", "7"],
)
def test_expressions_are_no_columns(text):
    call = read_call(f"s.crosstab({text}, df.uses)", "crosstab")
    with pytest.raises(UnclearError, match="an expression, not of a column"):
        referred_column(call.arguments["index"], call)


@pytest.mark.parametrize(
    "command",
    [
        "t = s.crosstab(",
        "crosstab()" * 2,
        "s.crosstab(a, b); s.crosstab(c, d)",
        "s.crosstab(*columns)",
        "s.crosstab(a, **options)",
        "custom",
        "",
        "s.crosstab(a, b\0)",
        "(" * 5000,
        "s.crosstab(a, b)" + " " * 30_000 + "#",
        "-" * 20_000 + "1",
    ],
)
def test_commands_that_cannot_be_parsed_are_none(command):
    assert read_call(command, "crosstab") is None


def test_a_command_is_never_run(tmp_path):
    call = read_call(
        f"s.crosstab(open({str(tmp_path / 'made')!r}, 'w'), __import__('os').getcwd())", "crosstab"
    )
    for name in ("index", "columns"):
        with pytest.raises(UnclearError):
            referred_column(call.arguments[name], call)
    assert call.constant("index") is None
    assert not (tmp_path / "made").exists()


def test_names_that_the_line_sets_are_looked_up():
    call = read_call(
        "old = df[df.age > 60]; x = add_constant(old[['age']]); s.logit(old.uses, x)", "logit"
    )
    assert filters_of([call.arguments["exog"]], call) == ["age > 60"]
    assert referred_column(call.arguments["endog"], call) == ("uses", ["age > 60"])


def test_a_name_that_stands_for_itself_ends():
    call = read_call("x = x; s.logit(y, x)", "logit")
    assert filters_of([call.arguments["exog"]], call) == []


def test_words_are_quoted_and_columns_ticked():
    call = read_call("""s.logitr('a ~ b', df[df['my area'] == "it's \\\\ so"])""", "logitr")
    assert filters_of([call.arguments["data"]], call) == [r"`my area` == 'it\'s \\ so'"]


AGE = OutputColumn("age", (20, 30, 40, 50))


def compared(text: str) -> ComparedColumn | None:
    call = read_call(f"s.crosstab({text}, df.uses)", "crosstab")
    assert call is not None
    return read_comparison(call.arguments["index"], call)


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("df.age > 30", [40, 50]),
        ("30 < df.age", [40, 50]),
        ("df['age'] <= 30", [20, 30]),
        ("(df.age >= 40).astype(int)", [40, 50]),
        ("df.age.eq(20)", [20]),
        ("df.age != 20", [30, 40, 50]),
        ("df[df.sex == 1].age > 30", [40, 50]),
    ],
)
def test_a_comparison_holds_of_the_levels_that_python_says(text: str, true: list[int]) -> None:
    one = compared(text)
    assert one is not None
    assert [level for level, holds in zip(AGE.levels, one.holds(AGE), strict=True) if holds] == true


@pytest.mark.parametrize(
    "text",
    [
        "df.age",
        "df.a + df.b",
        "df.a > df.b",
        "df.a.map(names)",
        "20 < df.a < 30",
        "df.age > limit",
        "area > 3",
    ],
)
def test_other_expressions_are_none(text: str) -> None:
    assert compared(text) is None


def test_filters_on_the_way_are_kept() -> None:
    one = compared("df[df.sex == 1].age > 30")
    assert one is not None
    assert one.filters == ("sex == 1",)


def test_groups_are_ranges_of_numbers_and_lists_of_words() -> None:
    assert ComparedColumn("age", ast.Gt, 30).groups(AGE, ["0", "1"]) == {
        "0": [20, 30],
        "1": [40, 50],
    }
    state = OutputColumn("state", ("ill", "so so", "well"))
    assert ComparedColumn("state", ast.Eq, "so so").groups(state, ["False", "True"]) == {
        "False": ["ill", "well"],
        "True": ["so so"],
    }
    with pytest.raises(UnclearError, match="from those on both sides"):
        ComparedColumn("age", ast.Eq, 30).groups(AGE, ["False", "True"])
    with pytest.raises(UnclearError, match="other labels than True and False"):
        ComparedColumn("age", ast.Eq, 20).groups(AGE, ["young"])
    with pytest.raises(UnclearError, match="where its table has people"):
        ComparedColumn("age", ast.Gt, 90).groups(AGE, ["True"])


def test_an_event_is_one_level() -> None:
    assert ComparedColumn("age", ast.GtE, 50).level(AGE) == 50
    with pytest.raises(UnclearError, match="not one level"):
        ComparedColumn("age", ast.Gt, 30).level(AGE)
    with pytest.raises(UnclearError, match="no level of it"):
        ComparedColumn("age", ast.Gt, "x").level(AGE)
