"""waggle: procedure memory that lives inside an agent."""
