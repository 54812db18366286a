"""The harness of benchmarks and experiments: options from a signature, rows of results, the machine, best-of timing.

The signature of a study is the declaration of its options: arguments by position, then options, with their types and defaults.

    def main(folder: Path, *, pairs: int = 300, only: Annotated[tuple[str, ...], Option("Tables.", known=lambda: TABLES)] = ()) -> None: ...

    if __name__ == "__main__":
        run_study(main)
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import inspect
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from chaffinch._base.options import Option, Setting

T = TypeVar("T", bound=Sequence[object])

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SCRATCH = HERE / "scratch"


def source() -> str:
    """Return a short digest of the library's source, so that results of different states are told apart."""
    digest = hashlib.sha256()
    for path in sorted((HERE.parent / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


SOURCE = source()


def run_study(main: Callable[..., object], words: Sequence[str] | None = None) -> None:
    """Call a study with what the command line says; its signature says what may be said.

    Lists are written A B, and one of several names that an option knows; `None` in a type is for what may be absent.

    Examples
    --------
    >>> def main(tables: tuple[str, ...], *, seeds: int = 10, dry: bool = False) -> None:
    ...     print(tables, seeds, dry)
    >>> run_study(main, ["adult", "cmc", "--seeds", "2"])
    ('adult', 'cmc') 2 False
    """
    about = main.__doc__ or sys.modules[main.__module__].__doc__
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    hints = get_type_hints(main, include_extras=True)
    parameters = inspect.signature(main).parameters.values()
    for parameter in parameters:
        _add_argument(parser, parameter, hints[parameter.name])
    given = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in vars(parser.parse_args(words)).items()
    }
    by_position = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    main(*[given.pop(name) for name in by_position], **given)


def run_parts(parts: Mapping[str, Callable[[], object]]) -> None:
    """Call the parts of a study that the command line names, all of them if it names none."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("parts", nargs="*", default=list(parts), type=_reader(str, tuple(parts)))
    for name in parser.parse_args().parts:
        print(name, flush=True)
        parts[name]()


def _add_argument(parser: argparse.ArgumentParser, parameter: inspect.Parameter, hint: Any) -> None:
    """Declare a parameter of a study as an argument, or as an option if it is given by its name alone."""
    hint, option = get_args(hint) if get_origin(hint) is Annotated else (hint, Option(""))
    setting = Setting(parameter.name, option, hint, parameter.default)
    is_required, is_list = parameter.default is parameter.empty, get_origin(setting.type) is tuple
    type_ = get_args(setting.type)[0] if is_list else setting.type
    how: dict[str, Any] = {
        "help": option.help,
        "default": None if is_required else parameter.default,
    }
    if type_ is bool:
        how["action"] = "store_true"
    else:
        choices = tuple(option.known()) if option.known is not None else ()
        choices = get_args(type_) if get_origin(type_) is Literal else choices
        how |= {
            "type": _reader(type_, choices),
            "metavar": f"{{{','.join(choices)}}}" if choices else None,
        }
    if is_list:
        how["nargs"] = "+" if is_required else "*"
    if parameter.kind is parameter.KEYWORD_ONLY:
        spellings = (f"-{option.short}", setting.spelling) if option.short else (setting.spelling,)
        parser.add_argument(*spellings, required=is_required, **how)
    else:
        how = how if is_required or is_list else {"nargs": "?", **how}
        parser.add_argument(parameter.name, **how)


def _reader(type_: Any, choices: tuple[str, ...]) -> Callable[[str], Any]:
    """Return what reads a word of a command line as a type, and as one of some names if there are any."""

    def read(word: str) -> Any:
        if choices and word not in choices:
            raise argparse.ArgumentTypeError(f"must be one of {', '.join(choices)}. Got '{word}'.")
        return word if choices else type_(word)

    read.__name__ = getattr(type_, "__name__", "name")
    return read


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a result by their heads; none where there is no such file yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def write_rows(
    path: Path, rows: Iterable[Sequence[object] | Mapping[str, Any]], head: Sequence[str] = ()
) -> None:
    """Write a result anew, row by row as they come: below a head, or of mappings below the names of the first."""
    names = list(head)
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerows([names] if names else [])
        for row in rows:
            if not names:
                names = list(row)  # type: ignore[arg-type]
                writer.writerow(names)
            writer.writerow(
                [row.get(name, "") for name in names] if isinstance(row, Mapping) else row
            )
            handle.flush()


def show_each(rows: Iterable[T]) -> Iterator[T]:
    """Print rows as they come, and hand them on."""
    for row in rows:
        print(*row, sep="\t", flush=True)
        yield row


def durations(work: Callable[[], object], *, repeats: int) -> list[float]:
    """Return the times in seconds of several runs, after one that is not counted (it compiles)."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times


def best(work: Callable[[], object], *, repeats: int = 7) -> float:
    """Return the shortest of several such times."""
    return min(durations(work, repeats=repeats))


def machine(*packages: str) -> str:
    """Return the machine's size and the versions of packages, in one line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    names = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "numba", "pyarrow", *packages)
    )
    return f"{cores} cores ({processor()}), {memory:.0f} GiB, Python {platform.python_version()}, {names}"


def processor() -> str:
    """Return the name of the processor, as far as the system tells it."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )


def show(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a head, in columns."""
    widths = [max(len(str(row[i])) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        print(
            "  ".join(
                str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)
            ).rstrip()
        )
    print()


def save(name: str, head: Sequence[str], rows: Sequence[Sequence[object]], *packages: str) -> None:
    """Write rows to results/NAME.csv, note the machine and the versions in results/machines.json, and print the rows."""
    RESULTS.mkdir(exist_ok=True)
    write_rows(RESULTS / f"{name}.csv", rows, head)
    noted = RESULTS / "machines.json"
    machines = json.loads(noted.read_text()) if noted.exists() else {}
    machines[name] = {"machine": machine(*packages), "source": SOURCE}
    noted.write_text(json.dumps(dict(sorted(machines.items())), indent=2) + "\n")
    show(head, rows)
    if source() != SOURCE:
        print(f"The source changed while '{name}' was measured: measure again.")
