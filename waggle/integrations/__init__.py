"""Adapters, one module a framework; each imports its framework, and nothing imports an adapter but the user.

``from waggle.integrations.langchain import WaggleMiddleware``, with ``pip install 'waggle-stretto[langchain]'``. What
all of them do is in `waggle.integrations.watch`; an adapter says how its framework spells a call, a result, an error.
"""
