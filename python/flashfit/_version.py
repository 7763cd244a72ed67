"""The package's version: that of the library that it loads."""

__version__ = "0.2.0"
