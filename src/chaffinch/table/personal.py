"""Columns that look like names or personal numbers: by their own names, and by what only numbers that are given out once do.

Such a column says who a record is about. Nothing is changed here: it is pointed out, with what to declare. Under a promise of
privacy names and declarations are all that is looked at.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import PersonalDataWarning, listed
from .infer import CODED_LEVELS
from .note import Note
from .profile import Profile
from .schema import Column
from .types import parse_type

__all__ = ["PERSONAL", "given_out_once", "names_a_person", "personal_columns", "personal_note", "warn_of", "with_hint"]

PERSONAL = "personal"
"""What a note on such columns is about."""

ODDS = 1e-4
"""The chance with which numbers of independent records are taken for ones that were given out once."""

FEWEST = 20
"""Records from which numbers are looked at."""

FEWEST_FLAT = 50
"""Records from which an even spread says something."""

FLAT = 6
"""Digits from which numbers that spread evenly are taken for personal ones."""

LONG = 9
"""Digits from which whole numbers that are all of one length and almost all different are taken for personal ones."""

ALMOST_ALL = 0.95

_OWNER = (
    r"(person|people|patient|pat|client|customer|kunde|kunden|user|member|mitglied|student|schueler|pupil|employee|mitarbeiter|staff|subject|"
    r"respondent|participant|proband|probanden|teilnehmer|contact|kontakt|emergencycontact|parent|mother|father|mutter|vater|spouse|"
    r"child|kind|applicant|insured|versicherten|policyholder|doctor|physician|arzt|home|work|private|privat|household|family|hh|your|my)?"
)
_SOMEBODY = (
    r"(person|patient|pat|client|customer|kunde|kunden|user|member|mitglied|student|schueler|pupil|employee|mitarbeiter|staff|subject|respondent|"
    r"participant|proband|probanden|teilnehmer|household|hh|family|insured|versicherten)"
)
_NUMBER = r"(id|ids|no|nr|num|number|numbers|nummer|numero)"
# Words that nobody uses for anything but persons.
_NAMES = (
    # English, German, French, Spanish, Portuguese, Italian
    "firstname|forename|givenname|christianname|middlename|lastname|surname|familyname|maidenname|birthname|fullname|nickname|"
    "vorname|vornamen|nachname|familienname|zuname|geburtsname|maedchenname|rufname|"
    "prenom|prenoms|nomdefamille|nomdenaissance|nombres|primernombre|apellido|apellidos|primerapellido|segundoapellido|"
    "sobrenome|apelido|primeironome|nomecompleto|cognome|nomeecognome|"
    # Dutch, Polish, Czech, Swedish, Danish, Norwegian, Finnish, Hungarian, Turkish
    "voornaam|achternaam|geboortenaam|imie|nazwisko|jmeno|prijmeni|fornamn|foernamn|efternamn|fornavn|efternavn|etternavn|etunimi|sukunimi|"
    "vezeteknev|keresztnev|soyad|soyadi"
)
_PERSONAL_NUMBERS = (
    "ssn|socialsecurity|socialsecuritynumber|nhs|nhsnumber|nhsno|nino|nationalinsurancenumber|nationalid|nationalidnumber|taxid|taxpayerid|mrn|"
    "medicalrecordnumber|passport|passportnumber|passportno|driverslicense|driverlicense|drivinglicence|drivinglicense|personalnumber|personalid|"
    "svnr|svnummer|sozialversicherungsnummer|versichertennummer|krankenversicherungsnummer|kvnr|ahvnummer|ahvnr|steuerid|steuernummer|"
    "ausweisnummer|ausweisnr|personalausweis|reisepass|reisepassnummer|personalnummer|matrikelnummer|matrikelnr|personenkennzahl|"
    "numerosecu|numerosecuritesociale|codicefiscale|dni|nif|curp|cpf|pesel|bsn|burgerservicenummer|personnummer|cprnummer|cprnr|"
    "fodselsnummer|henkilotunnus|rodnecislo|iban|creditcard|creditcardnumber|cardnumber|kreditkartennummer|accountnumber|kontonummer|kontonr"
)
# Words that also stand for a make, a place or a yes and no: more than a few values are needed.
_CONTACTS = (
    "name|names|nom|nombre|nome|naam|navn|namn|initials|email|emails|emailaddress|mail|mailaddress|emailadresse|correo|phone|phonenumber|phoneno|"
    "telephone|telephonenumber|tel|telno|telnr|telefon|telefonnummer|telefonnr|telefono|telefone|telefoon|handy|handynummer|mobile|mobilenumber|"
    "mobilephone|cellphone|mobilnummer|fax|faxnumber|address|addresses|streetaddress|addressline|adresse|anschrift|wohnadresse|adres|adress|adresa|"
    "direccion|endereco|indirizzo|street|streetname|strasse|strassenname|hausnummer|housenumber|ipaddress|ipadresse"
)
_SURE = re.compile(f"{_OWNER}({_NAMES}|{_PERSONAL_NUMBERS})s?")
_LIKELY = re.compile(f"{_OWNER}({_CONTACTS})|{_SOMEBODY}{_NUMBER}|pid|hid|hhid")
_SPELLINGS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "o", "ł": "l", "æ": "ae"}


def personal_columns(columns: Iterable[Column], profiles: Mapping[str, Profile] | None = None) -> dict[str, str]:
    """Return the modelled columns that look like names or personal numbers, and what says so: their name or their numbers.

    Without profiles names and declarations alone decide, as they must under a promise of privacy.
    """
    out = {}
    for column in columns:
        if column.kind not in ("integer", "float", "categorical") or pa.types.is_temporal(parse_type(column.type)):
            continue
        profile = None if profiles is None else profiles[column.name]
        if 0 <= names_a_person(column.name) < _distinct(column, profile):
            out[column.name] = "its name"
        elif profile is not None and column.kind != "float" and not profile.n_fraction and given_out_once(profile):
            out[column.name] = "its numbers"
    return out


def _distinct(column: Column, profile: Profile | None) -> float:
    """How many different values a column has, or may have by its declaration."""
    if profile is not None:
        return len(profile.words) or len(profile.numbers.result()[0])
    return len(column.levels) if column.levels is not None else float("inf")


def personal_note(reasons: Mapping[str, str]) -> list[Note]:
    """Return what to say of columns that look like names or personal numbers, and what to do; nothing of none."""
    if not reasons:
        return []
    named = listed(f"{name} (by {why})" for name, why in reasons.items())
    return [
        Note(
            "",
            PERSONAL,
            f"These columns look like names or personal numbers, and are modelled like any other: {named}. If they say who somebody is, "
            'declare kind = "identifier" for them in a schema (`chaffinch schema DATA -o schema.toml` writes one; pass it with --schema): they are '
            "then left out, or made anew.",
        )
    ]


def with_hint(column: Column, reasons: Mapping[str, str]) -> Column:
    """Return a column that looks like a name or a personal number with a reason that says so."""
    if column.name not in reasons:
        return column
    hint = f'looks like a name or a personal number by {reasons[column.name]}: if it is, write kind = "identifier"'
    return replace(column, reason=f"{column.reason}; {hint}" if column.reason else hint)


def warn_of(notes: Iterable[Note]) -> None:
    """Give a Python warning of columns that look like names or personal numbers to the caller of the calling function."""
    for note in notes:
        if note.what == PERSONAL:
            warnings.warn(note.sentence, PersonalDataWarning, stacklevel=3)


def names_a_person(name: str) -> int:
    """Return how many different values a column of this name may have before it is taken to name persons; -1: any number.

    Two where the name says nothing else (`nachname`, `ssn`), ten where it may stand for something else (`name`, `phone`, `patient_id`).

    Examples
    --------
    >>> [names_a_person(name) for name in ("Nachname", "first_name", "NHS number", "e-mail", "patientId", "car_name", "age")]
    [2, 2, 2, 10, 10, -1, -1]
    """
    spelled = "".join(_SPELLINGS.get(ch, ch) for ch in re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
    word = "".join(re.findall("[a-z]+", plain))
    return 2 if _SURE.fullmatch(word) else CODED_LEVELS if _LIKELY.fullmatch(word) else -1


def given_out_once(profile: Profile) -> bool:
    """Return whether whole numbers look as if each was given to one person: almost all differ, and not as a measure's do.

    Three signs, each of them enough. *Fewer equals than neighbours*: of two independent records of a measure, both have the same number about as
    often as the second has the one a step above the first's, since a smooth density has no holes beside its values and people round to
    the same numbers; numbers that were given out once have neighbours and no equals. *Long*: nine digits or more, nearly all of one length.
    *Flat*: all different, all of one length of six digits or more, as often near one end of their range as near any other place, and not
    rounded: amounts of money and numbers of people are skewed, and end in zeros.
    """
    values, counts = profile.numbers.result()
    n = float(counts.sum())
    if not profile.numbers.exact or n < FEWEST or len(values) < ALMOST_ALL * n:
        return False
    whole = values.astype(np.int64)
    if _poisson_below(float((counts * (counts - 1) / 2).sum()), _expected_equals(whole, counts)) < ODDS:
        return True
    lengths = 1 + np.searchsorted(10 ** np.arange(1, 19), np.abs(whole), side="right")
    most = int(np.bincount(lengths, weights=counts).argmax())
    if most >= LONG:
        return bool(counts[lengths == most].sum() >= 0.85 * n)
    return bool(most >= FLAT and (lengths == most).all() and len(values) == n and _is_flat(whole))


def _expected_equals(values: NDArray[np.int64], counts: NDArray[np.float64]) -> float:
    """How many pairs of records should be equal if all were drawn by themselves: by the pairs that are a few steps apart."""
    gaps = np.diff(values)
    step = int(np.gcd.reduce(gaps))
    reach = max(step, int(np.median(gaps)) // step * step)
    last = np.searchsorted(values, values + reach, side="right")
    below = np.concatenate([[0.0], np.cumsum(counts)])
    near = float((counts * (below[last] - below[np.arange(len(values)) + 1])).sum())
    return near / (2 * reach / step)


def _is_flat(values: NDArray[np.int64]) -> bool:
    """Whether sorted numbers spread evenly over their range (Kolmogorov and Smirnov's distance, at 1 %) and are not rounded."""
    n = len(values)
    if n < FEWEST_FLAT or (values % 10 == 0).mean() > 0.2:
        return False
    place = (values[1:-1] - values[0]) / (values[-1] - values[0])
    rank = np.arange(1, n - 1) / (n - 2)
    distance = max(float((rank - place).max()), float((place - rank + 1 / (n - 2)).max()))
    return bool(distance * np.sqrt(n - 2) < 1.63)


def _poisson_below(seen: float, expected: float) -> float:
    """The chance that a Poisson count is at most as large as what was seen."""
    from scipy.special import pdtr

    return float(pdtr(seen, expected)) if expected > 0 else 1.0
