"""The package's version: that of the library that it loads."""

__version__ = "0.3.0"
