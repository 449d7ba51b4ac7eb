"""Pernkopf and Bilmes (2010)."""
