"""The `chaffinch` command: its commands, and how faults end.

Exit codes: 0 done, 1 a policy said no, 2 bad use or bad input, 3 a fault of ours, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from .. import __version__
from .._base.errors import ChaffinchError
from .._base.runtime import TERMINATED, raising_on_sigterm
from .attack import attack, audit
from .check import check
from .command import group, stopped_message
from .compare import compare
from .evolve import evolve
from .frontier import frontier
from .ledger import ledger, plan
from .open import open_page
from .release import release
from .risk import risk
from .schema import describe, schema
from .synth import fit, inspect, sample, synth
from .tree import tree
from .utility import utility

app = group(
    "Privacy-preserving synthetic microdata: make it, measure it, attack it, decide.",
    schema=schema,
    describe=describe,
    synth=synth,
    fit=fit,
    sample=sample,
    inspect=inspect,
    utility=utility,
    risk=risk,
    release=release,
    frontier=frontier,
    compare=compare,
    plan=plan,
    ledger=ledger,
    audit=audit,
    evolve=evolve,
    check=check,
    open=open_page,
    tree=tree,
    attack=attack,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"chaffinch {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    try:
        with raising_on_sigterm(_TerminatedError):  # as Ctrl-C does: nothing half-written
            app()
    except _TerminatedError:
        typer.echo(stopped_message(), err=True)
        sys.exit(TERMINATED)
    except SystemExit as end:
        sys.exit(end.code)
    except ChaffinchError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo(stopped_message(), err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        typer.echo(
            "Error: not enough memory. Use a machine with more, or fewer columns or bins.", err=True
        )
        sys.exit(2)
    except Exception as error:
        _fault(error)
    sys.exit(0)


class _TerminatedError(BaseException):
    """The process was asked to end."""


def _fault(error: Exception) -> NoReturn:
    """End on a fault of ours: say where it was, not what was in the data."""
    if os.environ.get("CHAFFINCH_DEBUG") == "1":
        traceback.print_exception(error)
        sys.exit(3)
    last = traceback.extract_tb(error.__traceback__)[-1]
    typer.echo(
        f"Internal fault: {type(error).__name__} in {os.path.basename(last.filename)}, line {last.lineno}. This is a defect in "
        "Chaffinch. Details are withheld, since they may hold data; CHAFFINCH_DEBUG=1 shows them.",
        err=True,
    )
    sys.exit(3)
