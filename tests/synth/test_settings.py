"""A synthesiser is one place: what every one offers, and a user's own that the whole package finds by its name."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass, fields
from typing import Any, ClassVar, get_type_hints

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.csv import write_csv
from sklearn.base import clone

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.risk.finding import column_findings
from chaffinch.synth import (
    SYNTHESISERS,
    BayesNet,
    FieldGroups,
    FittedModel,
    Independent,
    MethodOptions,
    Model,
    PrivBayes,
    Settings,
    method_words,
    synthesiser_of,
)
from chaffinch.synth.data import counter_of
from chaffinch.synth.settings import method_of
from chaffinch.table import Schema

from ..factories import people

# A synthesiser of a user's own, in one place: it repeats the commonest code of each column, with some noise.


@dataclass(frozen=True, eq=False, repr=False)
class ToyModel(FittedModel):
    """The commonest code of each column, and how often another is drawn."""

    kind: ClassVar[str] = "toy"
    schema: Schema
    modes: dict[str, int]
    noise: float
    rows: int
    origin: Any = None

    @property
    def n_rows(self) -> int:
        return self.rows

    def draw_codes(self, n_rows, rng):
        out = {}
        for name, size in zip(self.schema.names, self.schema.sizes, strict=True):
            other = rng.integers(0, size, n_rows)
            out[name] = np.where(rng.random(n_rows) < self.noise, other, self.modes[name]).astype(
                np.uint32
            )
        return out

    def state(self):
        modes = np.array([self.modes[name] for name in self.schema.names], dtype=np.int64)
        return {"noise": self.noise, "rows": self.rows}, {"modes": modes}

    @classmethod
    def from_state(cls, schema, data, arrays):
        modes = dict(zip(schema.names, arrays["modes"].tolist(), strict=True))
        return cls(schema, modes, float(data["noise"]), int(data["rows"]))


@dataclass(frozen=True, repr=False)
class Toy(Settings):
    """The commonest code of each column, and another one with a chance of `noise`."""

    name: ClassVar[str] = "toy"
    sentence: ClassVar[str] = "the commonest value of each column"
    model: ClassVar[type[ToyModel]] = ToyModel
    refusal: ClassVar[str] = "has no edges"

    noise: float = 0.25

    def fit(self, data, *, seed=None, progress=lambda words, share: None):
        counter, origin = counter_of(data)
        counts = counter.marginals([(name,) for name in counter.schema.names])
        modes = {m.columns[0]: int(np.argmax(m.counts)) for m in counts}
        return ToyModel(counter.schema, modes, self.noise, counter.n_rows, origin)


@pytest.fixture
def toy():
    """The user's own, registered as users do, and gone again afterwards."""
    SYNTHESISERS.register(Toy)
    yield Toy
    SYNTHESISERS.remove("toy")


@pytest.fixture
def people_csv(tmp_path):
    write_csv(people(200, columns=("sex", "age", "ill")), tmp_path / "people.csv")
    return tmp_path / "people.csv"


# A user's own


def test_a_toy_is_saved_loaded_and_sampled(toy, people_csv, tmp_path):
    model = Toy(noise=0.5).fit(pd.read_csv(people_csv))
    assert isinstance(model, Model)
    model.save(tmp_path / "m.chaffinch")
    back = chaffinch.load(tmp_path / "m.chaffinch")
    assert back.n_rows == len(back.sample(seed=1)) == 200
    assert back.sample(50, seed=1).data.equals(model.sample(50, seed=1).data)
    assert isinstance(model.sample(5, seed=1).to_native(), pd.DataFrame)
    assert back.confidential
    with pytest.raises(chaffinch._base.errors.InputError, match="cannot be given values"):
        model.sample(5, given={"sex": "f"})


def test_a_file_of_a_kind_that_nobody_registered(people_csv, tmp_path):
    Toy().fit(people_csv).save(tmp_path / "m.chaffinch")
    with pytest.raises(
        chaffinch._base.errors.FileError, match="kind 'toy', which no registered synthesiser makes"
    ):
        chaffinch.load(tmp_path / "m.chaffinch")


def test_a_damaged_file_of_a_toy(toy, people_csv, tmp_path):
    Toy().fit(people_csv).save(tmp_path / "m.chaffinch")
    raw = (tmp_path / "m.chaffinch").read_bytes()
    (tmp_path / "m.chaffinch").write_bytes(raw.replace(b'\\"rows\\": 200}', b'\\"tows\\": 200}'))
    assert raw != (tmp_path / "m.chaffinch").read_bytes()
    with pytest.raises(chaffinch._base.errors.FileError, match="damaged"):
        chaffinch.load(tmp_path / "m.chaffinch")


def test_the_command_line_finds_a_toy(toy, people_csv, tmp_path, run_here):
    out, model = tmp_path / "out.csv", tmp_path / "m.chaffinch"
    done = run_here(
        "synth", people_csv, "-o", out, "--method", "toy:noise=0", "--model", model, "--seed", 1
    )
    assert done.code == 0, done.err
    assert pd.read_csv(out)["ill"].unique().tolist() == ["no"], (
        "no noise: the commonest value throughout"
    )
    assert run_here("sample", model, "-o", tmp_path / "again.csv", "-n", 7).code == 0
    shown = run_here("inspect", model)
    assert (shown.code, shown.out.splitlines()[0]) == (0, "3 columns, method toy")
    assert run_here("inspect", model, "--svg", tmp_path / "m.svg").code == 2
    for command in ("synth", "fit", "release"):
        words = re.sub(r"[\s│]+", " ", run_here(command, "--help-all").out)
        assert "toy (the commonest value of each column)" in words, command
    assert "toy (" not in re.sub(r"[\s│]+", " ", run_here("plan", "--help-all").out), (
        "it makes no promise"
    )


def test_a_toy_is_released(toy, people_csv, tmp_path, run_here):
    folder = tmp_path / "folder"
    done = run_here(
        "release",
        people_csv,
        "-o",
        folder,
        "--method",
        "toy",
        "--label",
        "ill",
        "--measures",
        "tvd",
        "--repeats",
        1,
        "--seed",
        1,
    )
    assert done.code == 0, done.err
    inside = folder / "confidential"
    assert sorted(p.name for p in inside.iterdir()) == [
        "model.chaffinch",
        "report.html",
        "report.json",
        "shapes.json",
    ]
    assert [p.name for p in (folder / "to-release").iterdir()] == ["synthetic.csv"]
    assert (
        json.loads((inside / "report.json").read_text())["synthesis"]["network"]["method"] == "toy"
    )
    assert ">toy<" in (inside / "report.html").read_text()


def test_what_a_toy_refuses(toy, people_csv, tmp_path, run_here):
    for options, words in (
        (
            ["--keep", "sex"],
            "--method toy has no edges: leave out --keep, --require, --forbid and --root.",
        ),
        (
            ["--epsilon", 1],
            "--method toy makes no promise: leave out --epsilon, or use --method bayesnet.",
        ),
        (
            ["--groups", "sex,ill"],
            "--groups is for --method fieldgroups: add that, or leave it out.",
        ),
    ):
        done = run_here("synth", people_csv, "-o", tmp_path / "o.csv", "--method", "toy", *options)
        assert (done.code, words in done.err) == (2, True), done.err
    for method, words in (
        ("toy:dpart", "Unknown method 'toy:dpart'"),
        ("toy:noize=1", "Unknown toy setting 'noize'. Did you mean 'noise'?"),
        ("toy:noise=much", "noise must be a number. Got 'much'."),
        ("toy:epsilon=1", "Unknown toy setting 'epsilon'"),
        ("bayesnet:epsilon=1", "Setting 'epsilon' has an option of its own: give --epsilon."),
        ("tov", "Unknown method 'tov'. Did you mean 'toy'?"),
    ):
        done = run_here("synth", people_csv, "-o", tmp_path / "o.csv", "--method", method)
        assert (done.code, words in done.err) == (2, True), done.err


def test_a_toy_in_one_line_and_under_attack(toy, people_csv):
    assert synthesiser_of("toy:noise=0.5") == Toy(noise=0.5)
    table = chaffinch.read(people_csv)
    study = chaffinch.risk(
        table, Toy().fit(table).sample(seed=1), keys=["sex"], sensitive=["ill"], seed=1
    )
    assert column_findings(study.findings)


def test_a_name_is_taken_once(toy):
    with pytest.raises(chaffinch._base.errors.InputError, match="There is a method 'toy' already"):
        SYNTHESISERS.register(Toy)


# What every one offers

EVERY = [
    BayesNet(),
    BayesNet(parents=2, sensitive=("a",), label="b", require=(("a", "c"),), epsilon=1.0),
    Independent(),
    PrivBayes(epsilon=1.0, variant="dpart"),
    FieldGroups(epsilon=2.0, groups=(("a", "b"),)),
    Toy(noise=0.5),
]


@pytest.mark.parametrize("settings", EVERY, ids=repr)
def test_settings_show_what_differs_and_are_cloned_like_estimators(settings):
    params = settings.get_params()
    assert type(settings)(**params) == settings == clone(settings, safe=False)
    namespace = {
        kind.__name__: kind for kind in (BayesNet, Independent, PrivBayes, FieldGroups, Toy)
    }
    again = eval(repr(settings), namespace)
    assert again == settings
    assert all(
        f"{name}=" not in repr(settings)
        for name in params
        if params[name] in (None, (), "add-remove", 1.9)
    )


def test_settings_are_changed_in_a_copy():
    settings = BayesNet()
    assert settings.set_params(parents=1) == BayesNet(parents=1)
    assert settings == BayesNet()
    with pytest.raises(
        chaffinch._base.errors.UnknownNameError, match="Unknown bayesnet setting 'parent'"
    ):
        settings.set_params(parent=1)
    with pytest.raises(chaffinch._base.errors.InputError, match="at least 1"):
        settings.set_params(parents=0)


def test_every_name_has_a_sentence_in_help():
    words = ", ".join(method_words())
    for kind in SYNTHESISERS:
        assert f"{kind.name}" in words
        assert kind.sentence in words
    assert "privbayes[:datasynthesizer|:dpart|:sdg]" in words
    assert not any("independent" in word for word in method_words(private=True))


def test_no_budget_without_a_promise():
    for settings in (BayesNet(), Independent()):
        with pytest.raises(chaffinch._base.errors.InputError, match="no budget"):
            _ = settings.budget
    assert not hasattr(Independent(), "unit"), (
        "an audit asks under which relation epsilon is claimed"
    )
    assert BayesNet().unit.neighbours == "add-remove"
    with pytest.raises(chaffinch._base.errors.InputError, match="'independent' makes no promise"):
        Independent().plan(Schema((chaffinch.Column("a", "boolean"),)))


# Options as one value: what was changed, and the promise they amount to.


def test_options_become_settings():
    asked = {"parents": 2, "epsilon": 1.0, "neighbours": "replace-one", "label": "x"}
    assert method_of("bayesnet", asked) == BayesNet(**asked)
    assert method_of("privbayes:sdg", asked) == PrivBayes(epsilon=1.0, variant="sdg", parents=2)
    assert method_of("fieldgroups", asked) == FieldGroups(epsilon=1.0, neighbours="replace-one")
    assert method_of("bayesnet", {"generations": 7}).evolution.generations == 7


def test_a_method_itself_has_its_settings_but_for_roles():
    asked = {"label": "x", "sensitive": ("y",)}
    assert method_of(BayesNet(parents=2), asked) == BayesNet(parents=2, **asked)
    assert method_of(BayesNet(label="z"), {"label": "x"}).label == "z"
    assert method_of(Independent(), asked) == Independent()
    with pytest.raises(InputError, match=r"write it there, as BayesNet\(parents=...\)"):
        method_of(BayesNet(), {"parents": 2})
    with pytest.raises(InputError, match=r"method must be a synthesiser.* Got int"):
        method_of(3, {})


def test_what_was_given_is_what_differs_from_the_defaults():
    asked = MethodOptions.from_options(parents=2, epsilon=1.0, delta=1e-6)
    assert asked.given() == {"parents": 2, "epsilon": 1.0, "delta": 1e-6}
    assert MethodOptions().given() == {}


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        ("bayesnet", BayesNet()),
        ("bayesnet:", BayesNet()),
        (" bayesnet:parents=2,epsilon=1 ", BayesNet(parents=2, epsilon=1.0)),
        ("bayesnet: parents = 2 , epsilon = 1 ", BayesNet(parents=2, epsilon=1.0)),
        ("bayesnet:epsilon=1,delta=1e-6", BayesNet(epsilon=1.0, delta=1e-6)),
        ("bayesnet:sensitive=a+b,label=c", BayesNet(sensitive=("a", "b"), label="c")),
        (
            "bayesnet:require=a:b+c:d,order=a+b",
            BayesNet(require=(("a", "b"), ("c", "d")), order=("a", "b")),
        ),
        (
            "bayesnet:search=genetic,generations=5",
            BayesNet(search="genetic", evolution=chaffinch.Evolution(generations=5)),
        ),
        ("independent", chaffinch.Independent()),
        ("privbayes:epsilon=1", PrivBayes(epsilon=1.0)),
        ("privbayes:dpart:epsilon=1", PrivBayes(epsilon=1.0, variant="dpart")),
        ("privbayes:variant=dpart,epsilon=1", PrivBayes(epsilon=1.0, variant="dpart")),
        (
            "privbayes:sdg:epsilon=0.5,agree=true,score=I",
            PrivBayes(epsilon=0.5, variant="sdg", agree=True, score="I"),
        ),
        ("privbayes:epsilon=1,agree=false", PrivBayes(epsilon=1.0, agree=False)),
        (
            "fieldgroups:epsilon=1,groups=a+b;c+d",
            FieldGroups(epsilon=1.0, groups=(("a", "b"), ("c", "d"))),
        ),
    ],
)
def test_a_line_is_what_python_makes(spec, made):
    assert synthesiser_of(spec) == made
    assert repr(synthesiser_of(spec)) == repr(made)  # 1 and 1.0 are equal, and not the same


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "A synthesiser is missing"),
        ("bayesnt", "Unknown method 'bayesnt'. Did you mean 'bayesnet'?"),
        ("bayesnet:paronts=2", "Unknown bayesnet setting 'paronts'. Did you mean 'parents'?"),
        ("bayesnet:network=a", "Unknown bayesnet setting 'network'"),
        ("bayesnet:parents=two", "parents must be a whole number of at least 1. Got 'two'"),
        ("bayesnet:parents=2.5", "parents must be a whole number of at least 1. Got '2.5'"),
        ("bayesnet:epsilon=much", "epsilon must be a number above 0. Got 'much'"),
        ("bayesnet:epsilon=-1", "epsilon must be a number above 0"),
        ("bayesnet:epsilon=nan", "epsilon must be a number above 0"),
        ("bayesnet:parents", "Unknown method 'bayesnet:parents'"),
        ("bayesnet:parents=", "written SETTING=VALUE"),
        ("bayesnet:parents=1,parents=2", "Setting 'parents' is there twice"),
        ("bayesnet:search=gready", "Unknown search 'gready'. Did you mean 'greedy'?"),
        ("bayesnet:require=ab", "require must be a pair PARENT:CHILD"),
        ("privbayes", "needs epsilon: write it as privbayes:epsilon=1"),
        ("privbayes:dpart", "needs epsilon"),
        ("privbayes:dprt:epsilon=1", "Unknown variant 'dprt'. Did you mean 'dpart'?"),
        ("privbayes:dpart:variant=sdg,epsilon=1", "Setting 'variant' is there twice"),
        ("privbayes:epsilon=1,agree=yes", "agree must be true or false. Got 'yes'"),
        ("independent:epsilon=1", "Unknown independent setting 'epsilon'"),
    ],
)
def test_what_is_wrong_is_named(spec, message):
    with pytest.raises(chaffinch._base.errors.ChaffinchError) as raised:
        synthesiser_of(spec)
    assert message in str(raised.value)


def test_a_method_without_settings_says_so():
    @dataclass(frozen=True)
    class Bare(Settings):
        name = "bare"

    SYNTHESISERS.register(Bare)
    try:
        with pytest.raises(InputError, match=r"'bare' has no settings\. Got 'epsilon': leave it"):
            synthesiser_of("bare:epsilon=1")
    finally:
        SYNTHESISERS.remove("bare")


def test_every_argument_of_the_api_can_be_written():
    """A setting that is added to a synthesiser is found here at once: each takes a word of its type."""
    words = {"int": "1", "float": "0.5", "bool": "true", "str": "a"}
    for name, kind in (
        ("bayesnet", BayesNet),
        ("privbayes", PrivBayes),
        ("fieldgroups", FieldGroups),
    ):
        hints = get_type_hints(kind)
        for field in fields(kind):
            if field.name in ("network", "evolution", "epsilon"):
                continue
            hint = str(hints[field.name])
            word = next(
                (w for key, w in words.items() if f"'{key}'" in hint or hint.startswith(key)),
                "no such word",
            )
            said = ""
            try:
                synthesiser_of(f"{name}:epsilon=1,{field.name}={word}")
            except chaffinch._base.errors.ChaffinchError as error:
                said = str(error)
            assert f"Unknown {name} setting" not in said, field.name


@given(
    st.integers(1, 9),
    st.floats(1e-3, 1e6),
    st.lists(st.text("abc_ é", min_size=1).map(str.strip).filter(bool), max_size=4, unique=True),
)
def test_numbers_and_names_come_back_as_they_were(parents, epsilon, names):
    listed = f",sensitive={'+'.join(names)}" if names else ""
    made = synthesiser_of(f"bayesnet:parents={parents},epsilon={epsilon!r}{listed}")
    assert (made.parents, made.epsilon, made.sensitive) == (parents, epsilon, tuple(names))


@given(
    st.text(max_size=30),
    st.sampled_from(["", "bayesnet:", "privbayes:epsilon=1,", "bayesnet:label="]),
)
def test_any_text_is_a_synthesiser_or_an_error_of_ours(text, before):
    with contextlib.suppress(chaffinch._base.errors.ChaffinchError):
        synthesiser_of(before + text)
