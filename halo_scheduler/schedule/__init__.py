"""Schedule calculations: pure functions, without clock, Qt or database."""
