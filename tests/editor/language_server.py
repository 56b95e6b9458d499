"""Language server client with only the requests that the tests of documentation and completion need.

The protocol is JSON-RPC over pipes: https://microsoft.github.io/language-server-protocol (version 3.17).

pytest-lsp would not make the tests shorter: its client is asynchronous, so each test and fixture would be, too. The
methods below would remain, with a class of lsprotocol for each parameter. It needs five more distributions, and does
not kill a server that hangs.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

Message = dict[str, Any]

PATIENCE = 240.0  # seconds until a hanging server is killed, so that its test fails


class LanguageServer:
    """A running server, with one workspace folder and its open documents; a context manager that ends the process."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._watch = threading.Timer(PATIENCE, self._process.kill)
        self._watch.start()
        self._numbers = itertools.count(1)
        text: Message = {
            "hover": {"contentFormat": ["markdown"]},
            "completion": {"completionItem": {}},
            "diagnostic": {},
        }
        self._ask(
            "initialize",
            processId=None,
            rootUri=folder.as_uri(),
            workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name}],
            capabilities={"textDocument": text, "workspace": {"configuration": True}},
        )
        self._tell("initialized")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ask("shutdown")
        self._tell("exit")
        self._process.communicate()
        self._watch.cancel()

    def open(self, path: Path) -> None:
        """Notify the server that a file is open, as an editor does."""
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": path.read_text("utf-8")}
        self._tell("textDocument/didOpen", textDocument=document)

    def hover(self, path: Path, line: int, column: int) -> str:
        """Return the hover text at a position, in Markdown; lines and columns count from 0."""
        found = self._ask("textDocument/hover", **_position(path, line, column))
        return str(found["contents"]["value"])

    def completions(self, path: Path, line: int, column: int) -> list[str]:
        """Return the completions at a position of a document."""
        found = self._ask("textDocument/completion", **_position(path, line, column))
        return [str(item["label"]) for item in found["items"]]

    def signatures(self, path: Path, line: int, column: int) -> list[Message]:
        """Return the signatures of the call around a position."""
        signatures: list[Message] = self._ask("textDocument/signatureHelp", **_position(path, line, column))[
            "signatures"
        ]
        return signatures

    def diagnostics(self, path: Path) -> list[Message]:
        """Return the diagnostics of an open file."""
        report = self._ask("textDocument/diagnostic", textDocument={"uri": path.as_uri()})
        assert report["kind"] == "full", report
        items: list[Message] = report["items"]
        return items

    def _tell(self, method: str, **parameters: object) -> None:
        self._send({"method": method, "params": parameters})

    def _ask(self, method: str, **parameters: object) -> Message:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": parameters})
        while True:
            message = self._receive()
            if message.get("id") == number and "method" not in message:
                assert "error" not in message, message
                return message["result"] or {}

    def _send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> Message:
        """Read one message of the server; answer the message if it is a request."""
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the language server has ended"
        message: Message = json.loads(self._process.stdout.read(length))
        if "method" in message and "id" in message:
            self._send({"id": message["id"], "result": [{}] * len(message["params"].get("items", ()))})
        return message


def _position(path: Path, line: int, column: int) -> Message:
    return {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": column}}
