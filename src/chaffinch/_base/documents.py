"""Files that people write: TOML, or JSON with the same keys, read with a limit on their size and checked against a pydantic model in our words;
and values as TOML has them.

A message names the file, the key and the rule. What came is not repeated, but for words that should be names: it may be a value of the data.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from .errors import InputError, unknown_name
from .files import read_small

if TYPE_CHECKING:
    from pydantic import BaseModel

Model = TypeVar("Model", bound="BaseModel")
Syntax = Literal["TOML", "JSON"]


def read_toml(
    path: str | os.PathLike[str], *, what: str, max_bytes: int, next_step: str
) -> dict[str, Any]:
    """Return what a TOML file says; FileError where it cannot be read, InputError where it is no TOML.

    For messages: `what` it holds ("schema"), and the `next_step` where there is no such file.
    """
    text = read_small(path, what=what, max_bytes=max_bytes, next_step=next_step)
    return parse_document(text, str(path))


def parse_document(
    text: str, name: str, *, syntax: Syntax = "TOML", error: type[InputError] = InputError
) -> dict[str, Any]:
    """Return the keys and values in a text; `name` is that of its file, for messages.

    Examples
    --------
    >>> parse_document("threshold = 10", "policy.toml")
    {'threshold': 10}
    >>> parse_document("threshold = ", "policy.toml")
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: 'policy.toml' is not valid TOML: Invalid value (at end of document).
    """
    try:
        is_json = syntax == "JSON"
        data = json.loads(text, parse_constant=_no_constant) if is_json else tomllib.loads(text)
    except (
        ValueError,
        RecursionError,
    ) as fault:  # a date of TOML that no calendar has is a plain ValueError
        reason = (str(fault).splitlines() or ["cannot be parsed"])[0].rstrip(".")
        raise error(f"'{name}' is not valid {syntax}: {reason}.") from None
    if not isinstance(data, dict):
        raise error(f"'{name}' must hold an object, with keys.")
    return data


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def check_head(
    data: object,
    where: str,
    *,
    what: str,
    format_: str,
    version: int,
    error: type[InputError] = InputError,
) -> None:
    """Raise unless a file says that it is of a format, in the version that this release reads.

    Examples
    --------
    >>> check_head({"format": "chaffinch-policy"}, "'p.toml'", what="schema", format_="chaffinch-schema", version=1)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: 'p.toml' is no schema: it must say format = "chaffinch-schema".
    """
    if not isinstance(data, Mapping) or data.get("format") != format_:
        raise error(f'{where} is no {what}: it must say format = "{format_}".')
    if data.get("version") != version or isinstance(data["version"], bool):
        raise error(
            f"{where} must have version = {version}, which is what this release reads. Use a newer release, or change the file."
        )


def validate_document(
    kind: type[Model],
    data: object,
    where: str,
    *,
    keys: Iterable[str] | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
    context: Mapping[str, Any] | None = None,
    error: type[InputError] = InputError,
) -> Model:
    """Return what a file says as a pydantic model, or raise for the first thing in it that breaks a rule.

    A part with keys of its own is checked by itself, with its place in `where`. `keys` are those to suggest for one that is unknown: those of the
    model unless given; `names` has for some keys the names that may stand there, the nearest of which is suggested for another. A validator of a model
    may raise an InputError, whose words are kept.

    Examples
    --------
    >>> from pydantic import BaseModel
    >>> class Limits(BaseModel, extra="forbid"):
    ...     threshold: int = 10
    >>> validate_document(Limits, {"threshold": 5}, "'p.toml'")
    Limits(threshold=5)
    >>> validate_document(Limits, {"treshold": 5}, "'p.toml'")
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: 'p.toml': Unknown key 'treshold'. Did you mean 'threshold'? Keys: threshold.
    >>> validate_document(Limits, {"threshold": "five"}, "'p.toml'")
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: 'p.toml': 'threshold' is not as it should be: input should be a valid integer, unable to parse string as an integer.
    """
    from pydantic import ValidationError

    try:
        return kind.model_validate(data, context=context)
    except ValidationError as invalid:
        faults = invalid.errors(include_url=False)
    # A key that is unknown may be another that is missing, misspelled.
    fault = next((entry for entry in faults if entry["type"] == "extra_forbidden"), faults[0])
    key = str(fault["loc"][0]) if fault["loc"] else "the whole"
    known = keys or [field.alias or name for name, field in kind.model_fields.items()]
    messages = {
        "extra_forbidden": str(unknown_name("key", key, known)),
        "missing": f"'{key}' is missing.",
        "value_error": str(fault.get("ctx", {}).get("error")),
    }
    if names and key in names and fault["type"] == "literal_error":
        messages["literal_error"] = str(unknown_name(key, fault["input"], names[key]))
    reason = fault["msg"].rstrip(".").lower()
    otherwise = f"'{key}' is not as it should be: {reason}."
    raise error(f"{where}: {messages.get(fault['type'], otherwise)}")


def toml_key(name: str) -> str:
    """Return a name as a key of TOML.

    Examples
    --------
    >>> toml_key("age"), toml_key("job title")
    ('age', '"job title"')
    """
    bare = name.isascii() and all(ch.isalnum() or ch in "-_" for ch in name)
    return name if bare else toml_value(name)


def toml_value(value: Any) -> str:
    """Return a value in TOML: what is no number, no truth value and no list as its words.

    Examples
    --------
    >>> toml_value([1, 2.5, True, 'a "b"'])
    '[1, 2.5, true, "a \\\\"b\\\\""]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return '"' + "".join(_escape(ch) for ch in str(value)) + '"'


def _escape(ch: str) -> str:
    if ch in '"\\':
        return "\\" + ch
    if ch < " " or ch == "\x7f":
        return f"\\u{ord(ch):04x}"
    return "\\ufffd" if 0xD800 <= ord(ch) <= 0xDFFF else ch
