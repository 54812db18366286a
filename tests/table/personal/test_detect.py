"""Columns that look as if they said who somebody is: by name, by form, by check digits, by their numbers; and nothing by chance."""

from __future__ import annotations

import re
import tomllib
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import chaffinch
from chaffinch.table import schema_text
from chaffinch.table.personal.detect import (
    _expected_equals,
    _poisson_below,
    check_decided,
    check_declared_decided,
    evidence_of,
    form_of_words,
    given_out_in_order,
    given_out_once,
    with_decisions,
)
from chaffinch.table.personal.fake import FakeForm, parse_mask
from chaffinch.table.personal.forms import FORMS
from chaffinch.table.profile import Profile
from chaffinch.table.schema import Reason


def named_people(n=600):
    rng = np.random.default_rng(7)
    return {
        "nachname": rng.choice(["Huber", "Maier", "Gruber", "Wagner"], n),
        "svnr": rng.choice(900_000_000, n, replace=False) + 1_000_000_000,
        "v3": np.cumsum(rng.integers(1, 12, n)),
        "email": ["yes", "no"] * (n // 2),
        "income": np.rint(rng.lognormal(10.3, 0.6, n)).astype(int),
        "sex": ["f", "m"] * (n // 2),
    }


def test_columns_are_named_with_what_to_do_and_no_value():
    words = r"nachname \(surnames, by its name\), svnr \(Austrian social insurance numbers, by its name\), v3 \(numbers that were given out once, by its numbers\)"
    with pytest.warns(chaffinch.errors.PersonalDataWarning, match=words) as caught:
        table = chaffinch.read(pa.table(named_people()))
    assert caught[0].filename == __file__
    (note,) = [note for note in table.notes if note.what == "personal"]
    assert str(note) == str(caught[0].message)
    assert not any(str(value) in str(note) for value in ("Huber", named_people()["svnr"][0], "600"))
    assert {column.name for column in table.schema if column.evidence is not None} == {
        "nachname",
        "svnr",
        "v3",
    }
    assert table.schema["v3"].evidence.reason == Reason.NUMBERS
    assert schema_text(table.schema).count('write output = "drop", "fake" or "keep"') == 3
    with pytest.warns(chaffinch.errors.PersonalDataWarning):
        chaffinch.scan(pa.table(named_people()))


@pytest.mark.parametrize("decision", ["drop", "keep", "fake"])
def test_decided_columns_are_not_pointed_out(tmp_path, decision):
    decided = dict.fromkeys(("nachname", "svnr", "v3"), decision)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = chaffinch.read(pa.table(named_people()), decided)
        chaffinch.write_schema(table.schema, tmp_path / "s.toml")
        again = chaffinch.read(pa.table(named_people()), tmp_path / "s.toml")
    assert (
        table.schema.names
        == again.schema.names
        == (("nachname", "svnr", "v3") if decision == "keep" else ()) + ("email", "income", "sex")
    )


def test_real_tables_raise_no_false_alarm(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error", chaffinch.errors.PersonalDataWarning)
        for path in sorted(data.glob("*.csv")) + sorted(data.glob("*.parquet")):
            chaffinch.scan(path)


def test_under_a_promise_names_and_declarations_alone_decide():
    columns = (
        chaffinch.Column("surname", "categorical", levels=("a", "b", "c"), other=True),
        chaffinch.Column("v3", "integer", bounds=(0, 10_000)),
        chaffinch.Column("phone", "categorical", levels=("yes", "no"), other=True),
        chaffinch.Column("svnr", "identifier", "identifier"),
    )
    schema = chaffinch.Schema(columns, public=True)
    said = []
    for rows in (
        {
            "surname": ["a"] * 300,
            "v3": list(range(300)),
            "phone": ["yes"] * 300,
            "svnr": list(range(300)),
        },
        {"surname": ["x"], "v3": [None], "phone": [None], "svnr": [None]},
    ):
        with pytest.warns(
            chaffinch.errors.PersonalDataWarning,
            match=r"surname \(surnames, by its name\)\. Nothing",
        ) as caught:
            table = chaffinch.prepare(pa.table(rows), schema)
        assert "v3" not in str(caught[0].message)
        said.append((str(caught[0].message), table.notes))
    assert said[0] == said[1]


WORDS = {
    "email": ["a.b@c.org", "x_y+1@mail.example.co.uk", "ü@müller.de"],
    "url": ["https://a.org/x", "http://b.net", "www.c.de/d?e=f"],
    "ip": ["10.0.0.1", "192.168.255.254", "8.8.8.8"],
    "ipv6": ["2001:db8::1", "fe80::1ff:fe23:4567:890a", "::1:2"],
    "mac": ["00:1B:44:11:3A:B7", "aa-bb-cc-dd-ee-ff", "01:23:45:67:89:ab"],
    "phone": [
        "+43 1 5877760",
        "(212) 555-0188",
        "0664/1234567",
        "212-555-0199",
        "+1-541-754-3010x12",
    ],
    "coordinates": ["48.2082, 16.3738", "-33.8688;151.2093", "(40.7128, -74.0060)"],
    "address": [
        "Hauptstraße 12",
        "12 High Street",
        "5 rue de Rivoli, Paris",
        "Kerkstraat 3a",
        "via Roma 7",
    ],
    "postcode_and_house": ["1012 AB 14", "SW1A 1AA, 10", "3511 LN 27b"],
    "us_ssn": ["123-45-6789", "234-56-7890", "536-22-1111"],
    "uk_nino": ["AB123456C", "JG 10 37 59 A", "ZZ000000D".replace("ZZ", "PW")],
    "dk_cpr": ["010190-1234", "311299-4321", "150660-0001"],
}


@pytest.mark.parametrize("name", WORDS)
def test_words_of_a_form(name):
    found = form_of_words(WORDS[name])
    assert found is not None
    assert (found.form, found.reason) == (name, Reason.PATTERN)


@pytest.mark.parametrize(
    "words",
    [
        ["ford f250", "datsun 210", "mazda rx3"],
        ["2019-01-02", "2020-11-30", "1999-12-31"],
        ["01/02/2019", "11/12/2020", "3/4/1999"],
        ["I10", "E11.9", "J45.0"],
        ["978-3-16-148410-0", "978-0-306-40615-7", "978-1-86197-876-9"],
        ["A1", "B2", "C3"],
        ["12:30", "09:15", "23:59"],
        ["1.2.3", "10.4", "2.0.1"],
        ["12345-6789", "90210-1234", "10001-0001"],
        ["100-200", "200-300", "300-400"],
        ["St. Louis", "Via Nova", "Main"],
        ["AB12CDE", "XY34ZZZ", "PQ56RST"],
    ],
)
def test_other_words_have_none(words):
    assert form_of_words(words) is None


CHECKED = [form.name for form in FORMS if form.check is not None]


def numbers_of(name, rng, n, *, right):
    """Numbers of a form whose check digits are right, by trying; or random ones."""
    form = FORMS[name]
    mask = parse_mask(form.mask if name != "iban" else "DE##" + "#" * 18)
    out = []
    while len(out) < n:
        word = str(mask.spell(rng.integers(0, 1 << 62, 1))[0])
        if form.has(word) and (not right or form.passes(word)):
            out.append(word)
        elif right and name in (
            "fr_nir",
            "it_codice_fiscale",
            "no_fnr",
            "iban",
            "cn_id",
            "br_cpf",
            "tr_tckn",
        ):
            place = FakeForm(form, mask).check_place
            signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if name == "it_codice_fiscale" else "0123456789"
            out += (
                [w for sign in signs if form.passes(w := word[:place] + sign + word[place + 1 :])][
                    :1
                ]
                if place is not None and form.has(word)
                else []
            )
    return out


@pytest.mark.parametrize(
    "name",
    [
        "nl_bsn",
        "credit_card",
        "es_dni",
        "uk_nhs",
        "de_tax_id",
        "ch_ahv",
        "at_svnr",
        "pl_pesel",
        "pt_nif",
        "in_aadhaar",
        "de_kvnr",
    ],
)
def test_check_digits_are_evidence_from_a_dozen_numbers_on(name):
    rng = np.random.default_rng(5)
    numbers = numbers_of(name, rng, 40, right=True)
    found = form_of_words(numbers)
    assert found is not None
    assert (found.form, found.reason) == (name, Reason.CHECKSUM)
    assert form_of_words(numbers[:2]) is None
    typo = [*numbers[:-2], *numbers_of(name, rng, 2, right=False)]  # two of forty may be wrong
    assert form_of_words(typo).form == name


def test_random_digits_are_not():
    """300 columns of 5 to 100 random numbers, of nine to sixteen digits: by the stated odds, once in 100 such tests at the most one is taken for something."""
    rng = np.random.default_rng(6)
    for i in range(300):
        n, length = int(rng.integers(5, 100)), 9 + i % 8
        words = [str(number) for number in rng.integers(10 ** (length - 1), 10**length, n)]
        assert form_of_words(words) is None
        assert form_of_words(words, numbers=True) is None


def test_whole_numbers_that_lost_their_zeros():
    rng = np.random.default_rng(7)
    numbers = [
        *(f"0{number}" for number in range(10_000_000, 10_000_900)),
        *map(str, rng.integers(100_000_000, 999_999_999, 900)),
    ]
    right = [int(word) for word in numbers if FORMS["nl_bsn"].passes(word)]
    table = chaffinch.scan(
        pa.table({"v1": np.tile(right, 4), "sex": ["f", "m"] * (2 * len(right))})
    )
    assert table.schema["v1"].evidence.form == "nl_bsn"


def test_coordinates_are_named_and_precise():
    def float_column(decimals):
        return chaffinch.Column("Latitude", "float", type="double", decimals=decimals)

    assert evidence_of(float_column(5)).form == "latitude"
    assert evidence_of(float_column(None)).form == "latitude"
    assert evidence_of(float_column(2)) is None
    assert evidence_of(chaffinch.Column("birth_name", "date", type="date32")) is None


def profiled(numbers):
    profile = Profile(pa.int64())
    profile.add(pa.array(np.asarray(numbers, dtype=np.int64)))
    return profile


@given(st.lists(st.integers(-40, 400), min_size=2, max_size=40), st.sampled_from([1, 5, 100]))
def test_the_expected_equals_are_pairs_a_few_steps_apart(numbers, factor):
    """Second opinion: all pairs, one by one."""
    values, counts = np.unique(np.array(numbers) * factor, return_counts=True)
    if len(values) < 2:
        return
    gaps = np.diff(values)
    step = int(np.gcd.reduce(gaps))
    reach = max(step, int(np.median(gaps)) // step * step)
    every = np.sort(np.array(numbers) * factor)
    pairs = sum(0 < b - a <= reach for i, a in enumerate(every) for b in every[i + 1 :])
    assert _expected_equals(values, counts.astype(float)) == pytest.approx(
        pairs / (2 * reach / step)
    )


PERSONAL = {
    "counted on, with gaps": lambda rng: np.cumsum(rng.integers(1, 12, 600)) + 1000,
    "by site": lambda rng: np.concatenate(
        [1000 * s + rng.choice(150, 60, replace=False) for s in range(1, 11)]
    ),
    "seven digits": lambda rng: rng.choice(9_000_000, 400, replace=False) + 1_000_000,
    "nine digits": lambda rng: rng.choice(800_000_000, 60, replace=False) + 100_000_000,
    "few persons twice": lambda rng: np.concatenate(
        [ids := np.cumsum(rng.integers(1, 9, 800)), ids[:20]]
    ),
    "every fifth": lambda rng: 5 * np.cumsum(rng.integers(1, 6, 500)),
}
MEASURES = {
    "income": lambda rng: np.rint(rng.lognormal(10.3, 0.6, 300)),
    "income, a few people": lambda rng: np.rint(rng.lognormal(10.3, 0.6, 60)),
    "income in hundreds": lambda rng: 100 * np.rint(rng.lognormal(5.7, 0.6, 300)),
    "price": lambda rng: np.rint(rng.lognormal(12.4, 0.5, 300) / 500) * 500,
    "weights of records": lambda rng: np.rint(rng.gamma(3, 60_000, 1000)),
    "days of age": lambda rng: rng.integers(6000, 33_000, 100),
    "population": lambda rng: np.rint(rng.pareto(1.1, 200) * 20_000) + 500,
    "normal": lambda rng: np.rint(rng.normal(170_000, 9_000, 400)),
}


@pytest.mark.parametrize("draw", PERSONAL.values(), ids=PERSONAL)
def test_numbers_that_are_given_out_once_are_seen_sorted_or_not(draw):
    """Random ones of six to eight digits pass a test of evenness at 1 %: of 20 tables all but at most two, once in a thousand more."""
    rng = np.random.default_rng(5)
    seen = []
    for _ in range(20):
        numbers = np.asarray(draw(rng))
        seen.append(given_out_once(profiled(numbers)))
        assert given_out_once(profiled(np.sort(numbers))) == given_out_once(
            profiled(rng.permutation(numbers))
        )
    assert sum(seen) >= 18


@pytest.mark.parametrize("draw", MEASURES.values(), ids=MEASURES)
def test_measures_are_not(draw):
    """One column in ten thousand by the first sign; 50 tables of each of eight measures fail once in 25 by that alone, if at all."""
    rng = np.random.default_rng(6)
    assert not any(given_out_once(profiled(draw(rng))) for _ in range(50))


def test_numbers_that_rise_from_row_to_row():
    rng = np.random.default_rng(8)
    ids = np.cumsum(rng.integers(1, 400, 30))
    assert given_out_in_order(profiled(ids))
    halves = Profile(pa.int64())
    halves.add(pa.array(ids[:10]))
    halves.add(pa.array(ids[10:]))
    assert given_out_in_order(halves)
    assert not given_out_in_order(profiled(ids[::-1]))
    assert not given_out_in_order(profiled(rng.permutation(ids)))
    assert not given_out_in_order(
        profiled(np.sort(np.rint(rng.normal(50, 10, 60))))
    )  # a measure that was sorted has equals
    assert not given_out_in_order(profiled(np.arange(1900, 2020, 4)))  # years of a series
    assert not given_out_once(profiled(np.arange(1565, 1820, 5)))
    assert not given_out_in_order(profiled(ids[:10]))


@given(seen=st.integers(0, 3000), expected=st.floats(1e-6, 3000.0))
@example(seen=0, expected=0.0)
def test_the_chance_of_a_poisson_count_is_that_of_scipy(seen, expected):
    from scipy.stats import poisson

    assert _poisson_below(float(seen), expected) == pytest.approx(
        poisson.cdf(seen, expected), rel=1e-8, abs=1e-300
    )


def undecided_people(n=200):
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "nach name": rng.choice(["Huber", "Maier", "Gruber"], n),
            "svnr": rng.choice(900_000_000, n, replace=False) + 1_000_000_000,
            "sex": ["f", "m"] * (n // 2),
        }
    )


@pytest.fixture
def undecided_table():
    with pytest.warns(chaffinch.errors.PersonalDataWarning):
        return chaffinch.read(undecided_people())


def test_one_message_names_all_and_has_the_lines_to_write(undecided_table, tmp_path):
    with pytest.raises(chaffinch.errors.PersonalDataError) as stopped:
        check_decided(undecided_table.schema)
    message = str(stopped.value)
    assert "  nach name  surnames, by its name\n  svnr       Austrian" in message
    assert "--personal 'nach name=drop' --personal svnr=drop" in message
    assert "Huber" not in message
    block = re.search(r"\n\n(format.*)\n\nOn the", message, re.DOTALL)[1]
    assert tomllib.loads(block)["columns"] == {"nach name": "drop", "svnr": "drop"}
    (tmp_path / "s.toml").write_text(block)
    assert chaffinch.read(undecided_people(), tmp_path / "s.toml").schema.names == ("sex",)
    python = re.search(r"schema=(\{.*\}), for", message)[1]
    assert python == '{"nach name": "drop", "svnr": "drop"}'


def test_fits_stop(undecided_table):
    for data in (undecided_table, undecided_people()):
        with pytest.raises(chaffinch.errors.PersonalDataError, match="nach name"):
            chaffinch.BayesNet().fit(data)
    decided = chaffinch.read(undecided_people(), {"nach name": "keep", "svnr": "drop"})
    assert chaffinch.BayesNet().fit(decided).schema.names == ("nach name", "sex")


def test_a_subset_of_columns_that_is_free_of_them_does_not_stop(undecided_table):
    check_decided(undecided_table[["sex"]].schema)
    with pytest.raises(chaffinch.errors.PersonalDataError):
        check_decided(undecided_table[:50].schema)


def test_under_a_promise_what_was_found_in_records_has_no_say(undecided_table):
    columns = (
        chaffinch.Column("v1", "integer", bounds=(0, 10)),
        chaffinch.Column("sex", "categorical", levels=("f", "m")),
    )
    check_declared_decided(chaffinch.Schema(columns, public=True))
    with pytest.raises(chaffinch.errors.PersonalDataError, match="surnames, by its name"):
        check_declared_decided(
            chaffinch.Schema(
                (*columns, chaffinch.Column("surname", "categorical", levels=("a", "b", "c"))),
                public=True,
            )
        )


def test_decisions_win_over_a_schema():
    schema = chaffinch.Schema(
        (
            chaffinch.Column("a", "categorical", levels=("x", "y")),
            chaffinch.Column("b", "identifier", "identifier"),
        )
    )
    both = with_decisions(schema, {"a": "drop", "b": "keep", "c": "fake"})
    assert [(column.name, column.kind, column.output) for column in both] == [
        ("a", "identifier", ""),
        ("b", "unknown", "keep"),
        ("c", "identifier", "fake"),
    ]
    assert with_decisions(schema, {}) is schema
    assert with_decisions(None, {"a": "keep"}).columns[0].output == "keep"
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Did you mean 'drop'"):
        with_decisions(None, {"a": "dropp"})
