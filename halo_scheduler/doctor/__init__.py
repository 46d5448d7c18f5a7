"""Looking after the whole program: what is in order, what is not, what can be mended."""
