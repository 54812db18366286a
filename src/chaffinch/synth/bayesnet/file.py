"""A network as plain data and arrays, and back with every part checked: what its model file holds beside the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ...privacy.account import account_from_dict
from ...table.schema import Schema
from ..model import Draw
from .model import BayesNetModel, FitSummary
from .network import Network
from .protection import Cut, Protection
from .tables import ConditionalTable, Level
from .trees.table import TreeTable

PARTS = {"keys": np.int64, "starts": np.int64, "codes": np.uint32, "weights": np.float64}
"""The arrays of a level of a table, and their types."""

TREE_PARTS = {
    "splits": np.int32,
    "below": np.int32,
    "first_sides": np.int64,
    "sides": np.uint8,
    "starts": np.int64,
    "codes": np.uint32,
    "weights": np.float64,
}
"""The arrays of a tree, and their types."""

AnyNetwork = TypeVar("AnyNetwork", bound=BayesNetModel)

KEYS = {"keep": "kept"}
"""Entries of the file that have another name than the field."""


def network_state(model: BayesNetModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the network and how it was fitted as plain data, and its tables as arrays."""
    summary = {
        KEYS.get(field.name, field.name): getattr(model.fitted, field.name)
        for field in fields(FitSummary)
    }
    for name in ("protection", "privacy"):
        summary[name] = None if summary[name] is None else summary[name].to_dict()
    data = {
        "order": list(model.network.order),
        "parents": [list(parents) for parents in model.network.parents],
        "smoothing": [table.smoothing for table in model.tables],
        "fitted": summary,
    }
    arrays: dict[str, NDArray[Any]] = {}
    for t, table in enumerate(model.tables):
        if isinstance(table, TreeTable):
            arrays |= {f"{t}.tree.{part}": getattr(table, part) for part in TREE_PARTS}
        else:
            arrays |= {
                f"{t}.{i}.{part}": getattr(level, part)
                for i, level in enumerate(table.levels)
                for part in PARTS
            }
    if any(isinstance(table, TreeTable) for table in model.tables):
        data["trees"] = [t for t, table in enumerate(model.tables) if isinstance(table, TreeTable)]
    return data, arrays


def network_from_state(
    kind: type[AnyNetwork],
    schema: Schema,
    data: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> AnyNetwork:
    """Return the model that `network_state` wrote; raise where its parts do not fit together."""
    network = Network(tuple(data["order"]), tuple(tuple(parents) for parents in data["parents"]))
    trees = set(data.get("trees", []))
    n_tables = sum(len(parents) + 1 for t, parents in enumerate(network.parents) if t not in trees)
    n_arrays = len(PARTS) * n_tables + len(TREE_PARTS) * len(trees)
    if len(arrays) != n_arrays or len(data["smoothing"]) != len(network.order):
        raise InputError("There are more or fewer tables than the network needs.")
    sizes = dict(zip(schema.names, schema.sizes, strict=True))
    tables: list[ConditionalTable | TreeTable] = []
    for t, (name, parents) in enumerate(zip(network.order, network.parents, strict=True)):
        widths, smoothing = tuple(sizes[p] for p in parents), float(data["smoothing"][t])
        if t in trees:
            tables.append(
                TreeTable(
                    name,
                    sizes[name],
                    parents,
                    widths,
                    smoothing,
                    *_parts(arrays, f"{t}.tree", TREE_PARTS),
                )
            )
        else:
            levels = [
                Level(widths[:i], *_parts(arrays, f"{t}.{i}", PARTS))
                for i in range(len(parents) + 1)
            ]
            tables.append(ConditionalTable(name, sizes[name], parents, tuple(levels), smoothing))
        tables[-1].check()
    return kind(schema, network, tuple(tables), _summary(data["fitted"], schema.names, network))


def _parts(
    arrays: Mapping[str, NDArray[Any]], of: str, types: Mapping[str, Any]
) -> list[NDArray[Any]]:
    """The arrays of a level or a tree, of the right types."""
    parts = [arrays[f"{of}.{part}"] for part in types]
    if any(a.ndim != 1 or a.dtype != kind for a, kind in zip(parts, types.values(), strict=True)):
        raise InputError("A table has the wrong type.")
    return parts


def _summary(data: Mapping[str, Any], names: tuple[str, ...], network: Network) -> FitSummary:
    """Return how a network was fitted; raise unless it is of the right types and speaks of the model's columns."""
    whole = {"privacy": None, "draw": "independent", "note": "", **data}
    whole = {
        field.name: whole.pop(KEYS.get(field.name, field.name)) for field in fields(FitSummary)
    } | whole
    if len(whole) != len(fields(FitSummary)):
        raise InputError("The account of the fit has other entries than this release knows.")
    cut = whole["protection"]
    protection = (
        None
        if cut is None
        else Protection(
            cut["protect"], tuple(Cut(**pair) for pair in cut["cuts"]), tuple(cut.get("rules", ()))
        )
    )
    privacy = None if whole["privacy"] is None else account_from_dict(whole["privacy"])
    whole = {
        key: tuple(value) if isinstance(value, list) else value for key, value in whole.items()
    }
    summary = FitSummary(**(whole | {"protection": protection, "privacy": privacy}))
    if len(summary.strengths) != len(network.edges) or not all(
        _numeric(x) for x in summary.strengths
    ):
        raise InputError("The strengths of the edges are not as many as the edges.")
    cuts = protection.cuts if protection else ()
    numbers = [
        summary.fitness,
        *summary.strengths,
        *(x for c in cuts for x in (c.information, c.through_label)),
    ]
    columns = [
        *summary.sensitive,
        *summary.keep,
        *(name for c in cuts for name in (c.sensitive, c.other)),
    ]
    columns += [] if summary.label is None else [summary.label]
    sound = (
        all(
            isinstance(word, str)
            for word in (summary.method, summary.search, summary.score, summary.note)
        )
        and all(_numeric(x) and np.isfinite(x) for x in numbers)
        and all(isinstance(x, int) and x >= 0 for x in (summary.n_rows, summary.parents))
        and all(isinstance(name, str) and name in names for name in columns)
        and (protection is None or protection.protect in ("separate", "together"))
        and (protection is None or all(isinstance(text, str) for text in protection.rules))
        and summary.draw in get_args(Draw)
    )
    if not sound:
        raise InputError("The account of the fit does not go with the model.")
    return summary


def _numeric(value: object) -> bool:
    return isinstance(value, float | int)
