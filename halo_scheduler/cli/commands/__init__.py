"""The commands of `halo`, one module each."""
