"""The errors that Chaffinch raises on purpose, and the one warning: `chaffinch.errors.InputError` and its family."""

from ._base.errors import (
    BudgetError,
    ChaffinchError,
    ClosedError,
    ClusterError,
    FileError,
    InputError,
    LedgerError,
    MissingExtraError,
    ParsedDataWarning,
    PersonalDataError,
    PersonalDataWarning,
    PrivacyError,
    SchemaError,
    TooLargeError,
    UnknownNameError,
)

__all__ = [
    "BudgetError",
    "ChaffinchError",
    "ClosedError",
    "ClusterError",
    "FileError",
    "InputError",
    "LedgerError",
    "MissingExtraError",
    "ParsedDataWarning",
    "PersonalDataError",
    "PersonalDataWarning",
    "PrivacyError",
    "SchemaError",
    "TooLargeError",
    "UnknownNameError",
]
