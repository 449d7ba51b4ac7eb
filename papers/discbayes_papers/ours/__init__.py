"""Experiments of this project."""
