"""Pernkopf and Wohlmayr (2012)."""
