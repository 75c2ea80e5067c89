"""Checks what the server said, as `tee.py` kept it, by the types that lsprotocol generates from the specification's meta-model.

usage: check.py RECORD

A message must be readable as the type of its method, and be the same when that is written again: so nothing is missing, of another type, or unknown
to the specification. Our own messages are checked by their documented shape. A check that cannot fail proves nothing: each message is then spoiled
in several ways, most of which must be refused.
"""

import copy
import json
import sys

from lsprotocol import converters, types

CONVERTER = converters.get_converter()
SEVERITIES = {"critical", "high", "medium", "low", "nit"}
# Results whose type depends on what was asked for.
FREE = {"workspace/executeCommand"}


class Refused(Exception):
    pass


def need(holds, what):
    if not holds:
        raise Refused(what)


def without_nothing(value):
    """A value without null and empty fields, which one side writes and the other leaves out."""
    if isinstance(value, dict):
        return {key: without_nothing(one) for key, one in value.items() if one is not None}
    return [without_nothing(one) for one in value] if isinstance(value, list) else value


def check_type(kind, value):
    try:
        again = CONVERTER.unstructure(CONVERTER.structure(value, kind), unstructure_as=kind)
    except Exception as error:
        raise Refused(f"it is no {kind}: {error!r}") from error
    again = json.loads(json.dumps(again))
    need(without_nothing(again) == without_nothing(value), f"as {kind} it reads\n{again}\nand was\n{value}")


def check_status(status):
    known = {"state", "run", "outcome", "clean", "counts", "costUsd", "message", "folder"}
    need(set(status) <= known and {"state", "counts", "folder"} <= set(status), f"the fields {sorted(status)}")
    need(status["state"] in ("idle", "running", "failed"), "the state")
    need(set(status["counts"]) == SEVERITIES and all(type(n) is int for n in status["counts"].values()), "the counts")
    need(isinstance(status["folder"], str), "the folder")


def check_findings(result):
    need(set(result) == {"run", "findings"}, "the fields")
    for row in result["findings"]:
        known = {"id", "title", "severity", "category", "origin", "rule", "uri", "range", "prominence", "body"}
        need(set(row) <= known and {"id", "title", "severity", "uri", "range", "body"} <= set(row), f"the fields {sorted(row)}")
        need(row["severity"] in SEVERITIES, "the severity")
        check_type(types.Range, row["range"])


def check_message(message, asked):
    need(message.get("jsonrpc") == "2.0", "it is JSON-RPC")
    method = message.get("method") or asked.get(json.dumps(message.get("id")))
    need(method, "nothing was asked for with that id")
    if "method" not in message:
        if "error" in message:
            need(isinstance(message["error"]["code"], int) and isinstance(message["error"]["message"], str), "the error")
        elif method == "review/findings":
            check_findings(message["result"])
        elif method == "textDocument/codeAction":
            # The library takes every action with a command for a command.
            for action in message["result"]:
                check_type(types.Command if isinstance(action.get("command"), str) else types.CodeAction, action)
        elif method not in FREE:
            check_type(types.METHOD_TO_TYPES[method][1], message)
    elif method == "review/status":
        check_status(message["params"])
    else:
        check_type(types.METHOD_TO_TYPES[method][0], message)
        if method == "$/progress":
            kinds = {"begin": types.WorkDoneProgressBegin, "report": types.WorkDoneProgressReport, "end": types.WorkDoneProgressEnd}
            check_type(kinds[message["params"]["value"]["kind"]], message["params"]["value"])
    return method


def spoiled(value):
    """Copies of a JSON value with one thing wrong each."""
    if isinstance(value, dict):
        for key in value:
            yield {other: one for other, one in value.items() if other != key}
            for one in spoiled(value[key]):
                yield value | {key: one}
        yield value | {"noSuchField": 1}
    elif isinstance(value, list):
        for at, one in enumerate(value[:3]):
            for other in spoiled(one):
                yield [*value[:at], other, *value[at + 1 :]]
    else:
        yield {"spoiled": True}


def main():
    asked, counts, ends, tried, refused = {}, {}, {}, 0, 0
    for line in open(sys.argv[1], encoding="utf-8"):
        row = json.loads(line)
        of = asked.setdefault(row["connection"], {})
        if row["from"] == "end":
            ends[row["connection"]] = row["code"]
            continue
        message = json.loads(row["text"])
        if row["from"] == "client":
            if "method" in message and "id" in message:
                of[json.dumps(message["id"])] = message["method"]
            continue
        try:
            method = check_message(message, of)
        except Refused as why:
            sys.exit(f"failed: {row['connection']}: {json.dumps(message)[:2000]}\n{why}")
        counts[method] = counts.get(method, 0) + 1
        for other in list(spoiled(copy.deepcopy(message)))[:200] if counts[method] <= 2 else []:
            tried += 1
            try:
                check_message(other, of)
            except (Refused, KeyError, TypeError):
                refused += 1
    wanted = {
        "initialize", "shutdown", "textDocument/publishDiagnostics", "textDocument/diagnostic", "workspace/diagnostic", "textDocument/codeAction",
        "textDocument/hover", "workspace/executeCommand", "window/workDoneProgress/create", "$/progress", "review/status", "review/findings",
        "workspace/applyEdit", "window/showMessageRequest",
    }
    if missing := wanted - set(counts):
        sys.exit(f"failed: the server never said {sorted(missing)}")
    if wrong := {name: code for name, code in ends.items() if code}:
        sys.exit(f"failed: servers ended with {wrong}")
    # Some fields may be missing, and some hold anything.
    if refused * 2 < tried:
        sys.exit(f"failed: of {tried} spoiled messages only {refused} were refused")
    print(f"{sum(counts.values())} messages of {len(counts)} kinds in {len(asked)} sessions; {refused} of {tried} spoiled ones were refused")


main()
