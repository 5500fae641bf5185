"""MCP servers: tools of other programs, spoken with in a protocol of few messages, which is why there is no library for it."""
