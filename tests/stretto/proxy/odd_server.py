"""A server that misbehaves as it is told: ``python odd_server.py MODE``. In the standard library alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1]
META = "io.modelcontextprotocol/"


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}


def page(cursor: str | None) -> dict[str, Any]:
    """Five tools and three; over and over again; without an end; or a cursor that is an empty text."""
    if MODE == "again" or (MODE == "pages" and cursor is None):
        return {"tools": [tool(f"t{number}") for number in range(5)], "nextCursor": "p2"}
    if MODE == "endless":
        return {"tools": [tool("t0")], "nextCursor": f"{cursor}+"}
    if MODE == "empty-cursor" and cursor is None:
        return {"tools": [tool("t0")], "nextCursor": ""}
    return {"tools": [tool("t4"), tool("t5"), tool("t6"), tool("t7")]}


def asks_and_gets_answers() -> bool:
    """Whether the client answers what a server may ask of it."""
    send({"id": "a", "method": "ping"})
    send({"id": "b", "method": "sampling/createMessage", "params": {}})
    answers = [json.loads(sys.stdin.readline()) for _ in range(2)]
    return [answers[0]["result"], answers[1]["error"]["code"]] == [{}, -32601]


def opened(request: dict[str, Any]) -> None:
    if MODE == "modern":
        error = {"code": -32022, "message": "unsupported version", "data": {"supported": ["2026-07-28"]}}
        send({"id": request["id"], "error": error})
    elif MODE == "refuses":
        send({"id": request["id"], "error": {"code": -32600, "message": "no"}})
    elif MODE == "dies":
        sys.stderr.write("no key; Authorization: Bearer abcdef0123456789abcdef\n")
        sys.exit(3)
    elif MODE == "silent":
        time.sleep(600)
    elif MODE == "chatters":
        while True:
            send({"method": "notifications/message", "params": {}})
    elif MODE == "no-object":
        send({"id": request["id"], "result": []})
    else:
        if MODE == "noisy":
            sys.stdout.flush()
            sys.stdout.buffer.write(b'Server started\n\n{"half":\n[1,2]\n"x"\n\xff\n')
        if MODE == "asks" and not asks_and_gets_answers():
            sys.exit(4)
        info = {"name": "odd", "version": "1"}
        send({"id": request["id"], "result": {"protocolVersion": "2025-06-18", "serverInfo": info}})


def main() -> None:
    if MODE == "child":  # that outlives it, holds its output open, and ignores being asked to end
        ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-c", ignore], stdin=subprocess.DEVNULL)
        Path(sys.argv[2]).write_text(f"{os.getpid()} {child.pid}", encoding="ascii")
    for line in sys.stdin:
        request = json.loads(line)
        meta = request.get("params", {}).get("_meta", {})
        match request["method"]:
            case "initialize":
                opened(request)
            case "server/discover" if MODE == "modern" and meta[f"{META}protocolVersion"] == "2026-07-28":
                info = {f"{META}serverInfo": {"name": "new", "version": "2"}}
                send({"id": request["id"], "result": {"resultType": "complete", "_meta": info}})
            case "tools/list" if MODE == "modern" and f"{META}clientCapabilities" not in meta:
                send({"id": request["id"], "error": {"code": -32600, "message": "who asks?"}})
            case "tools/list" if MODE == "no-list":
                send({"id": request["id"], "error": {"code": -32601, "message": "no such method"}})
            case "tools/list":
                send({"id": request["id"], "result": page(request["params"].get("cursor"))})
            case method if "id" in request:
                send({"id": request["id"], "error": {"code": -32601, "message": method}})
    if MODE == "stays":
        time.sleep(600)


if __name__ == "__main__":
    main()
