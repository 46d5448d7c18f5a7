"""`python -m halo_scheduler` is the `halo` command."""

from halo_scheduler.cli import main

if __name__ == "__main__":
    main()
