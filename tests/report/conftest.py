"""Plain data of a utility study, made up but of the shape and size of real ones, with every kind of absence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from itertools import combinations
from typing import Any

import numpy as np
import pytest

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
]
LOWER, HIGHER = "lower is better", "higher is better"


def measure(
    value: float,
    marginals: float | None,
    holdout: float | None,
    *,
    direction: str = LOWER,
    identical: float = 0.0,
    **more: Any,
) -> dict[str, Any]:
    """Return a measure object with an interval of ten per cent either way."""
    half = abs(value) * 0.1
    return {
        "value": value,
        "interval": [value - half, value + half],
        "direction": direction,
        "identical": identical,
        "references": {"marginals": marginals, "holdout": holdout},
        "settings": {"interval": "jackknife over 50 groups of records", "bins": 10},
        **more,
    }


def absent(why: str, direction: str = LOWER) -> dict[str, Any]:
    """Return a measure object without a value."""
    return {
        "value": None,
        "not_applicable": why,
        "direction": direction,
        "identical": 0.0,
        "settings": {},
    }


def matrices(
    names: Sequence[str], rng: np.random.Generator, *, signs: bool, nulls: bool
) -> dict[str, Any]:
    """Return two matrices that differ a little, with nulls for one column."""
    size = len(names)
    original = rng.beta(0.6, 3.0, (size, size)) * (
        rng.choice([-1, 1], (size, size)) if signs else 1
    )
    changed = original * rng.beta(8, 1, (size, size)) + rng.normal(0, 0.01, (size, size))
    out: dict[str, Any] = {"columns": list(names)}
    symmetric = {}
    for side, values in (
        ("original", original),
        ("synthetic", np.clip(changed, -1 if signs else 0, 1)),
    ):
        values = np.tril(values, -1)
        values = values + values.T + np.eye(size)
        symmetric[side] = values
        rows: list[list[float | None]] = np.round(values, 6).tolist()
        if nulls and size > 2:
            for i in range(size):
                rows[i][2] = rows[2][i] = None
        out[side] = rows
    difference = symmetric["synthetic"] - symmetric["original"]
    sizes = np.triu(np.abs(difference), 1)
    pairs = [divmod(int(at), size) for at in np.argsort(-sizes, axis=None)[: 3 * size + 20]]
    known = [(i, j) for i, j in pairs if i < j and not (nulls and 2 in (i, j))]
    out["worst"] = [
        {
            "columns": [names[i], names[j]],
            **{side: float(symmetric[side][i, j]) for side in symmetric},
            "difference": float(difference[i, j]),
        }
        for i, j in known[:20]
    ]
    return out


def learning_rows() -> list[dict[str, Any]]:
    """Return scores of five models learnt from three tables."""
    rows = []
    for model, score in zip(
        ("nb", "svc", "knn", "rf", "lr"), (0.80, 0.845, 0.828, 0.852, 0.825), strict=True
    ):
        for side, loss in (("original", 0.0), ("synthetic", 0.012), ("marginals", 0.09)):
            rows.append(
                {
                    "model": model,
                    "trained_on": side,
                    "score": score - loss,
                    "sd": 0.004,
                    "precision": 0.7 - loss,
                    "recall": 0.55 - loss,
                    "f2": 0.57 - loss,
                    "auc": None if model == "svc" else 0.89 - loss,
                }
            )
    return rows


def make_study(
    names: int | Sequence[str] = 15,
    *,
    seed: int = 1,
    holdout: bool = True,
    label: bool = True,
    nulls: bool = True,
    noise: float = 1.0,
) -> dict[str, Any]:
    """Return a whole study of some columns; `noise` makes the synthetic table worse."""
    if isinstance(names, int):
        names = [*ADULT, *(f"column_{i:03d}" for i in range(len(ADULT), names))][:names]
    names = list(names)
    rng = np.random.default_rng(seed)

    def held(value: float) -> float | None:
        return value if holdout else None

    def largest(width: int) -> list[dict[str, Any]]:
        some = list(combinations(names[:12], width))[:20]
        return [{"columns": list(c), "value": 0.2 * noise / (i + 2)} for i, c in enumerate(some)]

    labels = [name for i, name in enumerate(names) if i % 2] or names[:1]
    study: dict[str, Any] = {
        "format": "chaffinch-utility",
        "version": 1,
        "about": {
            "original": {"name": "adult_train.parquet", "rows": 32560, "columns": len(names)},
            "synthetic": {"name": "synthetic.parquet", "rows": 32560},
            "holdout": {"name": "adult_test.parquet", "rows": 16280} if holdout else None,
            "columns": [
                {
                    "name": n,
                    "kind": "integer" if i % 3 == 0 else "categorical",
                    "levels": 5 + i % 20,
                    "role": "other",
                }
                for i, n in enumerate(names)
            ],
            "label": names[-1] if label else None,
            "seed": 1 if holdout else None,
            "notes": [f"Column '{names[0]}': 3 rare levels were pooled into (other)."],
        },
        "mu": measure(0.0021 * noise, 0.019, held(0.0009), norm="frobenius"),
        "phi_k": measure(
            0.014 * noise, 0.121, held(0.006), **matrices(names, rng, signs=False, nulls=nulls)
        ),
        "pearson": measure(
            0.009 * noise, 0.064, held(0.005), **matrices(names, rng, signs=True, nulls=nulls)
        ),
        "jensen_shannon": measure(
            0.018 * noise,
            0.017,
            held(0.019),
            mean=0.018 * noise,
            per_column={
                n: float(v) * noise
                for n, v in zip(names, rng.gamma(1.5, 0.02, len(names)), strict=True)
            },
        ),
        "tvd": {
            **{
                str(w): measure(
                    (0.011, 0.034, 0.071)[w - 1] * noise,
                    (0.010, 0.12, 0.21)[w - 1],
                    held((0.012, 0.021, 0.043)[w - 1]),
                    mean=(0.011, 0.034, 0.071)[w - 1] * noise,
                    worst=0.2 * noise / 2,
                    worst_columns=names[:w],
                    cliques=(len(names), 105, 455)[w - 1],
                    of=(len(names), 105, 455)[w - 1],
                    largest=largest(w),
                )
                for w in (1, 2, 3)
            },
            "settings": {"widths": [1, 2, 3]},
        },
        "impossible": measure(
            0.031 * noise,
            0.41,
            held(0.012),
            pairs=14,
            cells="<10",
            worst=[
                {"columns": list(c), "share": 0.02 / (i + 1)}
                for i, c in enumerate(list(combinations(names[:6], 2))[:10])
            ],
        ),
        "pmse_ratio": measure(
            2.4 * noise, 46.0, held(1.1), pmse=0.004, null_mean=0.0016, null_sd=0.0002
        ),
        "delta": measure(
            0.013 * noise,
            0.11,
            held(0.004),
            tstr=measure(0.017 * noise, None, None),
            rows=[
                {
                    "label": n,
                    "model": "svc",
                    "score": "error",
                    "original": 0.2 + 0.01 * (i % 30),
                    "synthetic": 0.21 + 0.01 * (i % 30),
                    "synthetic_on_original": 0.225 + 0.01 * (i % 30),
                }
                for i, n in enumerate(labels)
            ],
        ),
        "G": measure(0.0151 * noise, 0.129, held(0.005), alpha=1, beta=1),
        "regression": measure(
            0.86 / noise,
            0.22,
            held(0.93),
            direction=HIGHER,
            identical=1.0,
            formula="income ~ age + sex",
            family="logit",
            rows=[
                {
                    "term": t,
                    "original": b,
                    "original_interval": [b - 0.2, b + 0.2],
                    "synthetic": b + 0.1 * noise,
                    "synthetic_interval": [b - 0.1, b + 0.3],
                    "overlap": 0.75,
                    "difference_in_se": 0.98,
                }
                for t, b in (
                    ("Intercept", -8.1),
                    ("age", 0.04),
                    ("sex[Male]", 1.2),
                    ("hours_per_week", 0.03),
                )
            ],
        ),
        "sweep": {
            "setting": "epsilon",
            "rows": [
                {
                    "setting": e,
                    "copy": c,
                    "mu": 0.01 / e**0.3 + 0.001 * c,
                    "delta": 0.05 / e**0.4,
                    "G": None if c == 3 else 0.06 / e**0.4,
                }
                for e in (0.01, 0.1, 0.5, 1.0, 2.0)
                for c in (1, 2, 3)
            ],
        },
        "run": {
            "seconds": {"phi_k": 0.4},
            "versions": {"chaffinch": "0.1.0", "numpy": "2.1"},
            "date": "2025-11-15 09:00 UTC",
        },
    }
    study["learning"] = (
        measure(
            0.012 * noise,
            None,
            None,
            label=names[-1],
            task="classification",
            score="accuracy",
            rows=learning_rows(),
            confusion=[
                {
                    "model": m,
                    "trained_on": side,
                    "levels": ["<=50K", ">50K"],
                    "counts": [[6830, 590], [1010, "<10"]],
                }
                for m in ("nb", "rf")
                for side in ("original", "synthetic", "marginals")
            ],
        )
        if label
        else absent("no label was named")
    )
    return study


@pytest.fixture
def study_of() -> Callable[..., dict[str, Any]]:
    """The builder of a whole study."""
    return make_study


@pytest.fixture
def no_value() -> Callable[..., dict[str, Any]]:
    """The builder of a measure without a value."""
    return absent


VOID = {"meta", "br", "hr", "img", "link", "input", "base", "col"}


HOSTILE = [
    "<script>alert(1)</script>",
    "\"&'",
    "</td></table><h1>x",
    "x" * 5000,
    "عمر المريض",
    "naïve 名前 🐦",
    "\u202eevil",
    "a\x00b\nc",
    "{{ 7*7 }}",
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
    "-->",
    "]]>",
    "%s{0}",
    "",
    " ",
]


class Page(HTMLParser):
    """A page taken apart: faults in its nesting, its text, attributes and identifiers."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        self.faults += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if len(dict(attrs)) < len(attrs):
            self.faults.append(f"<{tag}> has an attribute twice")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else at {self.getpos()}")

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    @property
    def ids(self) -> list[str]:
        return [attrs["id"] for _, attrs in self.tags if "id" in attrs]

    def said(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


def whole_page(html: str) -> Page:
    """Return a page taken apart, after what every page must keep to."""
    found = Page(html)
    assert found.faults == []
    assert len(found.ids) == len(set(found.ids))
    for tag, attrs in found.tags:
        assert tag not in (
            "script",
            "iframe",
            "object",
            "embed",
            "link",
            "img",
            "form",
            "input",
            "base",
            "audio",
            "video",
        )
        for name, value in attrs.items():
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "action", "xlink:href", "style")
            if name == "href":
                assert value.startswith("#")
                assert value[1:] in found.ids
            if name == "aria-labelledby":
                assert set(value.split()) <= set(found.ids)
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "url(" not in html.replace("url(#tip)", "")
    assert "default-src 'none'" in next(
        a["content"] for t, a in found.tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    odd = re.search(r".{0,60}\b(nan|None|inf|undefined)\b.{0,60}", found.said())
    assert odd is None, odd
    return found


def whole_figures(html: str) -> int:
    """Return how many figures a page has; each has pictures with a title and a description, and its numbers."""
    figures = re.findall(r"<figure .*?</figure>", html, flags=re.DOTALL)
    for figure in figures:
        svgs = re.findall(r"<svg .*?</svg>", figure, flags=re.DOTALL)
        assert svgs
        for svg in svgs:
            assert re.match(
                r'<svg [^>]*role="img" aria-labelledby="[^"]+"><title id="[^"]+">[^<]+</title><desc id="[^"]+">[^<]+</desc>',
                svg,
            )
        assert re.search(
            r"<details[^>]*><summary>Data of this figure.*?<table>", figure, flags=re.DOTALL
        )
    return len(figures)
