"""The MCP server: the tools with which assistants read, run and edit jobs."""
