"""The compiler: noisy traces of one intent become a typed procedure, or a refusal that says what would settle it.

Every stage is a pure function of its inputs. The same traces in any order give the same bytes.
"""
