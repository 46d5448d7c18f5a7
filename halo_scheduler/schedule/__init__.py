"""The mathematics of "when": pure functions of their arguments, without clock, Qt or database."""
