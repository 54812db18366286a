"""`chaffinch open`: the page on this computer, for those who do not live in a terminal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer


def open_page(
    place: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE|FOLDER]",
            help="A table, a folder to look in, or the folder of a project.",
            show_default=False,
        ),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the project, made if it is not there; chaffinch-project beside the file unless given.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port to listen at; 0 takes a free one.", min=0, max=65535)
    ] = 0,
    host: Annotated[
        str, typer.Option(help="Address to listen at. Others than this computer's own need a flag.")
    ] = "127.0.0.1",
    let_other_computers_connect: Annotated[
        bool,
        typer.Option(
            "--let-other-computers-connect",
            help="Allow a --host that other computers reach. Nothing that travels is encrypted.",
        ),
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Open a page on this computer: choose a table, say what columns are for, make and attack a synthesis, compare, decide.

    Nobody else reaches the page: it listens on this computer only, and answers to the address that is printed here. Nothing is uploaded and
    nothing copied. All that is chosen and made is kept in one folder of plain files. Stop it with Ctrl-C: what runs goes on.
    """
    from .._base.errors import FileError
    from ..web.project import Places, ProjectFolder, default_folder
    from ..web.serving import ENTRY_FILE, address_of, entry_file, serve

    address = address_of(host, others=let_other_computers_connect)
    given = Path.cwd() if place is None else place
    if not given.exists():
        raise FileError(f"No such file: '{given}'.")
    is_project = (given / "project.toml").is_file()
    held = ProjectFolder.at(project or (given if is_project else default_folder(given)))
    # A project may come from somebody else: that it names a file far off opens no folder there.
    source, around = held.choices().source, held.folder.parent
    away = bool(is_project and source) and around not in Path(source).parents
    folders = (
        Path(source).parent
        if is_project and source and not away
        else given.resolve()
        if given.is_dir()
        else given.resolve().parent,
    )

    def started(address: str) -> None:
        typer.echo(
            f"The page is at {address}\nIts project is in {held.folder}. Stop it with Ctrl-C.",
            err=True,
        )
        if away:
            typer.echo(
                f"Its table lies elsewhere, and is not read from here. To go on with it: chaffinch open {shlex.quote(source)} --project {shlex.quote(str(held.folder))}",
                err=True,
            )
        if browser:
            import webbrowser

            webbrowser.open(entry_file(held.path(ENTRY_FILE), address).as_uri())

    try:
        serve(
            held,
            Places(folders),
            address=address,
            port=port,
            started=started,
            first=given.resolve() if given.is_file() else None,
        )
    finally:
        held.path(ENTRY_FILE).unlink(missing_ok=True)
