"""Checks every model request that the tests recorded, by the types of the providers' official Python libraries and by rules beyond types.

usage: recorded.py FOLDER

FOLDER holds WIRE/SESSION/NNN.json, each with the path, the names of the headers, and the body of a request. Every wire of `wires.WIRES` must
be there. Prints a line for each wire; ends with 1 at the first thing that is wrong.

A check that cannot fail proves nothing: every body of a new shape is then spoiled in many ways, each of which must be refused: a key too
many in every object, another type at every place, a required key gone, results out of order, missing or twice, a mark too many.
"""

import copy
import json
import pathlib
import re
import sys
import warnings

from wires import WIRES, Refused, check_schemas, need

# What keys look like; the tests' own says what it is.
KEYS = re.compile(r"\bsk-[A-Za-z0-9_-]{16,}|\bAIza[A-Za-z0-9_-]{16,}|test-key-of-no-provider", re.ASCII)


def check(wire, body):
    wire.types(body)
    try:
        wire.rules(body)
        check_schemas(wire.tools(body))
    except (KeyError, TypeError, IndexError, AttributeError) as stumbled:
        raise Refused(f"{type(stumbled).__name__}: {stumbled}") from None
    found = KEYS.search(json.dumps(body))
    need(not found, f"a key in the body: {found and found[0]}")


def check_request(wire, recorded):
    need(re.fullmatch(wire.path, recorded["path"]), f"unexpected path {recorded['path']}")
    names = {name.lower() for name in recorded["headers"]}
    need(wire.headers <= names, f"headers {sorted(wire.headers - names)} are missing")
    check(wire, body_of(recorded))


def body_of(recorded):
    return json.loads(recorded["body"]) if isinstance(recorded["body"], str) else recorded["body"]


# Spoiling

def places(value, free, at=()):
    """Every place in the body that a type rules, as its path and its value."""
    yield at, value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        if key not in free:
            yield from places(part, free, (*at, key))


def changed(body, at, change):
    """A copy of the body, changed at a place."""
    body = copy.deepcopy(body)
    holder = body
    for key in at[:-1]:
        holder = holder[key]
    change(holder, at[-1] if at else None)
    return body


def spelled(at):
    return ".".join("*" if isinstance(key, int) else key for key in at)


def put(value):
    def change(holder, key):
        holder[key] = value
    return change


def other_type(value):
    # A list of lists of numbers is nothing that a text, a number or an object can be.
    return 7 if isinstance(value, list | dict) else [[7]]


def spoiled(name, body, done):
    """Each way to spoil the body once for every kind of place: what it is called, and the body."""
    wire = WIRES[name]
    for at, value in places(body, wire.free):
        kind = spelled(at)
        if isinstance(value, dict):
            shape = (kind, *sorted(value), value.get("type"), value.get("role"))
            if ("key", shape) not in done:
                done.add(("key", shape))
                yield f"{kind or 'body'} with a key too many", changed(body, (*at, "no_such_key"), put("x"))
        if not at or value is None:
            continue
        kind_here = (kind, type(value).__name__, sibling(body, at))
        if ("type", kind_here) not in done:
            done.add(("type", kind_here))
            yield f"{kind} of another type", changed(body, at, put(other_type(value)))
        if kind in wire.required and ("gone", kind_here) not in done:
            done.add(("gone", kind_here))
            yield f"{kind} gone", changed(body, at, lambda holder, key: holder.pop(key))
    for what, worse in disordered(name, body):
        if (what, name) not in done:
            done.add((what, name))
            yield what, worse


def sibling(body, at):
    """What kind of object holds the place: the same key means another thing in each."""
    for key in at[:-1]:
        body = body[key]
    return (body.get("type"), body.get("role")) if isinstance(body, dict) else None


def disordered(name, body):
    """The conversation spoiled: results swapped, lost, doubled or renamed; a call never answered; too many marks."""
    key = {"responses": "input", "gemini": "contents"}.get(name, "messages")
    turns = body[key]
    inner = {"messages": ("content", "tool_result"), "gemini": ("parts", "functionResponse")}.get(name)
    if inner:
        listed, mark = inner
        for at, turn in enumerate(turns):
            results = [p for p in turn[listed] if isinstance(p, dict) and (p.get("type") == mark or mark in p)] if isinstance(turn[listed], list) else []
            again = lambda parts, at=at, turn=turn: {**body, key: [*turns[:at], {**turn, listed: parts}, *turns[at + 1 :]]}
            if results:
                yield "a result twice", again([results[0], *turn[listed]])
                yield "a turn of results gone", {**body, key: turns[:at] + turns[at + 1 :]}
            if len(results) > 1:
                yield "a result gone", again(turn[listed][1:])
                if ordered(results):
                    yield "results swapped", again(turn[listed][::-1])
    else:
        is_result = lambda turn: turn.get("role") == "tool" or turn.get("type") == "function_call_output"
        results = [at for at, turn in enumerate(turns) if is_result(turn)]
        for at in results[:1]:
            yield "a result gone", {**body, key: turns[:at] + turns[at + 1 :]}
            yield "a result twice", {**body, key: turns[:at] + [turns[at]] + turns[at:]}
        for at in results:
            if at + 1 in results and name != "ollama":
                yield "results swapped", {**body, key: [*turns[:at], turns[at + 1], turns[at], *turns[at + 2 :]]}
                break
    if name == "messages":
        mark = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
        yield "five marks", {**body, "system": [mark] * 5}
        yield "the assistant twice in a row", {**body, key: [*turns, *[{"role": "assistant", "content": "x"}] * 2]}
    if name in ("messages", "chat", "ollama", "responses", "gemini"):
        text = json.loads(json.dumps(body))
        first = text[key][0] if name != "chat" else next(one for one in text[key] if one["role"] == "user")
        if name == "gemini":
            first["parts"][0]["text"] = "with sk-0123456789abcdef"
        else:
            first["content"] = "with sk-0123456789abcdef"
        yield "a key in the body", text


def ordered(results):
    """Whether swapping these results shows: Gemini's are told apart by name and id only."""
    names = [json.dumps([r.get("tool_use_id"), r.get("functionResponse", {}).get("name"), r.get("functionResponse", {}).get("id")]) for r in results]
    return names != names[::-1]


def refused(wire, body):
    try:
        check(wire, body)
    except Refused:
        return True
    return False


def main():
    warnings.simplefilter("error", UserWarning)  # how google-genai says that it does not know a word
    folder = pathlib.Path(sys.argv[1])
    for name, wire in WIRES.items():
        files = sorted((folder / name).glob("*/*.json"))
        if not files:
            sys.exit(f"failed: no request of {name} was recorded in {folder / name}")
        done, bodies, spoilt, results = set(), 0, 0, 0
        for file in files:
            try:
                recorded = json.loads(file.read_text())
            except ValueError as why:
                sys.exit(f"failed: {file} is no record ({why}): a test run was cut off while it wrote it; remove {folder} and run the tests again")
            try:
                check_request(wire, recorded)
            except Refused as why:
                sys.exit(f"failed: {file}: {why}")
            bodies += 1
            body = body_of(recorded)
            results += json.dumps(body).count(wire.result)
            for what, worse in spoiled(name, body, done):
                spoilt += 1
                if not refused(wire, worse):
                    sys.exit(f"failed: the check is blind: {file} passes with {what}")
        if not results:
            sys.exit(f"failed: no request of {name} carries the result of a tool")
        print(f"{name}: {bodies} requests of {len({file.parent for file in files})} sessions are valid, {spoilt} spoiled ones are refused")


if __name__ == "__main__":
    main()
