"""Regular expressions as Go's regexp package reads them (RE2 syntax), matched in time linear in the text."""

from watchkeeper.cel.regex.parser import RegexError
from watchkeeper.cel.regex.pattern import Pattern, compile_pattern

__all__ = ["Pattern", "RegexError", "compile_pattern"]
