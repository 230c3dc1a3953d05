"""Compiles the expressions of one webhook or policy."""

from __future__ import annotations

from watchkeeper.admission.expression.compiled import ANYTHING, Expression, ReturnType, unwanted_type
from watchkeeper.admission.expression.environments import AdmissionEnvironment, environment
from watchkeeper.admission.expression.variables import VARIABLES, struct_of
from watchkeeper.cel.program import Program
from watchkeeper.cel.source import CompileError, UnwantedTypeError
from watchkeeper.cel.types import Type


class ExpressionCompiler:
    """Compiles one expression after another; those after a `variable` may use it."""

    def __init__(self, *, params: bool = False, variables: bool = False) -> None:
        """`params`: whether the policy has parameters. `variables`: whether it may compose variables."""
        self.programs: dict[str, Program] = {}
        """The variables that compiled, by their names."""
        self._params = params
        self._composes = variables
        self._types: dict[str, Type] = {}
        self._environments: dict[tuple[bool, bool], AdmissionEnvironment] = {}

    def variable(self, name: str, source: str) -> Expression:
        """Compile a variable and let later expressions use it as `variables.<name>`."""
        found = self.compile(source, ANYTHING)
        self._types[name] = found.type
        if found.program is not None:
            self.programs[name] = found.program
        self._environments.clear()
        return found

    def compile(self, source: str, wanted: ReturnType, *, authorizer: bool = True, patches: bool = False) -> Expression:
        """Compile an expression; what is wrong with it is noted in the result."""

        def judge(found: Type) -> None:
            problem = unwanted_type(found, wanted)
            if problem is not None:
                raise UnwantedTypeError(problem)

        try:
            program = self._environment(authorizer, patches).compile(source, judge)
        except CompileError as problem:
            sound = problem.stage == "instantiation"
            stage = "program instantiation" if sound else problem.stage
            return Expression(source, None, f"{stage} failed: {problem}", sound)
        except UnwantedTypeError as problem:
            return Expression(source, None, str(problem))
        return Expression(source, program)

    def _environment(self, authorizer: bool, patches: bool) -> AdmissionEnvironment:
        key = (authorizer, patches)
        found = self._environments.get(key)
        if found is None:
            found = environment(params=self._params, authorizer=authorizer, patches=patches)
            if self._composes:
                found = found.extend({"variables": VARIABLES}, [struct_of(self._types)])
            self._environments[key] = found
        return found
