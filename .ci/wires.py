"""The wire formats, by the types of their official Python libraries, and by rules that no type can say. Main table: `WIRES`.

The libraries' types are made to refuse what they do not name:

- the TypedDicts of `anthropic` and `openai`: see `strict`;
- the models of `google-genai` forbid already, but take names in either spelling: only the spelling of the wire counts here. A request is what
  the library makes of its parameters: the body is turned back into them, and what the library then makes must be the body again;
- the models of `ollama` get `extra="forbid"` too, and its messages and options, which it would also take as any mapping, are read as its models.

JSON types are not converted into each other (strict). What is free by its nature (a tool's input, a schema) is listed in `free`.
"""

import base64
import dataclasses
import json
import re
import typing

import anthropic.types.beta.message_create_params
import anthropic.types.message_create_params
import google.genai
import google.genai.models
import google.genai.types
import jsonschema
import ollama._types
import openai.types.chat.completion_create_params
import openai.types.responses.response_create_params
import pydantic

from strict import Refused, need, strictly, typed_dict


@dataclasses.dataclass
class Wire:
    path: str  # what the path must be, as a regular expression
    headers: set  # names that must be there
    types: typing.Callable  # refuses by the library's types
    rules: typing.Callable  # refuses by what no type can say
    free: set  # below these keys anything goes
    required: list  # keys that a request cannot be without, as paths; `*` is any position
    tools: typing.Callable  # the schemas of the tools
    result: str  # what stands in the JSON of every result of a tool


# Anthropic Messages

def blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


MESSAGES = typed_dict(anthropic.types.message_create_params.MessageCreateParams)
MESSAGES_BETA = typed_dict(anthropic.types.beta.message_create_params.MessageCreateParams)


def messages_types(body):
    # What becomes of thinking that is bound to another conversation is said by a beta of the provider, and by its types alone.
    thinking = body.get("thinking") if isinstance(body, dict) else None
    is_beta = isinstance(thinking, dict) and "block_binding" in thinking
    (MESSAGES_BETA if is_beta else MESSAGES)(body)


def messages_rules(body):
    need(marks(body) <= 4, "more than four cache_control marks")
    need(body["messages"] and body["messages"][0]["role"] == "user", "the conversation must begin with the user")
    waiting, seen = [], set()
    for message in body["messages"]:
        parts = blocks(message)
        need(parts, "a message without content")
        answers = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
        need(answers == waiting, f"calls {waiting} are answered by {answers}")
        first = [part["type"] for part in parts[: len(answers)]]
        need(set(first) <= {"tool_result"}, "results must stand before anything else in their message")
        calls = [part for part in parts if part["type"] == "tool_use"]
        need(not calls or message["role"] == "assistant", "only the assistant calls tools")
        waiting = [part["id"] for part in calls]
        for part in parts:
            need(part["type"] != "text" or part["text"].strip(), "an empty text block")
        for name in waiting:
            need(re.fullmatch(r"[a-zA-Z0-9_-]+", name) and name not in seen, f"{name!r} cannot be the id of a call, or is one already")
            seen.add(name)
    need(not waiting, f"calls {waiting} are never answered")
    for one, next_one in zip(body["messages"], body["messages"][1:]):
        # The provider joins user messages that follow each other; results must come first in what it makes of them.
        words = isinstance(next_one["content"], str) or all(part["type"] == "text" for part in next_one["content"])
        need(one["role"] != next_one["role"] or (one["role"] == "user" and words), "two messages of one role in a row")


def marks(value):
    if isinstance(value, list):
        return sum(map(marks, value))
    if not isinstance(value, dict):
        return 0
    return ("cache_control" in value) + sum(marks(part) for key, part in value.items() if key not in WIRES["messages"].free)


# OpenAI Responses

def responses_rules(body):
    need(isinstance(body["input"], list) and body["input"], "no input")
    need(body.get("store") is False, "the conversation would be stored at the provider's")
    calls, answers, seen = [], [], set()
    for item in [*body["input"], {"type": "end"}]:
        kind = item.get("type", "message")
        if kind == "function_call":
            need(not answers, "a call between answers")
            is_object(item["arguments"])
            need(item["call_id"] not in seen and 0 < len(item["call_id"]) <= 64, f"{item['call_id']!r} cannot be the id of a call, or is one already")
            seen.add(item["call_id"])
            calls.append(item["call_id"])
        elif kind == "function_call_output":
            answers.append(item["call_id"])
            need(answers == calls[: len(answers)], f"calls {calls} are answered by {answers}")
            if answers == calls:
                calls, answers = [], []
        else:
            need(not calls or kind in ("message", "reasoning") and item.get("role", "assistant") == "assistant" and not answers, f"calls {calls} are not answered")


def is_object(text):
    try:
        need(isinstance(json.loads(text), dict), f"arguments that are no object: {text[:80]}")
    except ValueError:
        raise Refused(f"arguments that are no JSON: {text[:80]}") from None


# OpenAI chat completions

def chat_types():
    check = typed_dict(openai.types.chat.completion_create_params.CompletionCreateParams)

    def known(message):
        """Without `reasoning_content`: compatible servers send it and want it back; the library does not know it, nor does OpenAI's server send it."""
        if not isinstance(message, dict) or message.get("role") != "assistant":
            return message
        need(isinstance(message.get("reasoning_content", ""), str), "reasoning_content is no text")
        return {key: value for key, value in message.items() if key != "reasoning_content"}

    def typed(body):
        messages = body.get("messages")
        check(body | {"messages": [known(message) for message in messages]} if isinstance(messages, list) else body)

    return typed


def chat_rules(body):
    need(any(message["role"] == "user" for message in body["messages"]), "nothing from the user")
    waiting, seen = [], set()
    for message in body["messages"]:
        if message["role"] == "tool":
            need(waiting and message["tool_call_id"] == waiting.pop(0), f"{message['tool_call_id']} is not the call whose turn it is")
            continue
        need(not waiting, f"calls {waiting} are not answered")
        for call in message.get("tool_calls") or []:
            is_object(call["function"]["arguments"])
            need(call["id"] not in seen, f"{call['id']} is the id of two calls")
            seen.add(call["id"])
            waiting.append(call["id"])
        need(message["role"] != "assistant" or message.get("content") or waiting, "the assistant says nothing")
    need(not waiting, f"calls {waiting} are never answered")


# Google's generateContent

BESIDE_CONFIG = {"systemInstruction", "tools", "toolConfig", "safetySettings", "cachedContent", "serviceTier", "store"}


def gemini_types():
    library, types_ = google.genai.Client(api_key="none"), google.genai.types
    parameters = pydantic.TypeAdapter(types_._GenerateContentParameters)
    # For callers in Python these may be many things, functions among them; on the wire they are one.
    narrow = {"contents": list[types_.Content], "systemInstruction": types_.Content, "tools": list[types_.Tool]}
    narrow = {key: pydantic.TypeAdapter(hint) for key, hint in narrow.items()}

    def check(body):
        unknown = set(body) - BESIDE_CONFIG - {"contents", "generationConfig"}
        need(not unknown, f"the library never sends {sorted(unknown)}")
        inner = body.get("generationConfig", {})
        need(isinstance(inner, dict) and not set(inner) & BESIDE_CONFIG, "a key of the request in generationConfig")
        for key, adapter in narrow.items():
            if key in body:
                strictly(adapter, body[key], by_alias=True, by_name=False)
        config = inner | {key: body[key] for key in BESIDE_CONFIG & set(body)}
        given = strictly(parameters, {"model": "m", "contents": body.get("contents"), "config": config}, by_alias=True, by_name=False)
        try:
            made = google.genai.models._GenerateContentParameters_to_mldev(library._api_client, given)
        except (ValueError, TypeError) as error:
            raise Refused(str(error)) from None
        made.pop("_url", None)
        need(plain(made) == plain(body), f"the library would send something else: {difference(plain(made), plain(body))}")

    return check


def plain(value):
    """As the wire spells it: without what is null or an empty configuration, and with signatures in one of the two alphabets of base64."""
    if isinstance(value, pydantic.BaseModel):
        return plain(value.model_dump(mode="json", by_alias=True, exclude_none=True))
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode()
    if isinstance(value, list):
        return [plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    kept = {key: plain(part) for key, part in value.items() if part is not None and (key, part) != ("generationConfig", {})}
    if isinstance(kept.get("thoughtSignature"), str):
        kept["thoughtSignature"] = kept["thoughtSignature"].translate(str.maketrans("+/", "-_"))
    return kept


def difference(one, other, where="body"):
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            if one.get(key) != other.get(key):
                return difference(one.get(key), other.get(key), f"{where}.{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (a, b) in enumerate(zip(one, other)):
            if a != b:
                return difference(a, b, f"{where}[{at}]")
    return f"{where}: {str(one)[:80]} / {str(other)[:80]}"


def gemini_rules(body):
    need(body.get("contents") and body["contents"][0].get("role") == "user", "the conversation must begin with the user")
    waiting, role = [], None
    for content in body["contents"]:
        need(content.get("role") in ("user", "model"), f"unknown role {content.get('role')}")
        need(content["role"] == "user" or role == "user", "the model speaks twice in a row")
        role = content["role"]
        need(content.get("parts"), "a content without parts")
        for part in content["parts"]:
            payload = set(part) - {"thoughtSignature", "thought"}
            need(len(payload) == 1, f"a part must hold one thing, not {sorted(payload)}")
            need(part.get("text", "-") != "", "an empty text")
        answers = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        need(all(one.get("name") and isinstance(one.get("response"), dict) for one in answers), "an answer without name or response")
        need([(one["name"], one.get("id")) for one in answers] == waiting, f"calls {waiting} are answered by {[one['name'] for one in answers]}")
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        need(not calls or role == "model", "only the model calls tools")
        need(all(one.get("name") and isinstance(one.get("args"), dict) for one in calls), "a call without name or arguments")
        waiting = [(one["name"], one.get("id")) for one in calls]
    need(not waiting, f"calls {waiting} are never answered")
    for tool in body.get("tools", []):
        need(all(one.get("name") and one.get("description") for one in tool["functionDeclarations"]), "a tool without name or description")


# Ollama

def ollama_types():
    known = ollama._types
    function = known.Tool.Function
    for model in (known.Options, known.Message.ToolCall.Function, known.Message.ToolCall, known.Message, function, known.Tool, known.ChatRequest):
        model.model_config = pydantic.ConfigDict(**model.model_config | {"extra": "forbid"})
        model.model_rebuild(force=True)
    request, options = pydantic.TypeAdapter(known.ChatRequest), pydantic.TypeAdapter(known.Options)
    messages = pydantic.TypeAdapter(list[known.Message])

    def check(body):
        strictly(request, body)
        strictly(messages, body.get("messages"))
        strictly(options, body.get("options", {}))

    return check


def ollama_rules(body):
    need(any(message["role"] == "user" for message in body["messages"]), "nothing from the user")
    waiting = []
    for message in body["messages"]:
        need(message["role"] in ("system", "user", "assistant", "tool"), f"unknown role {message['role']}")
        if message["role"] == "tool":
            need(waiting, "an answer to no call")
            name = waiting.pop(0)
            need(message.get("content") is not None and message.get("tool_name", name) == name, f"no answer to {name}")
            continue
        need(not waiting, f"calls of {waiting} are not answered")
        waiting = [call["function"]["name"] for call in message.get("tool_calls") or []]
        need(message.get("content") or waiting, "a message that says nothing")
    need(not waiting, f"calls of {waiting} are never answered")
    for tool in body.get("tools") or []:
        need(tool.get("type") == "function" and tool.get("function", {}).get("name"), "a tool without name")


def check_schemas(schemas):
    for schema in schemas:
        need(isinstance(schema, dict) and schema.get("type") == "object", "the input of a tool must be an object")
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            raise Refused(f"the schema of a tool: {error.message}") from None


WIRES = {
    "messages": Wire(
        path=r".*/v1/messages",
        headers={"x-api-key", "anthropic-version"},
        types=messages_types,
        rules=messages_rules,
        free={"input", "input_schema"},
        required=["model", "max_tokens", "messages", "messages.*.role", "messages.*.content", "messages.*.content.*.id", "messages.*.content.*.name",
                  "messages.*.content.*.input", "messages.*.content.*.tool_use_id", "messages.*.content.*.text", "messages.*.content.*.type",
                  "messages.*.content.*.signature", "tools.*.name", "tools.*.input_schema"],
        tools=lambda body: [tool["input_schema"] for tool in body.get("tools", [])],
        result='"tool_result"',
    ),
    "responses": Wire(
        path=r".*/responses",
        headers={"authorization"},
        types=typed_dict(openai.types.responses.response_create_params.ResponseCreateParams),
        rules=responses_rules,
        free={"parameters"},
        required=["input", "input.*.call_id", "input.*.name", "input.*.arguments", "input.*.output", "input.*.summary", "input.*.content",
                  "input.*.role", "tools.*.name", "tools.*.type", "tools.*.parameters"],
        tools=lambda body: [tool["parameters"] for tool in body.get("tools", [])],
        result='"function_call_output"',
    ),
    "chat": Wire(
        path=r".*/chat/completions",
        headers=set(),
        types=chat_types(),
        rules=chat_rules,
        free={"parameters"},
        required=["model", "messages", "messages.*.role", "messages.*.tool_call_id", "messages.*.tool_calls.*.id", "messages.*.tool_calls.*.type",
                  "messages.*.tool_calls.*.function", "messages.*.tool_calls.*.function.name", "messages.*.tool_calls.*.function.arguments",
                  "tools.*.type", "tools.*.function", "tools.*.function.name"],
        tools=lambda body: [tool["function"]["parameters"] for tool in body.get("tools", [])],
        result='"tool_call_id"',
    ),
    "gemini": Wire(
        path=r".*/models/[^/?]+:(streamGenerateContent(\?alt=sse)?|generateContent)",
        headers={"x-goog-api-key"},
        types=gemini_types(),
        rules=gemini_rules,
        free={"args", "response", "parametersJsonSchema"},
        required=["contents", "contents.*.role", "contents.*.parts", "contents.*.parts.*.functionCall.name", "contents.*.parts.*.functionCall.args",
                  "contents.*.parts.*.functionResponse.name", "contents.*.parts.*.functionResponse.response", "tools.*.functionDeclarations.*.name"],
        tools=lambda body: [one["parametersJsonSchema"] for tool in body.get("tools", []) for one in tool["functionDeclarations"]],
        result='"functionResponse"',
    ),
    "ollama": Wire(
        path=r".*/api/chat",
        headers=set(),
        types=ollama_types(),
        rules=ollama_rules,
        free={"arguments", "parameters"},
        required=["model", "messages", "messages.*.role", "messages.*.tool_calls.*.function", "messages.*.tool_calls.*.function.name",
                  "messages.*.tool_calls.*.function.arguments", "tools.*.function", "tools.*.function.name"],
        tools=lambda body: [tool["function"]["parameters"] for tool in body.get("tools") or []],
        result='"role": "tool"',
    ),
}
