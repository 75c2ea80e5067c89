"""What the scripted models of the checks share: a server on loopback, and a turn of `openai-chat`, whole or streamed.

Main items: `Server`, `called`, `turn`, `send`.
"""

import http.server
import json
import sys
import threading


class Server(http.server.ThreadingHTTPServer):
    """Hands each request with its body to `answer(handler, data)`, side by side."""

    daemon_threads = True

    def __init__(self, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                answer(self, self.rfile.read(int(self.headers.get("content-length") or 0)))

            def do_GET(self):
                send(self, "application/json", '{"data": [], "models": [], "object": "list"}')

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *where):
        """A client that was killed in the middle of a turn is no fault of the server."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*where)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


def called(number, name, arguments):
    """The message with one call."""
    call = {"id": f"call_{number:04}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def turn(body, message, read=10, written=10):
    """The type and the text of the response that is a message, streamed if the request says so."""
    stop = "tool_calls" if "tool_calls" in message else "stop"
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    frame = {"id": "chatcmpl-1", "created": 1767225600, "model": body["model"]}
    if not body.get("stream"):
        whole = frame | {"object": "chat.completion", "usage": usage, "choices": [{"index": 0, "message": message, "finish_reason": stop}]}
        return "application/json", json.dumps(whole)
    frame |= {"object": "chat.completion.chunk"}
    delta = message | ({"tool_calls": [{"index": 0} | call for call in message["tool_calls"]]} if stop == "tool_calls" else {})
    chunks = [
        frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]},
        frame | {"choices": [], "usage": usage},
    ]
    return "text/event-stream", sse((None, chunk) for chunk in chunks) + "data: [DONE]\n\n"


def sse(events):
    return "".join((f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events)


def send(handler, kind, text):
    handler.send_response(200)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(text.encode())))
    handler.end_headers()
    handler.wfile.write(text.encode())
