"""Evaluation: metrics, statistical tests, missing-value masks, and comparing methods on a table."""
