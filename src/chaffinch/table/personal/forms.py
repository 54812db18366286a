"""Forms of direct identifiers: what values look like, which check digits they have, how often
chance gets these right, and how one makes them up.

A made-up value must belong to nobody. Where a range is kept out of use, it is made there: e-mail
and web addresses lie in domains that RFC 2606 keeps for examples, numbers of computers in ranges
that RFC 5737, 1112 and 3849 keep out of use, places in the emptiest part of the Pacific, numbers
under prefixes that are never given out. Where there is no such range, check digits are wrong on
purpose: a number that passes its check may be somebody's. No name here was taken from a register:
the same number gives the same words, different numbers different ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..._base.registry import Registry
from . import checks
from .checks import Check

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
    """Return an address of version 4 that no computer has: the ranges for documentation (RFC 5737),
    then class E (RFC 1112).

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


def coordinates(number: int) -> str:
    """Return a latitude and a longitude in the emptiest part of the Pacific."""
    return f"{latitude(number)}, {longitude(number // 500_000)}"


@dataclass(frozen=True, kw_only=True)
class Form:
    """The form of an identifier.

    Parameters
    ----------
    name, what
        Its name in schema files, and what its values are, in the plural.
    pattern
        What values match; empty for forms that only a column's name tells. Of the value without
        spaces, dots, dashes and slashes unless `with_separators`.
    check, chance
        The check of such a value, and the share of random values of the pattern that pass it.
    share
        The share of values that must have the form.
    mask, unissued, check_at
        How values without records to learn from are made up; the signs at certain places with which
        no number was ever given out; and
        the place (from the end where negative) whose sign is chosen so that the check fails.
    make, size
        How the value of a number is made up instead, and how many short ones there are.
    repeats
        Whether values are shared by chance, as first names are.
    """

    name: str
    what: str
    pattern: str = ""
    with_separators: bool = False
    check: Check | None = None
    chance: float = 1.0
    share: float = 0.9
    mask: str = ""
    unissued: tuple[tuple[int, str], ...] = ()
    check_at: int = -1
    make: Callable[[int], str] | None = None
    size: int = 0
    repeats: bool = False

    def has(self, word: str) -> bool:
        """Whether a value has the pattern; its check is not looked at."""
        return (
            _compile_pattern(self.pattern).fullmatch(
                word if self.with_separators else compact(word)
            )
            is not None
        )

    def passes(self, word: str) -> bool:
        """Whether a value has the pattern and passes the check, where there is one."""
        return self.has(word) and (
            self.check is None or self.check(word if self.with_separators else compact(word))
        )


_patterns: dict[str, re.Pattern[str]] = {}


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    if pattern not in _patterns:
        _patterns[pattern] = re.compile(pattern)
    return _patterns[pattern]


def compact(word: str) -> str:
    """Return a number without the spaces, dots, dashes and slashes that people group it by.

    Examples
    --------
    >>> compact("12 34-56.78/9")
    '123456789'
    """
    return word.translate(_GROUPING).upper()


_GROUPING = str.maketrans("", "", " .-/\u00a0\u2013")

FORMS: Registry[Form] = Registry("form")

_DAY = r"(0[1-9]|[12]\d|3[01])"
_MONTH = r"(0[1-9]|1[0-2])"
_STREETS = (
    r"(\w*(straße|strasse|str\.|gasse|allee|platz|weg|straat|laan|plein|gatan|vägen|gade|vej|veien|katu)|street|st|avenue|ave|road|rd|lane|ln|drive|dr|"
    r"boulevard|blvd|court|ct|square|rue|chemin|impasse|quai|via|viale|piazza|corso|calle|avenida|av\.|paseo|rua|travessa|ulica|ul\.|utca)"
)

for form in (
    # By a column's name alone.
    Form(
        name="given_name",
        what="first names",
        make=given_name,
        size=GIVEN_NAMES,
        repeats=True,
    ),
    Form(name="surname", what="surnames", make=surname, size=SURNAMES, repeats=True),
    Form(
        name="name",
        what="names",
        make=full_name,
        size=GIVEN_NAMES * SURNAMES,
    ),
    Form(
        name="user_name",
        what="user names",
        make=user_name,
        size=GIVEN_NAMES * SURNAMES,
    ),
    Form(name="id", what="numbers of persons", mask="#########"),
    Form(name="personal_number", what="personal numbers", mask="#########"),
    Form(name="account", what="account numbers", mask="##########"),
    Form(
        name="house_number",
        what="house numbers",
        make=lambda number: str(number + 1),
        size=200,
        repeats=True,
    ),
    Form(name="latitude", what="coordinates", make=latitude, size=500_000),
    Form(name="longitude", what="coordinates", make=longitude, size=500_000),
    # By their pattern.
    Form(
        name="email",
        what="e-mail addresses",
        pattern=r"[^@\s,;]+@[^@\s,;]+\.[^@\s.,;]{2,}",
        with_separators=True,
        make=email,
        size=GIVEN_NAMES * SURNAMES,
    ),
    Form(
        name="url",
        what="web addresses",
        pattern=r"(https?://|www\.)\S+",
        with_separators=True,
        make=url,
        size=1_000_000,
    ),
    Form(
        name="ip",
        what="addresses of computers",
        pattern=r"((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)",
        with_separators=True,
        make=ip,
        size=15 << 24,
    ),
    Form(
        name="ipv6",
        what="addresses of computers",
        pattern=r"(?=.*:.*:)([0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}",
        with_separators=True,
        make=lambda number: f"2001:db8::{number >> 16:x}:{number & 0xFFFF:x}",
        size=1 << 32,
    ),
    Form(
        name="mac",
        what="addresses of devices",
        pattern=r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}",
        with_separators=True,
        make=lambda number: (
            f"02:00:00:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
        ),
        size=1 << 24,
    ),
    Form(
        name="coordinates",
        what="coordinates",
        pattern=r"\(?[+-]?\d{1,2}\.\d{3,}\s*[,; ]\s*[+-]?\d{1,3}\.\d{3,}\)?",
        with_separators=True,
        make=coordinates,
        size=500_000**2,
    ),
    Form(
        name="address",
        what="postal addresses",
        with_separators=True,
        share=0.6,
        make=address,
        size=120 * SURNAMES,
        pattern=rf"(?is)(?=.*\b{_STREETS}(?!\w))(?=.*\b\d{{1,5}}\s?[a-z]?\b).*",
    ),
    Form(
        name="postcode_and_house",
        what="postcodes with house numbers",
        with_separators=True,
        mask="#### ?? ###",
        pattern=r"(?i)(\d{4}\s?[A-Z]{2}|[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2})[\s,/-]+\d{1,5}\s?[A-Z]?|\d{1,5}[A-Z]?[\s,/-]+(\d{4}\s?[A-Z]{2}|[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2})",
    ),
    Form(
        name="us_ssn",
        what="US social security numbers",
        pattern=r"(?!000|666|9)\d{3}[- ](?!00)\d{2}[- ](?!0000)\d{4}",
        with_separators=True,
        mask="###-##-####",
        unissued=((0, "6"), (1, "6"), (2, "6")),
    ),
    Form(
        name="uk_nino",
        what="UK national insurance numbers",
        pattern=r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]",
        mask="??######?",
        unissued=((0, "Q"), (1, "Q")),
    ),
    Form(
        name="dk_cpr",
        what="Danish CPR numbers",
        pattern=rf"{_DAY}{_MONTH}\d\d-\d{{4}}",
        with_separators=True,
        mask="######-####",
        unissued=((2, "9"),),
    ),
    Form(
        name="phone",
        what="telephone numbers",
        with_separators=True,
        mask="+999 ### ######",
        share=0.8,
        pattern=r"(?!\d{1,4}[./-]\d{1,2}[./-]\d{1,4}$)(?=(\D*\d){7,15}\D*(x\d+)?$)((\+|00)[1-9][\d\s()./-]+\d|0\d{1,5}[\s/-]\d[\d\s/-]+|\(0?\d{2,5}\)[\s-]?\d[\d\s-]+"
        r"|([+]?1[-. ])?(\d{3}|\(\d{3}\))[-. ]?\d{3}[-. ]\d{4})(x\d+)?",
    ),
    # By their check digits.
    Form(
        name="iban",
        what="account numbers (IBAN)",
        pattern=r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}",
        check=checks.iban,
        chance=1 / 97,
        mask="XX## #### #### ####",
        check_at=3,
    ),
    Form(
        name="credit_card",
        what="payment card numbers",
        pattern=r"[1-6]\d{11,18}",
        check=checks.luhn,
        chance=0.1,
        mask="#### #### #### ####",
    ),
    Form(
        name="es_dni",
        what="Spanish identity numbers",
        pattern=r"[XYZ\d]\d{7}[A-Z]",
        check=checks.dni,
        chance=1 / 23,
        mask="########?",
    ),
    Form(
        name="nl_bsn",
        what="Dutch citizen service numbers",
        pattern=r"\d{9}",
        check=lambda text: checks.weighted_sum(text, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0,
        chance=1 / 11,
        mask="#########",
    ),
    Form(
        name="fr_nir",
        what="French social security numbers",
        pattern=r"[1-478]\d{4}(\d\d|2[AB])\d{8}",
        check=checks.nir,
        chance=1 / 97,
        mask="###############",
    ),
    Form(
        name="it_codice_fiscale",
        what="Italian tax codes",
        pattern=r"[A-Z]{6}[\dL-NP-V]{2}[A-EHLMPRST][\dL-NP-V]{2}[A-Z][\dL-NP-V]{3}[A-Z]",
        check=checks.codice_fiscale,
        chance=1 / 26,
        mask="??????##?##?###?",
    ),
    Form(
        name="se_personnummer",
        what="Swedish personal numbers",
        pattern=rf"(\d\d)?\d\d{_MONTH}([06][1-9]|[1278]\d|[39][01])\+?\d{{4}}",
        check=lambda text: checks.personnummer(text.replace("+", "")),
        chance=0.1,
        mask="######-####",
    ),
    Form(
        name="fi_hetu",
        what="Finnish personal codes",
        pattern=rf"{_DAY}{_MONTH}\d\d[-+A-FU-Y]\d{{3}}[0-9A-FHJ-NPR-Y]",
        with_separators=True,
        check=checks.hetu,
        chance=1 / 31,
        mask="######-####",
    ),
    Form(
        name="no_fnr",
        what="Norwegian birth numbers",
        pattern=r"\d{11}",
        check=checks.fnr,
        chance=1 / 300,
        mask="###########",
    ),
    Form(
        name="pl_pesel",
        what="Polish PESEL numbers",
        pattern=r"\d{11}",
        check=checks.pesel,
        chance=1 / 45,
        mask="###########",
    ),
    Form(
        name="de_tax_id",
        what="German tax numbers",
        pattern=r"[1-9]\d{10}",
        check=checks.mod_11_10,
        chance=0.1,
        mask="###########",
    ),
    Form(
        name="de_kvnr",
        what="German health insurance numbers",
        pattern=r"[A-Z]\d{9}",
        check=checks.kvnr,
        chance=0.1,
        mask="?#########",
    ),
    Form(
        name="at_svnr",
        what="Austrian social insurance numbers",
        pattern=r"[1-9]\d{9}",
        check=checks.svnr,
        chance=1 / 200,
        mask="##########",
        check_at=3,
    ),
    Form(
        name="ch_ahv",
        what="Swiss AHV numbers",
        pattern=r"756\d{10}",
        check=checks.ahv,
        chance=0.1,
        mask="756.####.####.##",
    ),
    Form(
        name="be_insz",
        what="Belgian register numbers",
        pattern=r"\d{11}",
        check=checks.insz,
        chance=2 / 97,
        mask="###########",
    ),
    Form(
        name="uk_nhs",
        what="NHS numbers",
        pattern=r"[1-9]\d{9}",
        check=checks.nhs,
        chance=1 / 11,
        mask="### ### ####",
    ),
    Form(
        name="pt_nif",
        what="Portuguese tax numbers",
        pattern=r"[1-35689]\d{8}",
        check=checks.nif,
        chance=0.1,
        mask="#########",
    ),
    Form(
        name="ca_sin",
        what="Canadian social insurance numbers",
        pattern=r"[1-79]\d{8}",
        check=checks.luhn,
        chance=0.1,
        mask="### ### ###",
    ),
    Form(
        name="br_cpf",
        what="Brazilian CPF numbers",
        pattern=r"\d{11}",
        check=checks.cpf,
        chance=1 / 100,
        mask="###.###.###-##",
    ),
    Form(
        name="cz_rc",
        what="Czech and Slovak birth numbers",
        pattern=r"\d{10}",
        check=checks.rodne_cislo,
        chance=1 / 40,
        mask="######/####",
    ),
    Form(
        name="ee_lt_id",
        what="Estonian and Lithuanian personal codes",
        pattern=r"[1-6]\d{10}",
        check=checks.isikukood,
        chance=1 / 200,
        mask="###########",
    ),
    Form(
        name="bg_egn",
        what="Bulgarian EGN numbers",
        pattern=r"\d{10}",
        check=checks.egn,
        chance=1 / 40,
        mask="##########",
    ),
    Form(
        name="ro_cnp",
        what="Romanian CNP numbers",
        pattern=r"[1-8]\d{12}",
        check=checks.cnp,
        chance=1 / 200,
        mask="#############",
    ),
    Form(
        name="tr_tckn",
        what="Turkish identity numbers",
        pattern=r"[1-9]\d{10}",
        check=checks.tckn,
        chance=1 / 50,
        mask="###########",
    ),
    Form(
        name="cn_id",
        what="Chinese resident numbers",
        pattern=r"\d{17}[\dX]",
        check=checks.resident_id,
        chance=1 / 200,
        mask="##################",
    ),
    Form(
        name="in_aadhaar",
        what="Indian Aadhaar numbers",
        pattern=r"[2-9]\d{11}",
        check=checks.aadhaar,
        chance=0.1,
        mask="#### #### ####",
    ),
):
    FORMS.register(form)
