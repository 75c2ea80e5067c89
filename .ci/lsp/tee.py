"""Runs a language server and keeps every message that goes in or comes out of it.

usage: tee.py RECORD NAME COMMAND [WORD ...]

The bytes go on as they are. RECORD gets one JSON object for each message: `{"connection": NAME, "from": "client" | "server", "message": ...}`, and
at last `{"connection": NAME, "from": "end", "code": EXIT CODE}`. A client that starts this program instead of COMMAND sees no difference.
"""

import json
import os
import subprocess
import sys
import threading


def main():
    record, name, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    # Appended whole lines at a time, so that several of these may write to one file.
    file = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def keep(**row):
        os.write(file, (json.dumps({"connection": name} | row) + "\n").encode())

    def pass_on(sender, source, target):
        waiting = b""
        while piece := os.read(source, 1 << 16):
            waiting += piece
            while (end := waiting.find(b"\r\n\r\n")) >= 0:
                length = int(waiting[:end].lower().split(b"content-length:")[1].split(b"\r\n")[0])
                if len(waiting) < end + 4 + length:
                    break
                keep(**{"from": sender, "message": json.loads(waiting[end + 4 : end + 4 + length])})
                waiting = waiting[end + 4 + length :]
            try:
                left = memoryview(piece)
                while left:
                    left = left[os.write(target, left) :]
            except OSError:
                break
        if waiting:
            keep(**{"from": sender, "message": {"rest": waiting.decode(errors="replace")}})

    def feed():
        pass_on("client", 0, server.stdin.fileno())
        server.stdin.close()

    threading.Thread(target=feed, daemon=True).start()
    pass_on("server", server.stdout.fileno(), 1)
    keep(**{"from": "end", "code": server.wait()})


main()
