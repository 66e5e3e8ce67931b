"""A program of stages: LMs bound by role, structural parameters set by name."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import dspy

from ..engines.models import Roles, resolved_identity
from ..errors import DeclarationError
from .decoding import ALL_ROLES, Decoding, role_and_name
from .decoding_by_role import decoded_by, decoding_names, decoding_settings, decoding_used, idle_settings
from .hparam import HParam
from .sampling import SAMPLING_TEMPERATURE, SAMPLING_TOP_P
from .seat import Seat
from .stage import Stage
from .trust import remember_address


class StagedModule(dspy.Module):
    """Base of judges and preparations: binds LMs by role, gets and sets parameters by name.

    Attributes:
        name: the registry's name of the program.
        kind: what messages call it.
    """

    name: str
    kind: ClassVar[str] = "judge"

    def __repr__(self) -> str:
        """Name, parameters and models in one line; `print(module.named_predictors())` shows the signatures."""
        settings = "".join(f", {name}={value!r}" for name, value in self.settings().items())
        models = ", ".join(dict.fromkeys(str(seat.model) for seat in self.seats() if seat.model))
        return f"{type(self).__name__}({self.name!r}{settings}{f', lm={models!r}' if models else ''})"

    def stages(self) -> list[Stage]:
        return [stage for _, stage in self.named_sub_modules(Stage)]

    def seats(self) -> list[Seat]:
        """The places of models: the stages, and where a model reads evidence without being asked anything."""
        return list(self.named_seats().values())

    def named_seats(self) -> dict[str, Seat]:
        """The seats by path, without those whose model no setting names any more."""
        for _, module in self.named_sub_modules(StagedModule):
            module.settle_seats()
        seats = {path.removeprefix("self").lstrip("."): seat for path, seat in self.named_sub_modules(Seat)}
        return {path: seat for path, seat in seats.items() if seat.in_use}

    def settle_seats(self) -> None:
        """Bring the module's own fixed seats up to its settings."""

    def resolved_models(self) -> dict[str, str]:
        """What answers now, by role: model, address and digest of the weights; roles of members as members[0].judge.

        Raises:
            ModelError: an unknown model, or weights that do not exist.
        """
        resolved: dict[str, str] = {}
        for path, seat in self.named_seats().items():
            name = sibling(path, seat.role)
            others = resolved.get(name, "").split(" + ") if name in resolved else []
            resolved[name] = " + ".join(dict.fromkeys([*others, _resolved(seat)]))
        return resolved

    def bind(self, roles: Mapping[str, str] | str) -> Self:
        """Answer each stage by the model string of its role. A lone string answers all of them.

        Raises:
            DeclarationError: a role that no stage of this program has.
        """
        models = Roles.parse(roles)
        seats = [seat for seat in self.seats() if not seat.is_fixed]
        known = {seat.role for seat in seats} | {"judge"}
        unknown = set(models) - known
        if unknown and known != {"judge"}:
            raise DeclarationError(
                f"{self.kind} {self.name!r} has no role {sorted(unknown)[0]!r}. Its roles: {', '.join(sorted(known))}."
            )
        for seat in seats:
            seat.use(models[seat.role])
        return self

    def admit(self, *, trust: bool = False) -> list[str]:
        """Let texts go to the models that a judge file names: lines that say where.

        Args:
            trust: also to addresses that only the file names. They are remembered, and so are those that the user has
                bound: see `judging.known_addresses`.

        Raises:
            DeclarationError: `trust` is neither True nor False.
            ModelError: an address that only the file names, without `trust`; or an address that no file may name.
        """
        if not isinstance(trust, bool):
            raise DeclarationError(f"trust: must be True or False, got {trust!r}.")
        seats = self.seats()
        lines = [seat.admit(trust=trust) for seat in seats]
        for seat in seats:
            if seat.model and (trust or seat.trusted):
                remember_address(seat.model, typed=seat.trusted)
        return [line for line in dict.fromkeys(lines) if line]

    def hparams(self) -> dict[str, HParam]:
        return {name: value for name, value in self.named_parameters() if isinstance(value, HParam)}

    def search_values(self) -> dict[str, tuple[Any, ...]]:
        """The values that a structure search tries, by parameter; parameters without any are not listed."""
        judges = {path.removeprefix("self").lstrip("."): judge for path, judge in self.named_sub_modules(StagedModule)}
        values = {
            name: hparam.search_values(judges.get(name.rpartition(".")[0], self))
            for name, hparam in self.hparams().items()
        }
        return {name: searched for name, searched in values.items() if searched}

    def idle_rules(self) -> dict[str, dict[str, Any]]:
        """By parameter, the values of other parameters under which it changes nothing (see `HParam.idle_when`)."""
        return {
            name: {sibling(name, other): value for other, value in hparam.idle_when.items()}
            for name, hparam in self.hparams().items()
            if hparam.idle_when
        }

    def settings(self) -> dict[str, Any]:
        """The structural parameters' values and what is set of the decoding, by name; without those that go without
        saying."""
        hparams = self.hparams()
        values = {name: hparam.value for name, hparam in hparams.items() if not hparam.is_implied}
        return values | decoding_settings(self, hparams)

    def set(self, **values: Any) -> Self:
        """Change structural parameters, and how written answers are decoded: `temperature`, `top_p`, `max_tokens` and
        `seed` of all roles, or of one (`**{"judgment.temperature": 0.8}`); None takes back what was set.

        Raises:
            DeclarationError: a name that this program does not have, or a value that it cannot take.
        """
        hparams = self.hparams()
        for name in sorted(values, key=_is_of_one_role):
            try:
                if name in hparams:
                    hparams[name].set(values[name])
                    continue
                stages = decoded_by(self, name)
                for stage in stages:
                    stage.decoding.set(name.rpartition(".")[2], values[name])
            except ValueError as error:
                end = "" if str(error).endswith("?") else "."
                raise DeclarationError(f"{self.kind} {self.name!r}, {name}: {error}{end}") from None
            if not stages:
                known = ", ".join(sorted(hparams)) or "none"
                raise DeclarationError(
                    f"{self.kind} {self.name!r} has no parameter {name!r}. It has: {known}{decoding_names(self)}."
                )
        return self

    def decoding(self) -> dict[str, Any]:
        """How written answers are decoded: `roles` (see `decoding_used`), and where nothing is set `samples`, which is
        also what a second try has at least."""
        samples = {"temperature": SAMPLING_TEMPERATURE, "top_p": SAMPLING_TOP_P}
        return {"roles": decoding_used(self, self.hparams()), "samples": samples}

    def idle_decoding(self) -> str:
        """A sentence on what is set of the decoding and changes nothing; empty where all of it does."""
        idle = idle_settings(self, self.hparams())
        if not idle:
            return ""
        return (
            f"{self.kind} {self.name!r}: {', '.join(idle)} changes nothing, as the answer is read from token "
            "probabilities. --readout generate has it written."
        )

    def load_state(self, state: Any, **options: Any) -> None:
        """As DSPy's; a state that was saved before decoding was a setting sets none, nor an implied parameter."""
        unset: dict[str, Any] = {
            name: {} for name, parameter in self.named_parameters() if isinstance(parameter, Decoding)
        }
        hparams = [(name, value) for name, value in self.named_parameters() if isinstance(value, HParam)]
        unset |= {name: hparam.dump_state() for name, hparam in hparams if hparam.is_implied}
        super().load_state(unset | dict(state), **options)


def _is_of_one_role(setting: str) -> bool:
    """Whether it is for one role; those for all roles are set before."""
    role, _ = role_and_name(setting) or (ALL_ROLES, "")
    return role != ALL_ROLES


def _resolved(seat: Seat) -> str:
    """What answers in a seat: the resolved model string, or DSPy's LM with its address; "none" without an LM."""
    bound = seat.ask.lm if isinstance(seat, Stage) else None
    if seat.model and bound is None:
        return resolved_identity(seat.model)
    lm = bound or dspy.settings.lm
    if lm is None:
        return "none"
    address = getattr(lm, "kwargs", {}).get("api_base")
    return str(getattr(lm, "model", type(lm).__name__)) + (f"@{address}" if address else "")


def sibling(name: str, other: str) -> str:
    """The full name of a parameter of the same judge.

    Example:
        >>> sibling("members[0].order", "grading")
        'members[0].grading'
    """
    return f"{prefix}.{other}" if (prefix := name.rpartition(".")[0]) else other
