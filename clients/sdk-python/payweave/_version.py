"""The version of this package, which each request names in its User-Agent."""

__version__ = "0.1.0"
