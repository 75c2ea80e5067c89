"""Runs a server and keeps every line that goes in or comes out of it.

usage: mcp_tee.py RECORD NAME COMMAND [WORD ...]

The lines go on as they are. RECORD gets one JSON object for each: `{"connection": NAME, "from": "client" | "server", "text": LINE}`, and at last
`{"connection": NAME, "from": "end", "code": EXIT CODE}`. A client that starts this program instead of COMMAND sees no difference.
"""

import json
import os
import subprocess
import sys
import threading

HUGE = 4_000_000


def main():
    record, name, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    # Appended whole lines at a time, so that several of these may write to one file.
    file = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def keep(**row):
        os.write(file, (json.dumps({"connection": name} | row) + "\n").encode())

    def pass_on(sender, source, target):
        pieces = []
        while piece := os.read(source, 1 << 16):
            *lines, rest = piece.split(b"\n")
            for line in lines:
                # What is huge was sent to be refused.
                keep(**{"from": sender, "text": b"".join([*pieces, line])[:HUGE].decode(errors="replace")})
                pieces = []
            pieces.append(rest)
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
