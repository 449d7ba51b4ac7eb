"""Experiments: comparing ways to learn on one's own data, and the papers' tables from stored
results.
"""
