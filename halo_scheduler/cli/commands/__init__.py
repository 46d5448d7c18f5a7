"""The commands of `halo`, by topic."""
