"""Compiled loops on flat arrays: no classes, no validation, no imports but numba and numpy.

Every kernel releases the interpreter lock and is cached on disk. With ``NUMBA_DISABLE_JIT=1`` they
run as plain Python, which the tests use to compare both.
"""
