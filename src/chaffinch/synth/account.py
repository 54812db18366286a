"""The account of a synthesis: what was made, of what and how; written beside a synthesis, and read back for its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .._base.results import PlainData, from_plain, plain_form, to_plain, without_none

FORMAT = "chaffinch-synthesis"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class ModelAccount(PlainData):
    """What a report says of a model; a model may write more of itself. `privacy` is the account of a promise, yet to be worked out.

    `order` is one of the nodes in which parents come before their children, where the model is a network; `first` and `steps` are the networks of first rows and
    from a row to the next, where it is of sequences. `require` and `forbid` are edges that were asked for, and `protection` is what was cut on purpose, as the model wrote it.
    """

    method: str = ""
    search: str = ""
    score: str = ""
    parents: int | None = None
    nodes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()
    strengths: tuple[float | None, ...] | None = None
    sensitive: tuple[str, ...] = ()
    kept_columns: tuple[str, ...] = field(default=(), metadata=plain_form(key="kept"))
    label: str | None = None
    require: tuple[tuple[str, str], ...] = ()
    forbid: tuple[tuple[str, str], ...] = ()
    protection: Any = None
    privacy: Any = None
    first: ModelAccount | None = None
    steps: ModelAccount | None = None


@dataclass(frozen=True)
class AccountNote:
    """What was dropped, pooled or pointed out in a column, and why."""

    column: str = ""
    what: str = ""
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class SynthesisAccount:
    """What was made, of what, how, and, without a promise, how long it took.

    `network` is what the model writes of itself, and `model` what of it is read. `rows_equal_to_an_original` is the share of such rows, a bound in words where they are few,
    one for each copy where there are several; None with a promise, which does not cover it. `settings`: what the synthesiser was told, by dotted names, and
    how the original was read; `given`: the options that were given and may leave, in words. `rows_looked_up`: how many drawn rows it is of,
    where the original has so many rows that a fixed slice of all possible rows stands for them; None: of all.
    """

    rows: int | None = None
    columns: tuple[str, ...] = ()
    seed: int | None = None
    network: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[AccountNote, ...] = ()
    copies: int = 1
    rows_equal_to_an_original: float | str | tuple[float | str, ...] | None = None
    rows_looked_up: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @cached_property
    def model(self) -> ModelAccount:
        """What a report says of the model."""
        return from_plain(ModelAccount, without_none(self.network), what="the model's account")

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain data: `chaffinch-synthesis`, version 1."""
        plain: dict[str, Any] = {"format": FORMAT, "version": VERSION, **to_plain(self)}
        if self.rows_equal_to_an_original is None:
            del plain["rows_equal_to_an_original"]
        if not self.given:
            del plain["given"]
        if self.rows_looked_up is None:
            del plain["rows_looked_up"]
        return plain

    @classmethod
    def from_dict(cls, data: Any) -> SynthesisAccount | None:
        """Return the account that plain data hold; None where nothing is known of how a table was made."""
        if not isinstance(data, Mapping) or not data:
            return None
        return from_plain(cls, without_none(data), what="the account of the synthesis")
