"""`python -m ui`: the desktop program."""

import sys

from ui.app.start import main

if __name__ == "__main__":
    main(sys.argv[1:])
