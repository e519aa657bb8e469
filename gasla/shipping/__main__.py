"""Runs `python -m gasla.shipping FOLDER [PROCESSOR]`, which compiles the kernels of a wheel."""

from gasla.shipping import main

if __name__ == "__main__":
    main()
