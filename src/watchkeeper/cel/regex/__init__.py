"""Regular expressions as Go's regexp package reads them (RE2 syntax), matched in time linear in the text.

Patterns and the work of searches are bounded: see `program` and `work`.
"""

from watchkeeper.cel.regex.parser import RegexError
from watchkeeper.cel.regex.pattern import Pattern, compile_given, compile_pattern
from watchkeeper.cel.regex.work import TooCostly

__all__ = ["Pattern", "RegexError", "TooCostly", "compile_given", "compile_pattern"]
