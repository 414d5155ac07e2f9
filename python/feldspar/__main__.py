"""``python -m feldspar`` is the ``feldspar`` command."""

from feldspar.cli import main

if __name__ == "__main__":
    main()
