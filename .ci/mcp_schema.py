"""Checks everything that a server said in recorded sessions by the JSON schemas of the specification, each message by its own version.

usage: mcp_schema.py RECORD

RECORD is what `tee.py` and `mcp_stage.py` keep. The version of a connection is the one that its `initialize` agreed on, or the one that a
request carries with it. An answer is checked by the method that was asked: as a message, and its result as that method's result. Every version
must have been spoken. Prints a line for each version; ends with 1 at the first thing that is wrong.

A check that cannot fail proves nothing: messages are then spoiled, a required field gone or of another type, and each must be refused.
"""

import collections
import copy
import json
import pathlib
import sys

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parent.parent / "fixtures/mcp/schema"
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
META = "io.modelcontextprotocol/protocolVersion"
# The definition of each method's result, and of each notification's message. What is not here is not for a server to say.
RESULTS = {
    "initialize": "InitializeResult", "ping": "EmptyResult", "server/discover": "DiscoverResult", "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult", "resources/list": "ListResourcesResult", "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult", "resources/subscribe": "EmptyResult", "resources/unsubscribe": "EmptyResult",
    "prompts/list": "ListPromptsResult", "prompts/get": "GetPromptResult", "completion/complete": "CompleteResult",
    "logging/setLevel": "EmptyResult", "subscriptions/listen": "SubscriptionsListenResult",
}
NOTIFICATIONS = {
    "notifications/progress": "ProgressNotification", "notifications/message": "LoggingMessageNotification",
    "notifications/cancelled": "CancelledNotification", "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification", "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}
# What must have been heard in each era, or the sessions were too small to prove anything.
ALWAYS = {"tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "prompts/list", "prompts/get", "completion/complete"}
EVERYWHERE = {version: {"initialize", "tools/list"} for version in VERSIONS[:3]} | {
    VERSIONS[3]: ALWAYS | {"initialize", "ping", "resources/subscribe", "notifications/progress", "notifications/resources/updated", "error"},
    VERSIONS[4]: ALWAYS
    | {"server/discover", "notifications/subscriptions/acknowledged", "notifications/progress", "notifications/resources/updated", "error"},
}


class Refused(Exception):
    """Why a message is none of the specification's."""


class Schema:
    """The schema of one version; validators of its definitions are made once."""

    def __init__(self, version):
        self.version, self.made = version, {}
        self.document = json.loads((SCHEMAS / f"{version}.json").read_text())
        self.key = "$defs" if "$defs" in self.document else "definitions"

    def has(self, name):
        return name in self.document[self.key]

    def check(self, name, value):
        if name not in self.made:
            if not self.has(name):
                raise Refused(f"{self.version} has no {name}")
            kind = jsonschema.validators.validator_for(self.document)
            self.made[name] = kind({self.key: self.document[self.key], "$ref": f"#/{self.key}/{name}", "$schema": self.document["$schema"]})
        error = jsonschema.exceptions.best_match(self.made[name].iter_errors(value))
        if error is not None:
            raise Refused(f"{self.version} {name}: at {list(error.absolute_path)}: {error.message[:400]}")

    def envelope(self, message):
        newer = {"error": "JSONRPCErrorResponse", "result": "JSONRPCResultResponse"}
        older = {"error": "JSONRPCError", "result": "JSONRPCResponse"}
        for field in ("error", "result"):
            if field in message:
                # From 2025-11-25 on both are named, and `JSONRPCResponse` is either.
                return newer[field] if self.has(newer[field]) else older[field]
        return "JSONRPCNotification"


def check(schema, message, method):
    """One message of the server; `method` is what was asked, where it is an answer."""
    if not isinstance(message, dict):
        raise Refused(f"a message is an object: {str(message)[:200]}")
    if "id" in message and "method" in message:
        raise Refused(f"the server asked {message['method']} of the client, which said that it can do nothing")
    if message.get("id", "") is None:
        # JSON-RPC wants `null` where the id of what was sent is unknown; the schemas know of no such answer, or leave the id out.
        message = {key: value for key, value in message.items() if key != "id"} | ({} if schema.version >= "2025-11-25" else {"id": 0})
    schema.check(schema.envelope(message), message)
    schema.check("JSONRPCMessage", message)
    if "result" in message:
        schema.check(RESULTS.get(method, f"result of {method}"), message["result"])
        if method == "tools/list":
            for tool in message["result"]["tools"]:
                for field in ("inputSchema", "outputSchema"):
                    if field in tool:
                        jsonschema.Draft202012Validator.check_schema(tool[field])
    elif "method" in message:
        schema.check(NOTIFICATIONS.get(message["method"], message["method"]), message)


def version_of(message, default):
    """The version that a request names, if it does."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    named = meta.get(META) if isinstance(meta, dict) else None
    return named if named in VERSIONS else default


def heard(record):
    """Every message of a server, with its version and the method it answers."""
    agreed, asked = {}, {}
    for number, line in enumerate(record.read_text().split("\n"), 1):
        if not line:
            continue
        row = json.loads(line)
        name, sender = row["connection"], row["from"]
        if sender == "end":
            continue
        try:
            message = json.loads(row["text"])
        except (ValueError, RecursionError):
            if sender == "server":
                sys.exit(f"line {number} ({name}): the server said what is no JSON: {row['text'][:200]!r}")
            continue
        if sender == "client":
            if isinstance(message, dict) and isinstance(message.get("method"), str) and isinstance(message.get("id"), str | int):
                method = message["method"]
                asked[name, message["id"]] = (method, version_of(message, None))
            continue
        method, version = asked.get((name, message.get("id")), (None, None)) if isinstance(message, dict) else (None, None)
        if method == "initialize" and isinstance(message.get("result"), dict):
            agreed[name] = message["result"].get("protocolVersion")
        # A notification to a client of the new era belongs to a request; all requests of such a connection are of that era.
        version = version or agreed.get(name) or row.get("version") or newest(asked, name)
        if version not in VERSIONS:
            sys.exit(f"line {number} ({name}): no known version: {version}: {row['text'][:300]}")
        yield number, name, version, message, method


def newest(asked, name):
    return max((version for (connection, _), (_, version) in asked.items() if connection == name and version), default="2025-11-25")




def spoiled(message, method):
    """Messages that are almost this one. Each breaks what the specification says of every such message."""
    def put(at, value):
        other = copy.deepcopy(message)
        place = other
        for key in at[:-1]:
            place = place[key]
        if value is None:
            del place[at[-1]]
        else:
            place[at[-1]] = value
        return other

    yield put(("jsonrpc",), "1.0")
    yield put(("jsonrpc",), None)
    if "id" in message:
        yield put(("id",), [1])
    if "error" in message:
        yield put(("error", "code"), "-32601")
        yield put(("error", "code"), None)
        yield put(("error", "message"), None)
    lists = {"tools/list": "tools", "resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts",
             "tools/call": "content", "resources/read": "contents", "prompts/get": "messages", "completion/complete": "completion"}
    if "result" in message:
        yield put(("result",), "fine")
        if method in lists:
            yield put(("result", lists[method]), "none")
            # A 2024-11-05 tool result may leave nothing out either.
            yield put(("result", lists[method]), None)
            for index, _ in enumerate(message["result"][lists[method]]) if isinstance(message["result"][lists[method]], list) else ():
                yield put(("result", lists[method], index), {"nothing": True})
                break
    if message.get("method") == "notifications/progress":
        yield put(("params", "progress"), "half")
        yield put(("params", "progressToken"), None)
    if message.get("method") == "notifications/resources/updated":
        yield put(("params", "uri"), None)


def main():
    schemas = {version: Schema(version) for version in VERSIONS}
    found, counts, samples, refused = collections.defaultdict(set), collections.Counter(), {}, 0
    for number, name, version, message, method in heard(pathlib.Path(sys.argv[1])):
        try:
            check(schemas[version], message, method)
        except Refused as why:
            sys.exit(f"failed: line {number} ({name}), the answer to {method}: {why}\n{json.dumps(message)[:1500]}")
        kind = "error" if "error" in message else method or message.get("method")
        found[version].add(kind)
        counts[version] += 1
        # A list that is empty cannot be spoiled everywhere: the largest of a kind is.
        size = len(json.dumps(message))
        if size > len(json.dumps(samples.get((version, kind), (0, 0))[0])):
            samples[version, kind] = (message, method)
    for (version, kind), (message, method) in samples.items():
        for other in spoiled(message, method):
            try:
                check(schemas[version], other, method)
            except Refused:
                refused += 1
                continue
            sys.exit(f"failed: a spoiled message passes as {version} {kind}: {json.dumps(other)[:800]}")
    for version in VERSIONS:
        missing = EVERYWHERE[version] - found[version]
        if missing:
            sys.exit(f"failed: {version}: the sessions have no {sorted(missing)}; they have {sorted(found[version])}")
        print(f"{version}: {counts[version]} messages of {len(found[version])} kinds")
    print(f"{refused} spoiled messages were refused")


main()
