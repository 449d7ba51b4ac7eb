"""Peharz, Tschiatschek and Pernkopf (2013)."""
