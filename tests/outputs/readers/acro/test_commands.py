"""Commands: parsed, never run; filters in our words, held against pandas itself."""

import pytest

from chaffinch.outputs.filters import read_filter
from chaffinch.outputs.readers.acro.commands import filters_of, read_call, referred_column
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
    ours = read_filter(where, fields).of(codes)
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
