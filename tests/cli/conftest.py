"""What tests of commands share."""

import json

import pytest


@pytest.fixture(scope="session")
def synthetic(run_here, data, tmp_path_factory):
    """A synthesis of cmc.csv."""
    out = tmp_path_factory.mktemp("made") / "synthetic.csv"
    assert run_here("synth", data / "cmc.csv", "-o", out, "--seed", 1, "--quiet").code == 0
    return out


@pytest.fixture
def timings_in():
    """Return a function that lists the keys of JSON, however deep, that say how long something took."""

    def keys(value):
        if isinstance(value, dict):
            return [key for key, inner in value.items() for key in (key, *keys(inner))]
        return [key for inner in value for key in keys(inner)] if isinstance(value, list) else []

    def listed(path):
        words = ("second", "elapsed", "duration", "millis")
        return [
            key
            for key in keys(json.loads(path.read_text()))
            if any(word in key.lower() for word in words)
        ]

    return listed
