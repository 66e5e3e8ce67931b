"""A program of stages: LMs bound by role, structural parameters set by name."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import dspy

from ..engines.models import Roles
from ..errors import DeclarationError
from .hparam import HParam
from .stage import Stage


class StagedModule(dspy.Module):
    """What every program can be told.

    Attributes:
        name: the registry's name of the program.
        kind: what messages call it.
    """

    name: str
    kind: ClassVar[str] = "judge"

    def stages(self) -> list[Stage]:
        return [stage for _, stage in self.named_sub_modules(Stage)]

    def bind(self, roles: Mapping[str, str] | str) -> Self:
        """Answer each stage by the model string of its role. A lone string answers all of them.

        Raises:
            DeclarationError: a role that no stage of this program has.
        """
        models = Roles.parse(roles) if isinstance(roles, str) else roles
        known = {stage.role for stage in self.stages()} | {"judge"}
        unknown = set(models) - known
        if unknown and known != {"judge"}:
            raise DeclarationError(
                f"{self.kind} {self.name!r} has no role {sorted(unknown)[0]!r}. Its roles: {', '.join(sorted(known))}."
            )
        for stage in self.stages():
            stage.use(models[stage.role])
        return self

    def hparams(self) -> dict[str, HParam]:
        return {name: value for name, value in self.named_parameters() if isinstance(value, HParam)}

    def settings(self) -> dict[str, Any]:
        """The structural parameters' values, by name."""
        return {name: hparam.value for name, hparam in self.hparams().items()}

    def set(self, **values: Any) -> Self:
        """Change structural parameters.

        Raises:
            DeclarationError: a name that this program does not have, or a value that it cannot take.
        """
        hparams = self.hparams()
        for name, value in values.items():
            if name not in hparams:
                known = ", ".join(sorted(hparams)) or "none"
                raise DeclarationError(f"{self.kind} {self.name!r} has no parameter {name!r}. It has: {known}.")
            try:
                hparams[name].set(value)
            except ValueError as error:
                raise DeclarationError(f"{self.kind} {self.name!r}, {name}: {error}.") from None
        return self
