"""Matches and the CAP family, beside hand-worked tables and plain loops over rows."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.risk.attribution.cap import MEASURES, cap, dcap, dis, disco, disdio, in_source
from chaffinch.risk.attribution.matching import Match, match
from chaffinch.risk.attribution.tcap import weap

Row = tuple[tuple[int, ...], int]


def hand(text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return keys and values of 'A:1 B:2 | A:1', people left of the bar, source right."""
    out = []
    for side in text.split("|"):
        pairs = [cell.split(":") for cell in side.split()]
        out += [
            np.array([[ord(k)] for k, _ in pairs], dtype=int).reshape(-1, 1),
            np.array([int(v) for _, v in pairs], dtype=int),
        ]
    return tuple(out)  # type: ignore[return-value]


V1 = "A:1 A:2 B:1 B:1 C:1 | A:1 A:2 B:1 C:1"
V2 = "A:1 A:1 A:2 B:2 D:3 D:4 | A:1 B:2 D:3 D:4"
V3 = "A:1 A:2 B:1 B:1 | A:1 A:2 B:1"
V5 = "A:1 A:1 A:2 B:1 B:1 | A:1 A:2 B:1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            V1,
            {
                "CAP": 0.8,
                "DCAP": 0.8,
                "iS": 1.0,
                "DiS": 0.6,
                "DiSCO": 0.6,
                "DiSDiO": 0.6,
                "UiO": 0.2,
                "repU": 0.2,
            },
        ),
        (
            V2,
            {
                "CAP": 2 / 3,
                "iS": 1.0,
                "DiS": 4 / 6,
                "DiSCO": 0.5,
                "DiSDiO": 1 / 6,
                "repU": 1 / 6,
                "UiOiS": 1 / 6,
            },
        ),
        (V3, {"DCAP": 0.75, "CAPd": 0.75, "baseCAPd": 0.625, "Dorig": 0.5, "UiS": 1 / 3}),
        (V5, {"DiSCO": 0.4, "DiS": 0.4, "UiO": 0.0}),
    ],
)
def test_hand_worked_tables(text: str, expected: dict[str, float]) -> None:
    found = match(*hand(text))
    assert {name: MEASURES[name](found).value for name in expected} == pytest.approx(
        expected, abs=1e-15
    )


def test_scores_of_each_person() -> None:
    assert cap(match(*hand(V1))).numerator.tolist() == [0.5, 0.5, 1, 1, 1]
    assert cap(match(*hand(V2))).numerator.tolist() == [1, 1, 0, 1, 0.5, 0.5]


def test_caps_and_the_mode_of_the_source() -> None:
    """V3: the source attacking itself scores 2/3."""
    _, _, keys, values = hand(V3)
    assert dcap(match(keys, values, keys, values)).value == pytest.approx(2 / 3)


def test_no_shared_key() -> None:
    found = match(*hand("A:1 B:2 | C:1 D:2"))
    assert cap(found).value is None
    assert int(found.matched.sum()) == 0
    assert [measure(found).value for measure in (dcap, in_source, dis, disco)] == [0, 0, 0, 0]


def test_all_keys_ambiguous() -> None:
    found = match(*hand("A:1 A:2 | A:1 A:2"))
    assert [measure(found).value for measure in (dis, disco, disdio, cap)] == [0, 0, 0, 0.5]


# Plain loops, from the definitions.


def slow_counts(rows: Sequence[Row], others: Sequence[Row]) -> list[tuple[int, int, int]]:
    out = []
    for row in rows:
        values: dict[int, int] = {}
        for other in others:
            if row[0] == other[0]:
                values[other[1]] = values.get(other[1], 0) + 1
        out.append((sum(values.values()), values.get(row[1], 0), max(values.values(), default=0)))
    return out


def slow_measures(
    people: Sequence[Row], source: Sequence[Row], tau: float
) -> dict[str, float | None]:
    theirs, own = slow_counts(people, source), slow_counts(people, people)
    n = len(people)

    def share(hits: int | float, of: int) -> float | None:
        return hits / of if of else None

    in_s = [k > 0 for k, _, _ in theirs]
    attribution = [b / k if k else 0.0 for k, b, _ in theirs]
    disclosive = [k > 0 and t / k >= tau for k, _, t in theirs]
    right = [k > 0 and b / k >= tau for k, b, _ in theirs]
    certain_here = [b / k >= tau for k, b, _ in own]
    unique = [k == 1 for k, _, _ in own]
    return {
        "CAP": share(sum(attribution), sum(in_s)),
        "DCAP": share(sum(attribution), n),
        "iS": share(sum(in_s), n),
        "DiS": share(sum(disclosive), n),
        "DiSCO": share(sum(right), n),
        "DiSDiO": share(sum(a and b for a, b in zip(right, certain_here, strict=True)), n),
        "UiO": share(sum(unique), n),
        "UiS": share(sum(k == 1 for k, _, _ in slow_counts(source, source)), len(source)),
        "UiOiS": share(sum(a and b for a, b in zip(unique, in_s, strict=True)), n),
        "repU": share(sum(a and k[0] == 1 for a, k in zip(unique, theirs, strict=True)), n),
        "Dorig": share(sum(certain_here), n),
        "CAPd": share(sum(b / k for k, b, _ in own), n),
        "baseCAPd": share(sum(sum(q[1] == p[1] for q in people) / n for p in people), n),
    }


@st.composite
def two_tables(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    d = draw(st.integers(1, 4))
    rows = st.lists(st.tuples(st.tuples(*[st.integers(0, 2)] * d), st.integers(0, 3)), max_size=20)
    return draw(rows), draw(rows)


def coded(tables: Sequence[Sequence[Row]]) -> list[np.ndarray]:
    """Return keys and values of people and source, as `match` takes them."""
    d = len([*tables[0], *tables[1], ((0,), 0)][0][0])
    out = []
    for rows in tables:
        out.append(np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, d))
        out.append(np.array([row[1] for row in rows], dtype=np.int64))
    return out


def matched(people: Sequence[Row], source: Sequence[Row]) -> Match:
    return match(*coded((people, source)))


def at(found: Match, tau: float) -> dict[str, float | None]:
    taken = {"DiS", "DiSCO", "DiSDiO", "Dorig"}
    return {
        name: (m(found, tau=tau) if name in taken else m(found)).value
        for name, m in MEASURES.items()
    }  # type: ignore[call-arg]


def check(people: Sequence[Row], source: Sequence[Row], tau: float) -> None:
    found = matched(people, source)
    counts = list(
        zip(found.n_key.tolist(), found.n_both.tolist(), found.n_top.tolist(), strict=True)
    )
    assert counts == slow_counts(people, source)
    own = slow_counts(people, people)
    assert list(zip(found.people_key.tolist(), found.people_both.tolist(), strict=True)) == [
        o[:2] for o in own
    ]
    assert found.disclosive_at(1.0).tolist() == [k > 0 and t == k for k, _, t in counts]
    assert found.right.tolist() == [k > 0 and b == k for k, b, _ in counts]
    assert found.people_at(1.0).tolist() == [b == k for k, b, _ in own]
    expected = slow_measures(people, source, tau)
    assert at(found, tau) == {
        k: None if v is None else pytest.approx(v, abs=1e-12) for k, v in expected.items()
    }


TAU = st.sampled_from([1.0, 0.75, 0.7, 0.5, 1 / 3, 0.1])


@settings(deadline=None)
@given(two_tables(), TAU)
def test_loops_agree(tables: tuple[list[Row], list[Row]], tau: float) -> None:
    check(*tables, tau)


# Identities.


@settings(deadline=None)
@given(two_tables())
def test_identities(tables: tuple[list[Row], list[Row]]) -> None:
    found = matched(*tables)
    values = {name: measure(found).value for name, measure in MEASURES.items()}
    if not tables[0]:
        assert {v for k, v in values.items() if k != "UiS"} == {None}
        return
    assert values["DCAP"] == pytest.approx(values["iS"] * (values["CAP"] or 0.0))  # type: ignore[operator]
    assert values["DiSDiO"] <= values["DiSCO"] <= values["DiS"] <= values["iS"] <= 1  # type: ignore[operator]
    assert values["DiSCO"] <= values["DCAP"] + 1e-12  # type: ignore[operator]
    assert values["repU"] <= values["UiOiS"] <= values["UiO"]  # type: ignore[operator]
    copy = matched(tables[0], tables[0])
    at_copy = {name: measure(copy).value for name, measure in MEASURES.items()}
    assert at_copy["DiSCO"] == at_copy["DiSDiO"] == values["Dorig"]
    assert at_copy["DCAP"] == at_copy["CAP"] == values["CAPd"]
    assert at_copy["repU"] == at_copy["UiO"] == at_copy["UiS"] == values["UiO"]


@settings(deadline=None)
@given(two_tables(), st.randoms(use_true_random=False))
def test_order_of_rows_and_names_of_levels_do_not_matter(
    tables: tuple[list[Row], list[Row]], random: object
) -> None:
    people, source = tables
    names = [-4, 9, 10**12]
    random.shuffle(names)  # type: ignore[attr-defined]

    def renamed(rows: list[Row]) -> list[Row]:
        return [(tuple(names[k] for k in keys), 5 - 3 * value) for keys, value in rows]

    order = list(range(len(people)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = list(source)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    plain = matched(people, source)
    other = matched(renamed([people[i] for i in order]), renamed(shuffled))
    for name in ("n_key", "n_both", "n_top", "people_key", "people_both", "people_value"):
        assert getattr(plain, name)[order].tolist() == getattr(other, name).tolist(), name


# Edges.


def test_edges() -> None:
    one = np.array([[4]]), np.array([2])
    none = np.empty((0, 1), dtype=int), np.empty(0, dtype=int)
    assert {m(match(*one, *one)).value for m in MEASURES.values()} == {1.0}
    nobody = match(*none, *one)
    assert {m(nobody).value for k, m in MEASURES.items() if k != "UiS"} == {None}
    nothing = match(*one, *none)
    assert in_source(nothing).value == dcap(nothing).value == disco(nothing).value == 0.0
    assert cap(nothing).value is None


def test_one_class_gives_the_product_of_shares() -> None:
    """Without keys all rows match: DCAP is the sum over values of people's share x source's share."""
    people, source = np.array([0, 0, 1]), np.array([0, 1, 1, 1])
    found = match(np.empty((3, 0), dtype=int), people, np.empty((4, 0), dtype=int), source)
    assert dcap(found).value == pytest.approx(2 / 3 * 1 / 4 + 1 / 3 * 3 / 4)


def test_a_hundred_thousand_levels() -> None:
    """Source: each person's row with the value moved by one for odd people."""
    n = 100_000
    keys, values = np.arange(n)[:, None] * 10**9, np.arange(n)
    found = match(keys, values, keys[::-1], (values + values % 2)[::-1])
    assert disco(found).value == cap(found).value == 0.5


def test_errors() -> None:
    keys, values = np.zeros((2, 1), dtype=int), np.zeros(2, dtype=int)
    with pytest.raises(InputError, match="different lengths"):
        match(keys, values[:1], keys, values)
    for tau in (0.0, 1.1, float("nan")):
        with pytest.raises(InputError, match="tau must be above 0 and at most 1"):
            dis(match(keys, values, keys, values), tau=tau)


def test_sdmetrics_agrees() -> None:
    """CAP and 0CAP of SDMetrics are 1 minus ours, on 200 random tables; it gives NaN where no key is shared."""
    pytest.importorskip(
        "sdmetrics", reason="SDMetrics is no dependency: install it beside chaffinch to compare"
    )
    import pandas as pd
    from sdmetrics.single_table import CategoricalCAP, CategoricalZeroCAP

    rng = np.random.default_rng(11)
    unmatched = 0
    for _ in range(200):
        d, levels = int(rng.integers(1, 4)), int(rng.integers(2, 5))
        people, source = (
            rng.integers(0, levels, (int(rng.integers(1, 30)), d + 1)) for _ in range(2)
        )
        names = [f"k{j}" for j in range(d)]
        frames = [pd.DataFrame(t, columns=[*names, "s"]).astype(str) for t in (people, source)]
        found = match(people[:, :d], people[:, d], source[:, :d], source[:, d])
        for theirs, ours in ((CategoricalCAP, cap(found)), (CategoricalZeroCAP, dcap(found))):
            score = theirs.compute(*frames, key_fields=names, sensitive_fields=["s"])
            if ours.value is None:
                unmatched += 1
                assert np.isnan(score)
            else:
                assert 1 - score == pytest.approx(ours.value, abs=1e-12)
    assert unmatched > 0


def test_weap_is_cap_of_the_source_itself() -> None:
    _, _, keys, values = hand(V2)
    assert weap(keys, values).tolist() == [1, 1, 0.5, 0.5]
