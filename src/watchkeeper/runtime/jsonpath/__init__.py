"""JSONPath as kubectl and printer columns have it (client-go's util/jsonpath), compiled to functions."""

from watchkeeper.runtime.jsonpath.evaluate import JSONPathError, Path, compile_path

__all__ = ["JSONPathError", "Path", "compile_path"]
