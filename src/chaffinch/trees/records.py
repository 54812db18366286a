"""ModelRecords for a model: the columns it splits on as numbers, its labels, and how well it does on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_name
from .._base.errors import InputError, join_names
from ..table.formats import Source
from ..table.guess import TextGuess, file_sign
from ..table.sources import open_source
from ..table.text import plain_numbers
from .formats.onnx_trees import SCORES
from .tree import Ensemble

_MISSING = ("", "na", "n/a", "nan", "null", "none")
_CASTABLE = ("integer", "floating", "decimal", "string", "large_string", "null")


@dataclass(frozen=True, eq=False)
class ModelRecords:
    """One array for each column of a model, and one for each of its outputs. Rows: they are confidential."""

    columns: list[NDArray[np.float64]] = field(repr=False)
    labels: list[NDArray[Any]] = field(repr=False)
    names: tuple[str, ...]
    by_place: bool = False

    @property
    def n_rows(self) -> int:
        """The number of records."""
        return len(self.labels[0])


def n_outputs(model: Ensemble) -> int:
    """Return how many labels a model predicts."""
    return len(model.classes) or (1 if model.boosted else int(model.trees[0].value.shape[1]))


def read_records(
    data: Any, model: Ensemble, labels: Sequence[str], *, decimal: str | None = None
) -> ModelRecords:
    """Return the records of a table, in a file or in memory, that a model can be tried on.

    Columns must have the names that the model knows; a model without names (x0, x1, ...) takes the columns beside the labels in their
    order. Numbers and true or false are taken as they are; words must have been encoded as they were for the fit. `decimal` is the
    decimal sign of a text file, found from the columns of the model unless given.
    """
    source = open_source(data, decimal=decimal)
    names = list(source.schema.names)
    for label in labels:
        check_name("column", label, names)
    if len(labels) != n_outputs(model):
        raise InputError(
            f"The model predicts {n_outputs(model)} label(s), but {len(labels)} were named. Name them as --label A,B."
        )
    wanted, by_place = list(model.features), False
    if absent := [name for name in wanted if name not in names]:
        others = [name for name in names if name not in labels]
        unnamed = wanted == [f"x{i}" for i in range(len(wanted))]
        if not unnamed or len(absent) < len(wanted) or len(others) != len(wanted):
            raise InputError(
                f"'{source.name}' lacks {len(absent)} of the {len(wanted)} columns of the model: {join_names(absent)}. Encode and name its columns "
                "as they were for the fit."
            )
        wanted, by_place = others, True
    table = source.table()
    if table.num_rows == 0:
        raise InputError(f"'{source.name}' has no rows.")
    if source.text:
        table = _with_points(table, [*wanted, *labels], source)
    columns = [_numbers(table.column(name), name) for name in wanted]
    output_classes = model.classes or ((model.targets,) if model.boosted else ((),) * len(labels))
    outcome = [
        _labels(table.column(name), name, classes)
        for name, classes in zip(labels, output_classes, strict=True)
    ]
    return ModelRecords(columns, outcome, tuple(labels), by_place)


def _with_points(table: Any, names: Sequence[str], source: Source) -> Any:
    """Return a table of words whose numbers have decimal points, whatever sign the file has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    guesses = {name: TextGuess(name) for name in names}
    for name, guess in guesses.items():
        guess.add(table.column(name).combine_chunks())
    signs = {name: guess.evidence for name, guess in guesses.items()}
    sign = source.decimal or file_sign(signs, source.name, source.layout.delimiter)
    for name in names:
        spelling = guesses[name].spelling(sign)
        if spelling.type != pa.string() and (spelling.decimal == "," or spelling.thousands):
            index = table.column_names.index(name)
            strings = pc.utf8_trim_whitespace(table.column(name).combine_chunks())
            table = table.set_column(
                index, name, plain_numbers(strings, spelling.decimal, spelling.thousands)
            )
    return table


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    """A column as numbers, missing values as nan."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    try:
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            strings = pc.utf8_lower(pc.utf8_trim_whitespace(column))
            absent = pc.is_in(strings, value_set=pa.array(_MISSING, strings.type))
            strings = pc.if_else(absent, pa.scalar(None, strings.type), strings)
            truth = pc.is_in(strings, value_set=pa.array(["true", "false"], strings.type))
            if pc.all(pc.or_(truth, pc.is_null(strings))).as_py():
                column = pc.equal(strings, pa.scalar("true", strings.type))
            else:
                column = strings
            kind = column.type
        if pa.types.is_boolean(kind):
            column = column.cast(pa.int8())
        elif not any(getattr(pa.types, f"is_{name}")(kind) for name in _CASTABLE):
            raise pa.ArrowInvalid("no numbers")
        numbers = column.cast(pa.float64(), safe=False)
    except pa.ArrowException:  # its words may quote a cell
        raise InputError(
            f"Column '{name}' does not hold numbers only, which the model needs. Encode it as it was for the fit."
        ) from None
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _labels(column: Any, name: str, classes: tuple[Any, ...]) -> NDArray[Any]:
    """A label as the model's classes are: words, or numbers."""
    import pyarrow as pa

    if any(isinstance(label, str) for label in classes):
        try:
            strings = column.cast(pa.string())
        except pa.ArrowException:
            raise InputError(
                f"Label '{name}' does not hold words, as the classes of the model are."
            ) from None
        values: NDArray[Any] = np.array(strings.to_pylist(), dtype=object)
    else:
        values = _numbers(column, name)
    if classes and not any(bool((values == label).any()) for label in classes):
        raise InputError(
            f"Label '{name}' has none of the classes of the model. Encode it as it was for the fit."
        )
    return values


def predict(model: Ensemble, columns: Sequence[NDArray[Any]]) -> list[NDArray[Any]] | None:
    """Return what a tree or forest predicts, one array for each output; None of boosting, and where leaves hold scores.

    Counted by our own walk through the trees: a stranger's model is not run.
    """
    if model.boosted or model.model == "TreeEnsembleRegressor" or model.note == SCORES:
        return None
    total = np.zeros((len(columns[0]), *model.trees[0].value.shape[1:]))
    for tree in model.trees:
        shares = tree.value
        if model.kind == "classification":  # shares, also where a library keeps weights
            shares = shares / np.maximum(shares.sum(axis=2, keepdims=True), 1e-300)
        total += shares[tree.apply(columns)]
    if model.kind == "regression":
        return list((total[:, :, 0] / len(model.trees)).T)
    return [
        np.array(labels, dtype=object)[total[:, k, : len(labels)].argmax(axis=1)]
        for k, labels in enumerate(model.classes)
    ]


def worth(model: Ensemble, records: ModelRecords) -> float | None:
    """Return the accuracy of a classification (0 to 1), or R² of a regression (at most 1); the mean over outputs.

    ModelRecords without a label do not count. None where `predict` gives None, or where no label is left to compare with.
    """
    predictions = predict(model, records.columns)
    if predictions is None:
        return None
    scores = []
    for guess, truth in zip(predictions, records.labels, strict=True):
        present = np.array([label is not None and label == label for label in truth], dtype=bool)
        if not present.any():
            return None
        if model.kind == "classification":
            scores.append(float(np.mean(guess[present] == truth[present])))
            continue
        y = np.asarray(truth[present], dtype=np.float64)
        spread = float(((y - y.mean()) ** 2).sum())
        if spread == 0.0:
            return None
        scores.append(1.0 - float(((y - guess[present]) ** 2).sum()) / spread)
    return float(np.mean(scores))
