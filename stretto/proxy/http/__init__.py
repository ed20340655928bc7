"""Servers and hosts over Streamable HTTP, for a relay that knows pipes only."""
