"""`python -m dicast` is the `dicast` command."""

from .cli import main

if __name__ == "__main__":
    main()
