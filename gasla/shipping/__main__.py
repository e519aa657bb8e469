"""python -m gasla.shipping FOLDER."""

from gasla.shipping import main

if __name__ == "__main__":
    main()
