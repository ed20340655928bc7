"""Where a procedure's secrets are: in the environment, by names made of theirs. Pure."""

from __future__ import annotations

__all__ = ["variable_of"]


def variable_of(secret: str) -> str:
    """The variable of the environment that holds a secret: ``shop.password`` is in ``STRETTO_SECRET_SHOP_PASSWORD``."""
    return "STRETTO_SECRET_" + "".join(each if each.isalnum() else "_" for each in secret).upper()
