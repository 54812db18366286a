"""Made-up names, addresses and the like: the same number gives the same words, different numbers different ones.

Nothing here was taken from a register. E-mail and web addresses lie in domains that RFC 2606 keeps for examples, numbers of
computers in ranges that RFC 5737, 1112 and 3849 keep out of use, places in the emptiest part of the Pacific.
"""

from __future__ import annotations

_GIVEN = [
    "Arvel",
    "Belka",
    "Cordin",
    "Davina",
    "Elmar",
    "Fenja",
    "Galvin",
    "Hedra",
    "Ilvo",
    "Jorina",
    "Kelvan",
    "Lunea",
    "Mirko",
    "Navia",
    "Orlan",
    "Perina",
    "Quillon",
    "Ravena",
    "Selvo",
    "Tamrin",
    "Ulvia",
    "Verro",
    "Wenda",
    "Xanto",
    "Yelva",
    "Zorin",
    "Alenka",
    "Brivo",
    "Calda",
    "Doran",
    "Elsira",
    "Farro",
    "Gilda",
    "Havel",
    "Irvia",
    "Jasko",
    "Kirvana",
    "Lorvin",
    "Mavra",
    "Nelvo",
    "Osrin",
    "Palva",
    "Rudra",
    "Savin",
    "Telka",
    "Urvan",
    "Velia",
    "Wilko",
    "Ysra",
    "Zelma",
    "Andril",
    "Bova",
    "Celvin",
    "Drusa",
    "Eskor",
    "Fila",
    "Gorvan",
    "Hulda",
    "Imra",
    "Jelko",
    "Korra",
    "Lisvan",
    "Morva",
    "Niska",
]
_START = [
    "Bal",
    "Cor",
    "Dren",
    "Ess",
    "Fal",
    "Gor",
    "Hal",
    "Ild",
    "Jar",
    "Kel",
    "Lor",
    "Mar",
    "Nev",
    "Old",
    "Pen",
    "Quar",
    "Rav",
    "Sel",
    "Tor",
    "Ulm",
    "Ver",
    "Wes",
    "Yar",
    "Zel",
]
_MIDDLE = [
    "an",
    "ed",
    "il",
    "or",
    "un",
    "av",
    "es",
    "ib",
    "ol",
    "ur",
    "am",
    "en",
    "is",
    "ot",
    "uv",
    "ak",
]
_END = [
    "der",
    "dorf",
    "by",
    "man",
    "ton",
    "ric",
    "sted",
    "vik",
    "wyn",
    "zell",
    "ley",
    "mark",
    "nor",
    "shaw",
    "thal",
    "quist",
]
SURNAMES = len(_START) * len(_MIDDLE) * len(_END)
GIVEN_NAMES = len(_GIVEN)


def given_name(number: int) -> str:
    """Return a first name.

    Examples
    --------
    >>> given_name(0), given_name(GIVEN_NAMES)
    ('Arvel', 'Arvel Arvel')
    """
    more, index = divmod(number, GIVEN_NAMES)
    return _GIVEN[index] if not more else f"{given_name(more - 1)} {_GIVEN[index]}"


def surname(number: int) -> str:
    """Return a surname.

    Examples
    --------
    >>> surname(0), surname(SURNAMES + 1)
    ('Balander', 'Balander-Corander')
    """
    more, index = divmod(number, SURNAMES)
    index, start = divmod(index, len(_START))
    end, middle = divmod(index, len(_MIDDLE))
    name = _START[start] + _MIDDLE[middle] + _END[end]
    return name if not more else f"{surname(more - 1)}-{name}"


def full_name(number: int) -> str:
    """Return a first name and a surname.

    Examples
    --------
    >>> full_name(65)
    'Belka Corander'
    """
    more, index = divmod(number, GIVEN_NAMES)
    return f"{_GIVEN[index]} {surname(more)}"


def user_name(number: int) -> str:
    """Return a name for an account.

    Examples
    --------
    >>> user_name(65)
    'belka.corander'
    """
    return full_name(number).lower().replace(" ", ".")


def email(number: int) -> str:
    """Return an e-mail address in a domain that RFC 2606 keeps for examples."""
    return f"{user_name(number)}@example.org"


def url(number: int) -> str:
    """Return a web address in a domain that RFC 2606 keeps for examples."""
    return f"https://example.org/{number}"


def ip(number: int) -> str:
    """Return an address of version 4 that no computer has: the ranges for documentation (RFC 5737), then class E (RFC 1112).

    Examples
    --------
    >>> ip(0), ip(762)
    ('192.0.2.1', '240.0.0.0')
    """
    networks = ("192.0.2", "198.51.100", "203.0.113")
    block, host = divmod(number, 254)
    if block < len(networks):
        return f"{networks[block]}.{host + 1}"
    rest = (number - 254 * len(networks)) % (15 << 24)
    return f"{240 + (rest >> 24)}.{rest >> 16 & 255}.{rest >> 8 & 255}.{rest & 255}"


def address(number: int) -> str:
    """Return a street and a house number.

    Examples
    --------
    >>> address(119)
    'Balander Street 120'
    """
    more, house = divmod(number, 120)
    return f"{surname(more)} Street {house + 1}"


def latitude(number: int) -> str:
    """Return a latitude far from any land: 46 to 51 degrees south."""
    return f"-{46 + number % 500_000 / 100_000:.5f}"


def longitude(number: int) -> str:
    """Return a longitude far from any land at these latitudes: 121 to 126 degrees west."""
    return f"-{121 + number % 500_000 / 100_000:.5f}"


def place(number: int) -> str:
    """Return a latitude and a longitude in the emptiest part of the Pacific."""
    return f"{latitude(number)}, {longitude(number // 500_000)}"
