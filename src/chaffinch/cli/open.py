"""`chaffinch open`: the page on this computer, for those who do not live in a terminal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from .._base.options import FILES, RUN, Option
from .command import echo


def open_page(
    *,
    path: Annotated[
        Path | None,
        Option(
            "A table, a folder to look in, or the folder of a project.",
            argument=True,
            metavar="FILE|FOLDER",
        ),
    ] = None,
    project: Annotated[
        Path | None,
        Option(
            "Folder of the project, made if absent. Default: chaffinch-project beside the file.",
            basic=True,
            panel=FILES,
        ),
    ] = None,
    port: Annotated[
        int, Option("Port to listen at; 0 takes a free one.", basic=True, panel=RUN, ge=0, le=65535)
    ] = 0,
    host: Annotated[
        str,
        Option(
            "Address to listen at. Others than this computer's own need a flag.",
            basic=True,
            panel=RUN,
        ),
    ] = "127.0.0.1",
    let_other_computers_connect: Annotated[
        bool,
        Option(
            "Allow a --host that other computers reach. Nothing that travels is encrypted.",
            panel=RUN,
        ),
    ] = False,
    browser: Annotated[
        bool,
        Option("Print the address, and open no browser.", flag="--no-browser", panel=RUN),
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
    given = Path.cwd() if path is None else path
    if not given.exists():
        raise FileError(f"No such file: '{given}'.")
    is_project = (given / "project.toml").is_file()
    opened = ProjectFolder.open(project or (given if is_project else default_folder(given)))
    # A project may come from somebody else: that it names a file far off opens no folder there.
    source, around = opened.choices().source, opened.folder.parent
    away = bool(is_project and source) and around not in Path(source).parents
    folders = (
        Path(source).parent
        if is_project and source and not away
        else given.resolve()
        if given.is_dir()
        else given.resolve().parent,
    )

    def started(address: str) -> None:
        echo(
            f"The page is at {address}\nIts project is in {opened.folder}. Stop it with Ctrl-C.",
            err=True,
        )
        if away:
            echo(
                f"Its table lies elsewhere, and is not read from here. To go on with it: chaffinch open {shlex.quote(source)} --project {shlex.quote(str(opened.folder))}",
                err=True,
            )
        if browser:
            import webbrowser

            webbrowser.open(entry_file(opened.path(ENTRY_FILE), address).as_uri())

    try:
        serve(
            opened,
            Places(folders),
            address=address,
            port=port,
            started=started,
            first=given.resolve() if given.is_file() else None,
        )
    finally:
        opened.path(ENTRY_FILE).unlink(missing_ok=True)
