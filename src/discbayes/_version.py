"""The version, in the one place where the build and the files that we write read it."""

__version__ = "0.2.0"
