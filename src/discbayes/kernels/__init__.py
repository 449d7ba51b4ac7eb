"""Compiled loops on flat arrays: no classes, no validation, no imports but numba and numpy.

Every kernel releases the interpreter lock. It is compiled ahead in a wheel for one platform, else
by numba on first use, and cached on disk. With ``NUMBA_DISABLE_JIT=1`` kernels run as plain Python,
which the tests use to compare both.
"""
