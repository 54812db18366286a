"""A picture of a part of a page, twice as sharp as a screen: `python docs/hooks/picture.py PAGE PICTURE [SELECTOR] [WIDTH] [WHICH]`; needs Chromium.

PAGE is a file or an address; SELECTOR names what to show, `body` unless given; WIDTH is that of the window, 1280 unless given; WHICH chooses among several, 0 first.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.browser import Browser

EDGE = 6
"""Empty pixels around what is shown."""


def main(
    page: str, picture: str, selector: str = "body", width: str = "1280", which: str = "0"
) -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(Path(profile))
        browser.look(page if ":" in page else Path(page).resolve(), width=int(width), unfold=False)
        box = browser.ask(
            f"(r => ({{x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height}}))"
            f"(document.querySelectorAll({selector!r})[{int(which)}].getBoundingClientRect())"
        )
        clip = {
            "x": max(box["x"] - EDGE, 0),
            "y": max(box["y"] - EDGE, 0),
            "width": box["width"] + 2 * EDGE,
            "height": box["height"] + 2 * EDGE,
            "scale": 2,
        }
        shot = browser(
            "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
        )
        browser.close()
    # A page has few colours: a palette makes the file a quarter as large.
    Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB").quantize(
        255, dither=Image.Dither.NONE
    ).save(picture, optimize=True)


main(*sys.argv[1:])
