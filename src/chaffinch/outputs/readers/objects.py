"""Python objects as outputs: results of statsmodels, lifelines and scipy, tables and summaries of pandas and polars, each read by what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._base.errors import InputError
from .lifelines import cox_of
from .pandas import table_of
from .scipy import scipy_test
from .statsmodels import outputs_of
from .summaries import histogram_of, summaries_of


def entries_of_objects(objects: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the entries of a file of outputs that objects hold; entries, as the readers give them with words of yours, stay as they are.

    InputError for an object that is none of these, and for one that does not say all of what made it: with the word that is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "rich": ["no", "no", "yes"]})
    >>> entries_of_objects([pd.crosstab(people["sex"], people["rich"]), {"name": "by sex", "kind": "table", "by": ["sex"]}])[0]["name"]
    'output 1'
    """
    entries: list[dict[str, Any]] = []
    for number, item in enumerate(objects, 1):
        name = f"output {number}"
        if isinstance(item, Mapping):
            entries.append({"name": name, **item})
            continue
        package = type(item).__module__.split(".")[0]
        if package not in _READERS or (package == "builtins" and not isinstance(item, tuple)):
            raise InputError(
                f"Output {number} is of type {type(item).__name__}, which is not read. Pass results of statsmodels, lifelines or scipy, tables of "
                "pandas or polars, or what a function of chaffinch.outputs.readers makes of it."
            )
        read = _READERS[package](item, name=name)
        entries += read if isinstance(read, list) else [read]
    return entries


def _table_entries(table: Any, *, name: str) -> list[dict[str, Any]]:
    """A crosstab has a name on each axis, a series of counts whole numbers and named levels; other tables are summaries."""
    index, columns = getattr(table, "index", None), getattr(table, "columns", None)
    axes = [*getattr(index, "names", [None]), *getattr(columns, "names", [])]
    is_binned = str(getattr(index, "dtype", "")).startswith("interval")
    is_counted = columns is not None or (str(table.dtype).startswith("int") and not is_binned)
    if is_counted and None not in axes:
        return [table_of(table, name=name)]
    return summaries_of(table, name=name)


def _lifelines_entry(fitter: Any, *, name: str) -> dict[str, Any]:
    """A Cox regression; of a Kaplan-Meier table the columns are asked for."""
    if type(fitter).__name__ == "KaplanMeierFitter":
        raise InputError(
            f"Output '{name}' is a Kaplan-Meier table, which does not know its columns. Say them: lifelines.kaplan_meier_of(fitter, name=..., time=..., event=...)."
        )
    return cox_of(fitter, name=name)


def _histogram_entry(bins: Any, *, name: str) -> dict[str, Any]:
    """What `numpy.histogram` gives back; InputError for another tuple, and since it does not know its column."""
    if len(bins) != 2 or any(type(array).__module__ != "numpy" for array in bins):
        raise InputError(f"Output '{name}' is a tuple, which is not read. Pass its parts.")
    return histogram_of(bins, name=name)


_READERS: dict[str, Callable[..., Any]] = {
    "statsmodels": outputs_of,
    "builtins": _histogram_entry,
    "lifelines": _lifelines_entry,
    "scipy": scipy_test,
    "pandas": _table_entries,
    "polars": _table_entries,
}
"""By the package that an object is of."""
