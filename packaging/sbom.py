"""What an environment holds, as a bill of materials: CycloneDX 1.6 in JSON, from the metadata of what is installed.

    python packaging/sbom.py [-o sbom.json] [--extra EXTRA ...]

It lists the package and everything that it needs, directly or through another, as it is installed in the environment of the Python that runs this:
name, version, licence, address, and who needs whom. No package outside the standard library is used. Two runs in one environment give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = "chaffinch"
SPDX = {
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "mit": "MIT",
    "mit license": "MIT",
    "mit license (mit)": "MIT",
    "the mit license (mit)": "MIT",
    "expat license": "MIT",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "modified bsd license": "BSD-3-Clause",
    "bsd license": "BSD",
    "bsd": "BSD",
    "simplified bsd": "BSD-2-Clause",
    "bsd-2-clause": "BSD-2-Clause",
    "python software foundation license": "PSF-2.0",
    "psf-2.0": "PSF-2.0",
    "psfl": "PSF-2.0",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "mpl-2.0": "MPL-2.0",
    "isc license (iscl)": "ISC",
    "isc": "ISC",
    "the unlicense (unlicense)": "Unlicense",
}
"""Names of licences as packages write them, and their identifiers. "BSD" alone does not say which of them, and stays so."""


def canonical(name: str) -> str:
    """Return a name as indexes write it.

    Examples
    --------
    >>> canonical("Typing_Extensions")
    'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def installed() -> dict[str, metadata.Distribution]:
    """Return what is installed, by name; of two with one name that which is imported."""
    found: dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions():
        found.setdefault(canonical(distribution.metadata["Name"]), distribution)
    return found


def needed_names(
    distribution: metadata.Distribution, extras: frozenset[str] = frozenset()
) -> set[tuple[str, frozenset[str]]]:
    """Return the names that a distribution requires, with the extras of each: those of its own extras where they are asked for."""
    names = set()
    for requirement in distribution.requires or ():
        words, _, marker = requirement.partition(";")
        asked = re.search(r"""extra\s*==\s*['"]([\w.-]+)['"]""", marker)
        if asked and canonical(asked[1]) not in extras:
            continue
        name = re.match(r"\s*([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?", words)
        if name is None:
            raise SystemExit(f"A requirement of {distribution.metadata['Name']} cannot be read.")
        names.add(
            (
                canonical(name[1]),
                frozenset(
                    canonical(word.strip()) for word in (name[2] or "").split(",") if word.strip()
                ),
            )
        )
    return names


def closure(
    extras: frozenset[str] = frozenset(),
) -> tuple[dict[str, metadata.Distribution], dict[str, set[str]]]:
    """Return what the package needs as it is installed here, and who needs whom. What a marker excludes is not installed, and is left out."""
    here = installed()
    if ROOT not in here:
        raise SystemExit(f"{ROOT} is not installed in this environment.")
    found: dict[str, metadata.Distribution] = {ROOT: here[ROOT]}
    edges: dict[str, set[str]] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting: list[tuple[str, frozenset[str]]] = [(ROOT, extras)]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        edges.setdefault(name, set())
        for other, more in needed_names(here[name], wanted):
            if other in here:
                found[other] = here[other]
                edges[name] |= {other} - {name}
                waiting.append((other, more))
    return found, edges


def licence(distribution: metadata.Distribution) -> str:
    """Return the licence of a distribution: its expression, or what its metadata call it in other words; "unknown" where they say nothing."""
    told = distribution.metadata
    if told.get("License-Expression"):
        return str(told["License-Expression"])
    classed = [
        line.split(" :: ")[-1]
        for line in told.get_all("Classifier") or ()
        if line.startswith("License ::") and not line.endswith("OSI Approved")
    ]
    short = (told.get("License") or "").strip()
    for word in ([short] if "\n" not in short and len(short) < 60 else []) + classed:
        if word.lower() in SPDX:
            return SPDX[word.lower()]
    if classed or (short and "\n" not in short and len(short) < 60):
        return (classed or [short])[0]
    texts = [
        short,
        *(
            distribution.read_text(f"{folder}{name}") or ""
            for name in told.get_all("License-File") or ()
            for folder in ("licenses/", "")
        ),
    ]
    titles = (text.strip().splitlines()[0].strip().lower() for text in texts if text.strip())
    return next((SPDX[title] for title in titles if title in SPDX), "unknown")


def address(distribution: metadata.Distribution) -> str | None:
    """Return where a distribution says that it is at home."""
    told = distribution.metadata
    urls = dict(line.split(", ", 1) for line in told.get_all("Project-URL") or () if ", " in line)
    lowered = {name.lower(): url for name, url in urls.items()}
    for name in ("homepage", "home", "source", "repository", "source code", "github"):
        if name in lowered:
            return lowered[name]
    return told.get("Home-page") or None


def reference(distribution: metadata.Distribution) -> str:
    """Return the package URL of a distribution."""
    return f"pkg:pypi/{canonical(distribution.metadata['Name'])}@{distribution.version}"


def component(
    name: str, distribution: metadata.Distribution, kind: str = "library"
) -> dict[str, Any]:
    """Return a distribution as a component."""
    word = licence(distribution)
    stated: dict[str, Any] = (
        {"expression": word}
        if re.fullmatch(r"[\w.+() -]+", word)
        and word != "unknown"
        and ((word in SPDX.values() and word != "BSD") or " " in word or "-" in word)
        else {"license": {"name": word}}
    )
    entry: dict[str, Any] = {
        "type": kind,
        "bom-ref": reference(distribution),
        "name": name,
        "version": distribution.version,
        "licenses": [stated],
        "purl": reference(distribution),
    }
    home = address(distribution)
    return entry | ({"externalReferences": [{"type": "website", "url": home}]} if home else {})


def bill(extras: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the bill of materials of the package in this environment."""
    found, edges = closure(extras)
    parts = [component(name, found[name]) for name in sorted(found) if name != ROOT]
    graph = [
        {
            "ref": reference(found[name]),
            "dependsOn": sorted(reference(found[other]) for other in edges[name]),
        }
        for name in sorted(edges)
    ]
    told = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": component(ROOT, found[ROOT], "application"),
            "properties": [{"name": "python", "value": ".".join(map(str, sys.version_info[:3]))}],
        },
        "components": parts,
        "dependencies": graph,
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(told, sort_keys=True))
    return {**told, "serialNumber": f"urn:uuid:{number}"}


def faults(told: dict[str, Any]) -> list[str]:
    """Return what is wrong in the structure of a bill: keys that CycloneDX requires, one name for each thing, and no reference to nothing."""
    wrong = [
        f"{key} is missing"
        for key in (
            "bomFormat",
            "specVersion",
            "serialNumber",
            "version",
            "metadata",
            "components",
            "dependencies",
        )
        if key not in told
    ]
    if wrong:
        return wrong
    if (told["bomFormat"], told["specVersion"]) != ("CycloneDX", "1.6"):
        wrong.append("it is no CycloneDX 1.6")
    if not re.fullmatch(
        r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", told["serialNumber"]
    ):
        wrong.append("the serial number is no UUID")
    parts = [told["metadata"]["component"], *told["components"]]
    wrong += [
        f"{part.get('name')}: {key} is missing"
        for part in parts
        for key in ("type", "name", "version", "bom-ref", "purl", "licenses")
        if not part.get(key)
    ]
    names = [part["bom-ref"] for part in parts]
    if len(set(names)) < len(names):
        wrong.append("two components have one name")
    if sorted(entry["ref"] for entry in told["dependencies"]) != sorted(set(names)):
        wrong.append("components and dependencies are not of the same things")
    wrong += [
        f"{entry['ref']} needs {other}, which is not listed"
        for entry in told["dependencies"]
        for other in entry["dependsOn"]
        if other not in names
    ]
    return wrong


def main() -> None:
    """Write the bill of this environment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--extra", action="append", default=[])
    asked = parser.parse_args()
    told = bill(frozenset(map(canonical, asked.extra)))
    wrong = faults(told)
    if wrong:
        raise SystemExit("The bill is not whole: " + "; ".join(wrong))
    text = json.dumps(told, indent=2) + "\n"
    if asked.output is None:
        print(text, end="")
    else:
        asked.output.write_text(text, encoding="utf-8")
        print(f"Wrote {asked.output}: {len(told['components'])} packages.")


if __name__ == "__main__":
    main()
