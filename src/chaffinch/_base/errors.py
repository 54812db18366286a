"""The errors a caller can meet, as one small tree.

    ChaffinchError
    ├── InputError      (ValueError)    a setting or an argument breaks a rule
    │   ├── SchemaError                 a schema breaks a rule, or data do not fit a schema
    │   ├── PersonalDataError           columns look as if they said who somebody is, and nobody said what becomes of them
    │   └── UnknownNameError (KeyError) a column or option that does not exist
    ├── PrivacyError    (ValueError)    a promise of privacy could not be kept
    │   ├── BudgetError                 more would be spent than there is
    │   │   └── LedgerError             a project ledger does not allow a release
    │   └── ClosedError                 data are touched after the last charge
    ├── FileError       (OSError)       a file cannot be read or written
    ├── TooLargeError   (MemoryError)   an answer would not fit in memory
    ├── ClusterError    (RuntimeError)  a job on a cluster failed, or its workers are not fit for it
    └── MissingExtraError (ImportError) an optional package is needed

    ParsedDataWarning (UserWarning)     a library may have changed private data before they came: a warning, no error
    PersonalDataWarning (UserWarning)   columns look as if they said who somebody is: a warning, no error

Every message names the thing, the rule, what came and the next step. No message holds a cell value
that fewer than ten records share: messages leave a trusted environment more easily than data do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ChaffinchError(Exception):
    """Base of every error that Chaffinch raises on purpose."""


class InputError(ChaffinchError, ValueError):
    """A setting or an argument breaks a rule."""


class SchemaError(InputError):
    """A schema breaks a rule, or data do not fit a schema."""


class PersonalDataError(InputError):
    """Columns look as if they said who somebody is, and nobody said what becomes of them. Nothing was synthesised."""


class UnknownNameError(InputError, KeyError):
    """A name (column, option, kind) that does not exist."""

    __str__ = Exception.__str__  # KeyError would print the message in quotes


class PrivacyError(ChaffinchError, ValueError):
    """A promise of privacy could not be kept: the domain is not declared, or the settings do not amount to one."""


class BudgetError(PrivacyError):
    """More would be spent than there is. Nothing was touched."""


class LedgerError(BudgetError):
    """A project ledger does not allow a release. Nothing was read."""


class ClosedError(PrivacyError):
    """Data are touched after the last charge."""


class FileError(ChaffinchError, OSError):
    """A file cannot be read or written."""


class TooLargeError(ChaffinchError, MemoryError):
    """An answer would not fit in memory."""


class ClusterError(ChaffinchError, RuntimeError):
    """A job on a cluster failed, or its workers are not fit for it. What the cluster says of it may hold values of records and is not repeated."""


class MissingExtraError(ChaffinchError, ImportError):
    """An optional package is needed.

    Examples
    --------
    >>> print(MissingExtraError("Reading SPSS files", "pyreadstat"))
    Reading SPSS files needs an extra: pip install 'chaffinch[pyreadstat]'.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra: pip install 'chaffinch[{extra}]'.")


class ParsedDataWarning(UserWarning):
    """A table for a private fit was parsed by a library: one record may have decided how others were read."""


class PersonalDataWarning(UserWarning):
    """Columns look as if they said who somebody is."""


def join_names(names: Iterable[object], *, max_names: int = 12) -> str:
    """Return names as a comma-separated list, cut after `max_names`.

    Examples
    --------
    >>> join_names("abcd", max_names=2)
    'a, b and 2 more'
    """
    texts = [str(name) for name in names]
    if len(texts) <= max_names:
        return ", ".join(texts)
    return f"{', '.join(texts[:max_names])} and {len(texts) - max_names} more"


def unknown_name(thing: str, name: object, known: Iterable[object]) -> UnknownNameError:
    """Return the error for a name that is not among `known`, with the nearest one as a suggestion.

    Examples
    --------
    >>> print(unknown_name("column", "incme", ["age", "income", "sex"]))
    Unknown column 'incme'. Did you mean 'income'? Columns: age, income, sex.
    """
    known_names = [str(k) for k in known]
    return UnknownNameError(
        f"Unknown {thing} '{name}'.{suggestion(name, known_names)} {plural(thing).capitalize()}: {join_names(known_names)}."
    )


def suggestion(name: object, known: Iterable[object]) -> str:
    """Return " Did you mean '...'?" with the nearest of some names; nothing where none is near.

    Examples
    --------
    >>> suggestion("incme", ["age", "income"]), suggestion("incme", [])
    (" Did you mean 'income'?", '')
    """
    close = difflib.get_close_matches(str(name), [str(k) for k in known], n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""


LINKS = (" of ", " for ", " with ", " to ")
"""Words that what a phrase is about stands before."""


def plural(thing: str) -> str:
    """Return the plural of a word, or of the one that a phrase is about: what follows a preposition stays.

    Examples
    --------
    >>> plural("column"), plural("family"), plural("search"), plural("class")
    ('columns', 'families', 'searches', 'classes')
    >>> plural("way with numbers"), plural("kind of feature")
    ('ways with numbers', 'kinds of feature')
    """
    head, link, rest = next(
        (parts for word in LINKS if (parts := thing.partition(word))[1]), (thing, "", "")
    )
    consonant_y = head.endswith("y") and head[-2:-1] not in "aeiou"
    return (
        (
            head[:-1] + "ies"
            if consonant_y
            else head + ("es" if head.endswith(("ch", "ss")) else "s" * (head[-1:] != "s"))
        )
        + link
        + rest
    )
