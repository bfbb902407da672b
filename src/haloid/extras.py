"""What needs more than the core says so before it starts."""

from importlib.util import find_spec

from haloid.errors import HaloidError


class MissingExtraError(HaloidError):
    def __init__(self, command: str, packages: list[str], extra: str) -> None:
        noun = "package" if len(packages) == 1 else "packages"
        super().__init__(
            f"haloid {command} needs the {noun} {', '.join(packages)}, which this installation lacks. "
            f"Install with: pip install 'haloid[{extra}]'"
        )


def require_extra(command: str, extra: str, *packages: str) -> None:
    """Raise unless all packages, which `extra` brings, can be imported."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise MissingExtraError(command, missing, extra)
