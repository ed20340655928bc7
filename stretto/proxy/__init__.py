"""The proxy that stands between an MCP host and an MCP server: it passes every message, records, and serves flows."""
