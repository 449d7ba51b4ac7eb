"""Checks of tables before learning: how text is read, and what is wrong with columns and rows."""

from discbayes.checking.findings import CheckedColumn, Finding
from discbayes.checking.table_check import TableCheck, check

__all__ = ["CheckedColumn", "Finding", "TableCheck", "check"]
