"""Names of a package that are imported when first used (PEP 562), so that importing the package costs little."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in `typing`, which costs a hook's process a third of its time
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["lazy"]


def lazy(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Make a package's ``__getattr__``.

    Args:
        package: its name.
        homes: for each of its modules, the names that the package gives from it.
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def __getattr__(name: str) -> object:  # noqa: N807 - becomes the package's
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - as above

        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
