"""Runs a server and keeps every message that goes in or comes out of it.

usage: tee.py [--framed] RECORD NAME COMMAND [WORD ...]

The bytes go on as they are. A message is a line, or with `--framed` what follows a header with its length (LSP). RECORD gets one JSON object for each:
`{"connection": NAME, "from": "client" | "server", "text": MESSAGE}`, and at last `{"connection": NAME, "from": "end", "code": EXIT CODE}`. A client
that starts this program instead of COMMAND sees no difference.
"""

import json
import os
import subprocess
import sys
import threading

HUGE = 4_000_000


def lines(waiting):
    """The messages in some bytes, and the rest of them."""
    *messages, rest = waiting.split(b"\n")
    return messages, rest


def framed(waiting):
    messages = []
    while (end := waiting.find(b"\r\n\r\n")) >= 0:
        length = int(waiting[:end].lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(waiting) < end + 4 + length:
            break
        messages.append(waiting[end + 4 : end + 4 + length])
        waiting = waiting[end + 4 + length :]
    return messages, waiting


def main():
    split = framed if sys.argv[1] == "--framed" else lines
    record, name, *command = sys.argv[2:] if split is framed else sys.argv[1:]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    # Appended whole lines at a time, so that several of these may write to one file.
    file = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def keep(**row):
        os.write(file, (json.dumps({"connection": name} | row) + "\n").encode())

    def pass_on(sender, source, target):
        pieces = []
        while piece := os.read(source, 1 << 16):
            pieces.append(piece)
            # A huge line is not searched again with each of its pieces.
            if split is framed or b"\n" in piece:
                messages, rest = split(b"".join(pieces))
                pieces = [rest]
                for message in messages:
                    # What is huge was sent to be refused.
                    keep(**{"from": sender, "text": message[:HUGE].decode(errors="replace")})
            try:
                left = memoryview(piece)
                while left:
                    left = left[os.write(target, left) :]
            except OSError:
                break
        if rest := b"".join(pieces):
            keep(**{"from": sender, "text": rest[:HUGE].decode(errors="replace")})

    def feed():
        pass_on("client", 0, server.stdin.fileno())
        server.stdin.close()

    threading.Thread(target=feed, daemon=True).start()
    pass_on("server", server.stdout.fileno(), 1)
    keep(**{"from": "end", "code": server.wait()})


main()
