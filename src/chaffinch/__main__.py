"""`python -m chaffinch`: the command line."""

from .cli import main

main()
