"""The MCP server: what assistants may see of the jobs and do with them."""
