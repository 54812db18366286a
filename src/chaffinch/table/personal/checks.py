"""Check digits of numbers that are given to persons and accounts, each as a function of the number
without spaces and dashes.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_ODD = dict(
    zip(
        _LETTERS,
        [
            1,
            0,
            5,
            7,
            9,
            13,
            15,
            17,
            19,
            21,
            1,
            0,
            5,
            7,
            9,
            13,
            15,
            17,
            19,
            21,
            2,
            4,
            18,
            20,
            11,
            3,
            6,
            8,
            12,
            14,
            16,
            10,
            22,
            25,
            24,
            23,
        ],
        strict=True,
    )
)
_VERHOEFF_TURN = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def weighted_sum(digits: str, weights: Sequence[int]) -> int:
    """Return the sum of digits times weights.

    Examples
    --------
    >>> weighted_sum("123", (3, 2, 1))
    10
    """
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def luhn(digits: str) -> bool:
    """Whether the last digit is the Luhn digit of the others (ISO/IEC 7812): credit cards, Swedish
    and Canadian numbers.
    """
    doubled = [int(digit) * (1 + i % 2) for i, digit in enumerate(reversed(digits))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


def mod_11_10(digits: str) -> bool:
    """Whether the last digit is that of ISO 7064, MOD 11,10: German tax numbers, Croatian OIB."""
    check = 5
    for digit in digits:
        check = ((check or 10) * 2) % 11
        check = (check + int(digit)) % 10
    return check == 1


def iban(text: str) -> bool:
    """Whether an international account number leaves 1 modulo 97 (ISO 13616)."""
    return int("".join(str(_LETTERS.index(ch)) for ch in text[4:] + text[:4])) % 97 == 1


def dni(text: str) -> bool:
    """Whether the letter of a Spanish DNI or NIE is right: the number modulo 23."""
    return _DNI[int(text[:-1].translate(str.maketrans("XYZ", "012"))) % 23] == text[-1]


def nir(text: str) -> bool:
    """Whether the key of a French social security number is 97 less its remainder; Corsican
    departments count as 19 and 18.
    """
    number = int(text[:13].replace("2A", "19").replace("2B", "18"))
    return 97 - number % 97 == int(text[13:])


def codice_fiscale(text: str) -> bool:
    """Whether the last letter of an Italian tax code is right: odd and even places have tables of
    their own.
    """
    total = sum(
        _ODD[ch]
        if i % 2 == 0
        else (_LETTERS.index(ch) if ch.isdigit() else _LETTERS.index(ch) - 10)
        for i, ch in enumerate(text[:15])
    )
    return _LETTERS[10 + total % 26] == text[15]


def personnummer(digits: str) -> bool:
    """Whether ten digits of a Swedish number are a day and end in the Luhn digit; coordination
    numbers add 60 to the day.
    """
    short = digits[-10:]
    return luhn(short) and day(short[:2], short[2:4], str(int(short[4:6]) % 60))


def hetu(text: str) -> bool:
    """Whether the sign of a Finnish personal code is right: day and number modulo 31."""
    return (
        day(text[4:6], text[2:4], text[:2]) and _HETU[int(text[:6] + text[7:10]) % 31] == text[10]
    )


def fnr(digits: str) -> bool:
    """Whether both check digits of a Norwegian birth number are right; D-numbers add 40 to the day,
    synthetic ones 80 to the month.
    """
    first = weighted_sum(digits, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1))
    second = weighted_sum(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1))
    return (
        first % 11 == 0
        and second % 11 == 0
        and day(digits[4:6], str(int(digits[2:4]) % 40), str(int(digits[:2]) % 40))
    )


def pesel(digits: str) -> bool:
    """Whether a Polish PESEL starts with a day (the month tells the century by twenties) and ends
    in its check digit.
    """
    total = weighted_sum(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1))
    return total % 10 == 0 and day(digits[:2], str(int(digits[2:4]) % 20), digits[4:6])


def kvnr(text: str) -> bool:
    """Whether the last digit of a German health insurance number is right: the letter as two
    digits, then as Luhn from the left.
    """
    digits = f"{ord(text[0]) - 64:02d}{text[1:9]}"
    total = sum(sum(divmod(int(digit) * (1 + i % 2), 10)) for i, digit in enumerate(digits))
    return total % 10 == int(text[9])


def svnr(digits: str) -> bool:
    """Whether the fourth digit of an Austrian social insurance number is right; a month of 13
    stands for an unknown day.
    """
    weights = (3, 7, 9, 0, 5, 8, 4, 2, 1, 6)
    return weighted_sum(digits, weights) % 11 == int(digits[3]) and (
        day(digits[8:], digits[6:8], digits[4:6]) or digits[6:8] == "13"
    )


def ahv(digits: str) -> bool:
    """Whether the last digit of a Swiss AHV number is that of an EAN-13."""
    return weighted_sum(digits, (1, 3) * 6 + (1,)) % 10 == 0


def insz(digits: str) -> bool:
    """Whether the last two digits of a Belgian register number are 97 less the remainder, before or
    after the year 2000.
    """
    key = int(digits[9:])
    return key in (97 - int(digits[:9]) % 97, 97 - int("2" + digits[:9]) % 97)


def nhs(digits: str) -> bool:
    """Whether the last digit of an English NHS number is right: modulo 11, where 10 is not given
    out.
    """
    return weighted_sum(digits, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def nif(digits: str) -> bool:
    """Whether the last digit of a Portuguese tax number is right: modulo 11, where 10 becomes 0."""
    return (11 - weighted_sum(digits, (9, 8, 7, 6, 5, 4, 3, 2))) % 11 % 10 == int(digits[8])


def cpf(digits: str) -> bool:
    """Whether both check digits of a Brazilian CPF are right."""
    first = -weighted_sum(digits, range(10, 1, -1)) % 11 % 10
    second = -weighted_sum(digits, range(11, 1, -1)) % 11 % 10
    return digits[9:] == f"{first}{second}" and len(set(digits)) > 1


def rodne_cislo(digits: str) -> bool:
    """Whether a Czech or Slovak birth number of ten digits divides by 11 (10 becomes 0) and starts
    with a day; women's months add 50.
    """
    month = str(int(digits[2:4]) % 50 % 20)
    return int(digits[:9]) % 11 % 10 == int(digits[9]) and day(digits[:2], month, digits[4:6])


def isikukood(digits: str) -> bool:
    """Whether an Estonian or Lithuanian code ends in its check digit: a second row of weights where
    the first gives 10.
    """
    check = weighted_sum(digits, (1, 2, 3, 4, 5, 6, 7, 8, 9, 1)) % 11
    if check == 10:
        check = weighted_sum(digits, (3, 4, 5, 6, 7, 8, 9, 1, 2, 3)) % 11 % 10
    return check == int(digits[10]) and day(digits[1:3], digits[3:5], digits[5:7])


def egn(digits: str) -> bool:
    """Whether a Bulgarian EGN ends in its check digit and starts with a day; the month tells the
    century.
    """
    check = weighted_sum(digits, (2, 4, 8, 5, 10, 9, 7, 3, 6)) % 11 % 10
    return check == int(digits[9]) and day(digits[:2], str(int(digits[2:4]) % 20), digits[4:6])


def cnp(digits: str) -> bool:
    """Whether a Romanian CNP ends in its check digit: modulo 11, where 10 becomes 1."""
    check = weighted_sum(digits, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return (1 if check == 10 else check) == int(digits[12]) and day(
        digits[1:3], digits[3:5], digits[5:7]
    )


def tckn(digits: str) -> bool:
    """Whether both check digits of a Turkish number are right."""
    numbers = [int(digit) for digit in digits]
    tenth = (7 * sum(numbers[0:9:2]) - sum(numbers[1:8:2])) % 10
    return numbers[9] == tenth and numbers[10] == sum(numbers[:10]) % 10


def resident_id(text: str) -> bool:
    """Whether the last sign of a Chinese resident number is right: ISO 7064, MOD 11-2."""
    total = sum(int(digit) * pow(2, 17 - i, 11) for i, digit in enumerate(text[:17]))
    return "10X98765432"[total % 11] == text[17] and day(text[8:10], text[10:12], text[12:14])


def aadhaar(digits: str) -> bool:
    """Whether the last digit of an Indian Aadhaar number is right (Verhoeff)."""
    check = 0
    for i, digit in enumerate(reversed(digits)):
        value = int(digit)
        for _ in range(i % 8):
            value = _VERHOEFF_TURN[value]
        check = _dihedral(check, value)
    return check == 0


def _dihedral(a: int, b: int) -> int:
    """The product of two elements of the group of the pentagon's symmetries."""
    if a < 5:
        return (a + b) % 5 if b < 5 else 5 + (a + b - 5) % 5
    return 5 + (a - 5 - b) % 5 if b < 5 else (a - b) % 5


def day(year: str, month: str, of_month: str) -> bool:
    """Return whether two digits each are a day in some century.

    Examples
    --------
    >>> day("00", "02", "29"), day("01", "02", "29")
    (True, False)
    """
    try:
        datetime.date(2000 + int(year), int(month), int(of_month))
    except ValueError:
        return False
    return True


Check = Callable[[str], bool]
