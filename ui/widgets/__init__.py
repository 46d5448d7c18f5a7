"""Small parts that several windows share."""
