"""The page listens on this computer alone, unless somebody asks for more by name."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from chaffinch.errors import InputError
from chaffinch.web.serving import address_of, entry_file, hosts_of


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("::1", "::1"),
        ("127.0.0.2", "127.0.0.2"),
    ],
)
def test_this_computer_is_listened_at(host: str, address: str) -> None:
    assert address_of(host, others=False) == address


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "8.8.8.8"])
def test_other_computers_need_a_flag(host: str) -> None:
    with pytest.raises(InputError, match="--let-other-computers-connect"):
        address_of(host, others=False)
    assert address_of(host, others=True) == host


def test_a_name_is_no_address() -> None:
    with pytest.raises(InputError, match="takes an address"):
        address_of("example.org", others=True)


def test_a_browser_may_call_it_by_its_own_names() -> None:
    assert hosts_of("127.0.0.1", 80) == {"127.0.0.1:80", "localhost:80"}
    assert hosts_of("::1", 80) == {"[::1]:80", "localhost:80"}
    assert hosts_of("10.0.0.1", 80) == {"10.0.0.1:80"}


def test_the_file_that_leads_a_browser_in_is_its_owners_alone(tmp_path: Path) -> None:
    path = entry_file(tmp_path / "enter.html", "http://127.0.0.1:1/enter?token=a&b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert 'content="0;url=http://127.0.0.1:1/enter?token=a&amp;b"' in path.read_text()
