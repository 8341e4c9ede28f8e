"""A small MCP server on the Python SDK.

server.py stdio       over standard input and output
server.py http        over streamable HTTP with streams of events, on a free port of 127.0.0.1, which it prints
server.py http-json   the same, with answers that are plain JSON

Over HTTP it ends with its standard input, so that it cannot outlive the test that started it.
"""

import asyncio
import os
import socket
import sys
import threading

import uvicorn
from mcp.server.fastmcp import Context, FastMCP

transport = sys.argv[1]
server = FastMCP("moorline-python", json_response=transport == "http-json", log_level="WARNING")


@server.tool()
def echo(message: str) -> str:
    """Gives the message back."""
    return f"Echo: {message}"


@server.tool()
async def steps(count: int, milliseconds: int, context: Context) -> str:
    """Takes so many steps of so many milliseconds, tells the progress after each one, and logs the first."""
    for step in range(1, count + 1):
        await asyncio.sleep(milliseconds / 1000)
        if step == 1:
            await context.info("the first step is done")
        await context.report_progress(step, count)
    return f"{count} steps"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("this tool always fails")


def end_with_standard_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def serve_http() -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(f"listening on {listening.getsockname()[1]}", flush=True)
    threading.Thread(target=end_with_standard_input, daemon=True).start()
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    uvicorn.Server(config).run(sockets=[listening])


if transport == "stdio":
    server.run()
else:
    serve_http()
