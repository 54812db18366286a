"""`chaffinch open`: the page on this computer, for those who do not live in a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["open_page"]


def open_page(
    place: Annotated[
        Path | None, typer.Argument(metavar="[FILE|FOLDER]", help="A table, a folder to look in, or the folder of a project.", show_default=False)
    ] = None,
    project: Annotated[
        Path | None, typer.Option(help="Folder of the project, made if it is not there; chaffinch-project beside the file unless given.", show_default=False)
    ] = None,
    port: Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.", min=0, max=65535)] = 0,
    host: Annotated[str, typer.Option(help="Address to listen at. Others than this computer's own need a flag.")] = "127.0.0.1",
    let_other_computers_connect: Annotated[
        bool,
        typer.Option("--let-other-computers-connect", help="Allow a --host that other computers reach. Nothing that travels is encrypted."),
    ] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Open a page on this computer: choose a table, say what columns are for, make and attack a synthesis, compare, decide.

    Nobody else reaches the page: it listens on this computer only, and answers to the address that is printed here. Nothing is uploaded and
    nothing copied. All that is chosen and made is kept in one folder of plain files. Stop it with Ctrl-C: what runs goes on.
    """
    from .._base.errors import FileError
    from ..web.places import Places
    from ..web.project import ProjectFolder, default_folder
    from ..web.serving import address_of, serve

    address = address_of(host, others=let_other_computers_connect)
    given = Path.cwd() if place is None else place
    if not given.exists():
        raise FileError(f"No such file: '{given}'.")
    is_project = (given / "project.toml").is_file()
    held = ProjectFolder.at(project or (given if is_project else default_folder(given)))
    source = held.choices().source
    beside = [Path(source).parent] if is_project and source else []
    folders = tuple(dict.fromkeys(one.resolve() for one in ((given if given.is_dir() else given.parent), *beside)))

    def started(address: str) -> None:
        typer.echo(f"The page is at {address}\nIts project is in {held.folder}. Stop it with Ctrl-C.", err=True)
        if browser:
            import webbrowser

            webbrowser.open(address)

    serve(held, Places(folders), address=address, port=port, started=started, first=given.resolve() if given.is_file() else None)
