"""What the name of a column says of persons, in some twenty languages. All that is looked at under
a promise of privacy.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

FEW = 10
"""Different values up to which a column is taken for yes and no, or for a few groups, where its
name may stand for these.
"""

_OWNERS = [
    "person",
    "people",
    "patient",
    "pat",
    "client",
    "customer",
    "kunde",
    "kunden",
    "user",
    "member",
    "mitglied",
    "student",
    "schueler",
    "pupil",
    "employee",
    "mitarbeiter",
    "staff",
    "subject",
    "respondent",
    "participant",
    "proband",
    "probanden",
    "teilnehmer",
    "contact",
    "kontakt",
    "emergencycontact",
    "parent",
    "mother",
    "father",
    "mutter",
    "vater",
    "spouse",
    "child",
    "kind",
    "applicant",
    "insured",
    "versicherten",
    "policyholder",
    "doctor",
    "physician",
    "arzt",
    "home",
    "work",
    "private",
    "privat",
    "household",
    "family",
    "hh",
    "your",
    "my",
]
_SOMEBODY = (
    r"(person|patient|pat|client|customer|kunde|kunden|user|member|mitglied|student|schueler|pupil|employee|mitarbeiter|staff|subject|respondent|"
    r"participant|proband|probanden|teilnehmer|household|hh|family|insured|versicherten|study|studien|paciente|cliente|kund|potilas)"
)
_NUMBER = r"(id|ids|no|nr|num|number|numbers|nummer|numero)"

# Words that nobody uses for anything but persons, by the form of what stands under them: English, German, French, Spanish, Portuguese, Italian,
# Dutch, Polish, Czech, Swedish, Danish, Norwegian, Finnish, Hungarian, Turkish.
_SURE = {
    "given_name": "firstname|forename|givenname|christianname|middlename|vorname|vornamen|rufname|prenom|prenoms|nombres|primernombre|primeironome|voornaam|imie|"
    "jmeno|fornamn|foernamn|fornavn|etunimi|keresztnev",
    "surname": "lastname|surname|familyname|maidenname|birthname|nachname|familienname|zuname|geburtsname|maedchenname|nomdefamille|nomdenaissance|apellido|"
    "apellidos|primerapellido|segundoapellido|sobrenome|apelido|cognome|achternaam|geboortenaam|nazwisko|prijmeni|efternamn|efternavn|etternavn|sukunimi|"
    "vezeteknev|soyad|soyadi",
    "name": "fullname|nomecompleto|nombrecompleto|nomcomplet|nomeecognome|volledigenaam|vollstaendigername|fuldenavn|kokonimi|teljesnev|adsoyad",
    "user_name": "nickname|username|benutzername|anvaendarnamn|anvandarnamn|login|loginname|screenname|pseudonyme",
    "uk_nhs": "nhs|nhsnumber|nhsno",
    "uk_nino": "nino|nationalinsurancenumber",
    "us_ssn": "ssn|socialsecurity|socialsecuritynumber",
    "at_svnr": "svnr|svnummer|sozialversicherungsnummer",
    "de_kvnr": "versichertennummer|krankenversicherungsnummer|kvnr",
    "de_tax_id": "steuerid|steuernummer",
    "ch_ahv": "ahvnummer|ahvnr",
    "fr_nir": "numerosecu|numerosecuritesociale|nir",
    "it_codice_fiscale": "codicefiscale",
    "es_dni": "dni|nie|dninie",
    "br_cpf": "cpf",
    "pl_pesel": "pesel",
    "nl_bsn": "bsn|burgerservicenummer",
    "se_personnummer": "personnummer",
    "dk_cpr": "cprnummer|cprnr",
    "no_fnr": "fodselsnummer",
    "fi_hetu": "henkilotunnus|hetu",
    "cz_rc": "rodnecislo",
    "tr_tckn": "tckimlikno|tckn",
    "ro_cnp": "codnumericpersonal",
    "in_aadhaar": "aadhaar|aadhaarnumber",
    "iban": "iban",
    "credit_card": "creditcard|creditcardnumber|cardnumber|kreditkartennummer",
    "account": "accountnumber|kontonummer|kontonr|bankaccount|bankverbindung",
    "personal_number": "nationalid|nationalidnumber|taxid|taxpayerid|mrn|medicalrecordnumber|passport|passportnumber|passportno|driverslicense|driverlicense|"
    "drivinglicence|drivinglicense|personalnumber|personalid|ausweisnummer|ausweisnr|personalausweis|reisepass|reisepassnummer|personalnummer|matrikelnummer|"
    "matrikelnr|personenkennzahl|nif|curp|pasaporte|passeport|paspoort|passnummer|rijksregisternummer|szemelyiszam|tajszam",
}
# Words that also stand for a make, a place or a yes and no: more than a few values are needed.
_LIKELY = {
    "name": "name|names|nom|nombre|nome|naam|navn|namn|nimi|nev|jmenoaprijmeni|initials",
    "email": "email|emails|emailaddress|mail|mailaddress|emailadresse|correo|correoelectronico|courriel|epost|sahkoposti|posta",
    "phone": "phone|phonenumber|phoneno|telephone|telephonenumber|tel|telno|telnr|telefon|telefonnummer|telefonnr|telefono|telefone|telefoon|telefoonnummer|"
    "handy|handynummer|mobile|mobilenumber|mobilephone|cellphone|cell|mobilnummer|mobiltelefon|fax|faxnumber|puhelin|puhelinnumero|portable|celular|movil",
    "address": "address|addresses|streetaddress|addressline|adresse|anschrift|wohnadresse|adres|adress|adresa|direccion|endereco|indirizzo|domicilio|domicile|osoite|cim|"
    "street|streetname|strasse|strassenname|rue|calle|straat|gata|gade",
    "house_number": "hausnummer|housenumber|houseno|huisnummer|numerocivico",
    "ip": "ipaddress|ipadresse|clientip|remoteip|ipaddr",
    "latitude": "lat|latitude|breitengrad|latitud|latitudine|breddgrad",
    "longitude": "lon|lng|long|longitude|laengengrad|longitud|longitudine",
}
# Other scripts: Russian, Bulgarian, Greek, Chinese, Japanese, Korean, Arabic, Hebrew.
_OTHER_SCRIPTS = {
    "given_name": "имя отчество όνομα 名字 名前 이름",
    "surname": "фамилия επώνυμο επίθετο 姓 苗字",
    "name": "фио име ονοματεπώνυμο 姓名 氏名 성명 الاسم الاسمالكامل שם שםמלא",
    "email": "почта имейл 邮箱 电子邮件 メール メールアドレス 이메일 البريد البريدالإلكتروني",
    "phone": "телефон τηλέφωνο 电话 手机 手机号 電話番号 전화번호 رقمالهاتف טלפון",
    "address": "адрес διεύθυνση 地址 住所 주소 العنوان כתובת",
    "personal_number": "снилс инн паспорт αφμ αμκα マイナンバー 주민등록번호 תעודתזהות",
    "cn_id": "身份证 身份证号",
    "bg_egn": "егн",
}
_SPELLINGS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "o", "ł": "l", "æ": "ae"}


@dataclass(frozen=True)
class NameSign:
    """What a column's name says: the form of its values, and how many different ones it may have
    before it is taken to say who somebody is.

    Two where the name says nothing else (`nachname`, `ssn`), ten where it may stand for something
    else (`name`, `phone`, `patient_id`).
    """

    form: str
    max_distinct: int


@lru_cache(maxsize=4096)
def name_sign(name: str) -> NameSign | None:
    """Return the personal meaning of a column's name; None where it has none.

    Examples
    --------
    >>> [name_sign(name) and name_sign(name).form for name in ("Nachname", "first_name", "NHS number", "e-mail", "patientId", "фамилия", "car_name")]
    ['surname', 'given_name', 'uk_nhs', 'email', 'id', 'surname', None]
    """
    lower = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    signs = "".join(ch for ch in unicodedata.normalize("NFC", lower) if ch.isalpha())
    if not signs.isascii():
        for script, names in _OTHER_SCRIPTS.items():
            if signs in names.split():
                return NameSign(
                    script,
                    2
                    if script in ("surname", "given_name", "personal_number", "cn_id", "bg_egn")
                    else FEW,
                )
    spelled = "".join(_SPELLINGS.get(ch, ch) for ch in lower)
    for text in (spelled, lower):
        plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
        word = "".join(re.findall("[a-z]+", plain))
        if form := _form_of_name(word, _SURE, plural=True):
            return NameSign(form, 2)
        if form := _form_of_name(word, _LIKELY, plural=False) or (
            "id" if _SOMEBODY_BY_NUMBER.fullmatch(word) else None
        ):
            return NameSign(form, FEW)
    return None


def _form_of_name(word: str, forms: dict[str, str], *, plural: bool) -> str | None:
    """The first form that has the word, or its singular, after the name of somebody whose it is or
    after none.

    Words are looked up: patterns of them would take longer to compile than most tables to
    understand.
    """
    cores = {word[len(owner) :] for owner in ("", *_OWNERS) if word.startswith(owner)}
    if plural:
        cores |= {core[:-1] for core in cores if core.endswith("s")}
    return next(
        (form for form, names in forms.items() if not cores.isdisjoint(names.split("|"))), None
    )


_SOMEBODY_BY_NUMBER = re.compile(f"{_SOMEBODY}{_NUMBER}|pid|hid|hhid")
