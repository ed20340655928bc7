"""Hooks of command-line agents: a process a call that hands the call on, and one that stays and answers it.

`client` is the hook: it starts in the time of a bare interpreter, since all it does is pass its standard input to the
`keeper` and print what comes back. The keeper holds the managers and asks the `desk`, which also answers over HTTP
(`web`). `hosts` is what hosts say and are told, `lookups` what is read in their place, by `reads`, `journal` a session
on disk, `install` the hook in their settings.
"""
