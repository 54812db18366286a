"""What the built pages point at: every link of ours leads somewhere, and nothing that a page loads comes from another place.

MkDocs checks links between Markdown files; this reads the pages as a browser gets them, the made reference and the theme's own parts included.
It runs at the end of every build and stops it with a list.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
}
"""What a page loads by itself, and the attribute that says from where."""
QUIET = {"canonical", "alternate", "license", "author", "next", "prev", "edit"}
"""Relations of a link element that no browser follows by itself."""


class PageParts(HTMLParser):
    """The anchors of a page, where its links lead and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and not set(values.get("rel", "").split()) & QUIET:
            self.loads.append(values.get("href", ""))
        if LOADS.get(tag, "") in values:
            self.loads.append(values[LOADS[tag]])


def faults_of(site: Path) -> list[str]:
    """Return a line for each link of the built pages that leads nowhere, and for each thing loaded from elsewhere."""
    pages = {
        path.resolve(): PageParts(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))
    }
    faults = []
    for path, parts in pages.items():
        name = path.relative_to(site.resolve()).as_posix()
        for address in parts.loads:
            split = urlsplit(address)
            if split.netloc or split.scheme not in ("", "data"):
                faults.append(f"{name} loads {address}")
        for address in [*parts.links, *parts.loads]:
            split = urlsplit(address)
            if split.scheme or split.netloc:
                continue
            # Only the page for addresses that are not there has addresses from the top: it is for servers.
            start = site if name == "404.html" else path.parent
            target = (
                (start / unquote(split.path).lstrip("/" if name == "404.html" else "")).resolve()
                if split.path
                else path
            )
            if target.is_dir():
                target = target / "index.html"
            if not target.is_file():
                faults.append(f"{name} points at {address}: there is no such file")
            elif (
                split.fragment
                and target in pages
                and unquote(split.fragment) not in pages[target].anchors | {"__skip"}
            ):
                faults.append(f"{name} points at {address}: there is no such place on that page")
    return faults


def on_post_build(config: dict[str, str], **_: object) -> None:
    """Stop the build with what is wrong with its pages, if anything is."""
    faults = faults_of(Path(config["site_dir"]))
    if faults:
        raise SystemExit(
            "The pages have links that lead nowhere, or load things from elsewhere:\n  "
            + "\n  ".join(faults)
        )
