"""skops files, looked through before skops sees them: a stranger's file gives a tree or an error, and runs nothing.

skops trusts by type. That is not enough for a tree: its nodes point to one another, and compiled code follows them without looking, into
foreign memory if they point outside. So before anything is built only types on a list are let through, each with the loader that belongs to
it; no array is larger than its bytes; and the nodes, values and sizes of every tree fit together.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import FileError, InputError, MissingExtraError, join_names
from ..tree import Ensemble
from .format import TREE_FORMATS, ModelFile, OpenedModel, TreeFormat, sound, strict_json
from .from_sklearn import FORESTS, PRUNABLE, read_model

MOST_UNPACKED = 2 << 30
MOST_PACKING = 200
"""How many times larger a file may be unpacked: a model's numbers pack to a tenth, a bomb's zeros to a thousandth."""
MOST_SCHEMA = 1 << 28

_GB, _HGB = "sklearn.ensemble._gb", "sklearn.ensemble._hist_gradient_boosting"
MODELS = frozenset(
    [f"sklearn.tree._classes.{name}" for name in PRUNABLE]
    + [f"sklearn.ensemble._forest.{name}" for name in FORESTS]
    + [f"{_GB}.GradientBoosting{kind}" for kind in ("Classifier", "Regressor")]
    + [
        f"{_HGB}.gradient_boosting.HistGradientBoosting{kind}"
        for kind in ("Classifier", "Regressor")
    ]
)
_LOSSES = (
    "AbsoluteError",
    "ExponentialLoss",
    "HalfBinomialLoss",
    "HalfGammaLoss",
    "HalfMultinomialLoss",
    "HalfPoissonLoss",
    "HalfSquaredError",
    "HalfTweedieLoss",
    "HalfTweedieLossIdentity",
    "HuberLoss",
    "PinballLoss",
)
_LINKS = ("HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink", "MultinomialLogit")
_NUMBERS = (
    "bool",
    "bool_",
    "float32",
    "float64",
    "int32",
    "int64",
    "intp",
    "str_",
    "uint32",
    "uint64",
    "uint8",
)
_NUMPY = frozenset({"numpy.ndarray", *(f"numpy.{name}" for name in _NUMBERS)})
_BIT_GENERATORS = ('"PCG64"', '"PCG64DXSM"', '"MT19937"', '"Philox"', '"SFC64"')
ALLOWED = {
    "ObjectNode": MODELS
    | {f"sklearn._loss.loss.{name}" for name in _LOSSES}
    | {f"sklearn._loss.link.{name}" for name in _LINKS}
    | {
        "sklearn.dummy.DummyClassifier",
        "sklearn.dummy.DummyRegressor",
        "sklearn.preprocessing._label.LabelEncoder",
    }
    | {f"{_HGB}.binning._BinMapper", f"{_HGB}.predictor.TreePredictor"},
    "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
    "LossNode": frozenset(f"sklearn._loss._loss.Cy{name}" for name in _LOSSES),
    "DictNode": frozenset({"builtins.dict"}),
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "JsonNode": frozenset({"builtins.str"}),
    "TypeNode": frozenset({"builtins.str", "builtins.int", "builtins.float", "builtins.bool"})
    | _NUMPY,
    "NdArrayNode": _NUMPY,
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
}


def dump_model(model: Any) -> bytes:
    """Return a model of scikit-learn as the bytes of a skops file."""
    return bytes(_skops_io().dumps(model))


def load_model(data: bytes, *, name: str) -> Any:
    """Return the model of scikit-learn in the bytes of a skops file; raise a clear error for any other. `name` is for messages."""
    damaged = FileError(
        f"'{name}' is not a sound skops file: it is damaged, truncated or of another format."
    )
    faults = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, MemoryError)
    with sound(damaged, *faults), zipfile.ZipFile(io.BytesIO(data)) as archive:
        _check_sizes(archive, len(data), name)
        if "schema.json" not in archive.namelist():
            raise FileError(f"'{name}' is a zip file, but not of skops: it has no schema.json.")
        members = (member for member in archive.infolist() if member.filename != "schema.json")
        arrays = {member.filename: _checked_array(archive.read(member)) for member in members}
        schema = strict_json(archive.read("schema.json"), name=name)
        _check_types(schema, name)
        _check_nodes(schema, arrays)
    skops_io = _skops_io()
    allowed = sorted({kind for kinds in ALLOWED.values() for kind in kinds})
    try:
        with warnings.catch_warnings():
            # Of a model from another release of scikit-learn; what does not fit raises below.
            warnings.simplefilter("ignore")
            return skops_io.loads(data, trusted=allowed)
    except Exception:  # types that skops does not trust, or parts that scikit-learn refuses
        raise FileError(
            f"'{name}' cannot be read: its parts do not fit together, or not the installed releases of skops and scikit-learn."
        ) from None


def _check_sizes(archive: zipfile.ZipFile, size: int, name: str) -> None:
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    if (
        unpacked > min(MOST_UNPACKED, max(1 << 24, MOST_PACKING * size))
        or len(members) > 1_000_000
        or any(
            member.filename == "schema.json" and member.file_size > MOST_SCHEMA
            for member in members
        )
    ):
        raise FileError(f"'{name}' would unpack to far more than a model needs. It is not opened.")
    if len({member.filename for member in members}) != len(members):
        raise FileError(f"'{name}' holds two parts of one name. It is not opened.")


def _checked_array(member: bytes) -> NDArray[Any]:
    """The array of an .npy part, if it says of itself what its bytes are."""
    handle = io.BytesIO(member)
    version = np.lib.format.read_magic(handle)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(handle)
    count = 1
    for length in shape:
        count *= int(length)
    if (
        dtype.hasobject
        or count * dtype.itemsize != len(member) - handle.tell()
        or dtype.itemsize == 0
    ):
        raise ValueError("an array is larger or smaller than its bytes")
    return np.load(io.BytesIO(member))


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every dictionary of the schema, however deep."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack += node.values()
        elif isinstance(node, list):
            stack += node


def _check_types(schema: Any, name: str) -> None:
    """Raise unless every part of the file is of a type on the list, built by the loader that belongs to it."""
    strange = set()
    for node in _nodes(schema):
        if "__loader__" in node or "__class__" in node or "__module__" in node:
            kind = f"{node.get('__module__')}.{node.get('__class__')}"
            if kind not in ALLOWED.get(str(node.get("__loader__")), ()):
                strange.add(kind[:80])
    top = f"{schema.get('__module__')}.{schema.get('__class__')}"
    if strange:
        raise FileError(
            f"'{name}' holds types that a tree does not need, so it is not opened: {join_names(sorted(strange), max_names=5)}. Save the fitted tree "
            "or forest alone, with numbers as columns, not a pipeline around it."
        )
    if top not in MODELS:
        raise FileError(
            f"'{name}' holds no tree. Models that are: {join_names(sorted(m.rsplit('.', 1)[1] for m in MODELS), max_names=20)}."
        )


def _check_nodes(schema: Any, arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless every compiled tree and generator in the file can be built without harm."""
    digests = {
        file: hashlib.sha256(repr((a.dtype, a.shape)).encode() + a.tobytes()).hexdigest()
        for file, a in arrays.items()
    }
    _digest(schema, digests, {})
    for node in _nodes(schema):
        if node.get("__loader__") == "TreeNode":
            _check_tree(node, arrays)
        elif node.get("__loader__") == "RandomGeneratorNode":
            generator = node["content"]["bit_generator"]["content"]["bit_generator"]
            if generator["__loader__"] != "JsonNode" or generator["content"] not in _BIT_GENERATORS:
                raise ValueError("not a generator of NumPy")


def _digest(node: Any, digests: dict[str, str], seen: dict[Any, bytes]) -> bytes:
    """What a part says, but for its number; of an array what it holds, since one array may lie in two files.

    skops builds the first of two parts of one number for both, so they must say the same: what is checked is what is built.
    """
    if isinstance(node, dict):
        parts = [
            key.encode()
            + b":"
            + _digest(digests[node[key]] if key == "file" else node[key], digests, seen)
            for key in sorted(node)
            if key != "__id__"
        ]
    elif isinstance(node, list):
        parts = [b"list", *(_digest(item, digests, seen) for item in node)]
    else:
        parts = [json.dumps(node).encode()]
    out = hashlib.sha256(b"\0".join(parts)).digest()
    if (
        isinstance(node, dict)
        and "__loader__" in node
        and seen.setdefault(node["__id__"], out) != out
    ):
        raise ValueError("two parts of one number differ")
    return out


def _check_tree(node: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless a tree's nodes, values and sizes fit together: scikit-learn follows them without looking."""
    arguments, state = node["__reduce__"]["args"], node["content"]
    if (
        arguments["__loader__"] != "TupleNode"
        or state["__loader__"] != "DictNode"
        or len(arguments["content"]) != 3
    ):
        raise ValueError("not the parts of a tree")
    n_features, n_classes, n_outputs = (_plain(entry, arrays) for entry in arguments["content"])
    fields = {key: _plain(entry, arrays) for key, entry in state["content"].items()}
    nodes, values, count = fields["nodes"], fields["values"], fields["node_count"]
    are_integers = all(
        isinstance(x, int | np.integer) and not isinstance(x, bool)
        for x in (n_features, n_outputs, count)
    )
    sound = (
        are_integers
        and set(fields) == {"max_depth", "node_count", "nodes", "values"}
        and isinstance(fields["max_depth"], int)
        and 0 < n_features < 1 << 31
        and n_classes.dtype.kind == "i"
        and n_classes.shape == (n_outputs,)
        and bool((n_classes >= 1).all())
        and nodes.shape == (count,)
        and 0 < count < 1 << 31
        and values.dtype == np.float64
        and values.shape == (count, n_outputs, int(n_classes.max()))
        and all(
            bool(((nodes[side] >= -1) & (nodes[side] < count)).all())
            for side in ("left_child", "right_child")
        )
        and bool(((nodes["left_child"] < 0) == (nodes["right_child"] < 0)).all())
        and bool((nodes["feature"][nodes["left_child"] >= 0] >= 0).all())
        and bool((nodes["feature"] < n_features).all())
    )
    if not sound:
        raise ValueError("the nodes of a tree point outside of it")


def _plain(entry: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    """A number or an array of the schema."""
    if entry["__loader__"] == "JsonNode":
        return json.loads(entry["content"])
    if entry["__loader__"] == "NdArrayNode" and entry["type"] == "numpy":
        array = arrays[entry["file"]]
        return array if entry["__class__"] == "ndarray" else array[()]
    raise ValueError("neither a number nor an array")


def _skops_io() -> Any:
    try:
        import skops.io
    except ImportError:
        raise MissingExtraError("Reading and writing skops files", "skops") from None
    return skops.io


def _read(file: ModelFile) -> OpenedModel:
    model = load_model(file.data, name=file.name)
    try:
        return OpenedModel("skops", read_model(model), model)
    except InputError as error:
        raise FileError(f"'{file.name}' is no model that can be audited. {error}") from None
    except Exception:  # attributes of a hostile file may be anything
        raise FileError(
            f"'{file.name}' is damaged: the parts of its model do not fit together."
        ) from None


def _write(ensemble: Ensemble, model: Any) -> bytes:
    if model is None:
        raise InputError(
            "Only a model of scikit-learn can be written as skops. Name a file that ends in .json."
        )
    return dump_model(model)


SKOPS = TREE_FORMATS.register(
    TreeFormat(
        "skops",
        "skops files of scikit-learn",
        ".skops",
        lambda file: file.data[:4] in (b"PK\x03\x04", b"PK\x05\x06"),
        _read,
        _write,
    )
)
