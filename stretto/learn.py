"""Moved to `stretto.learning`, so that `stretto.learn` is the function. This file goes once nothing imports it."""

from stretto.learning import *  # noqa: F403 - for the move only
