"""Zaidi and others (2017)."""
