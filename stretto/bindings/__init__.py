"""Where the arguments of lookups come from: learned by counting, bound from what a session has shown."""
