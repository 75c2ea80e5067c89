"""Types that refuse what they do not name. Main functions: `typed_dict`, `strictly`.

The TypedDicts of the libraries take any key, and pydantic checks an `Iterable[X]` only when somebody walks it, so that a wrong message in the
middle would pass unseen. Here every TypedDict forbids other keys, nested ones too, and an iterable is read as a list.
"""

import collections.abc
import json
import os
import types
import typing

import pydantic
import typing_extensions


class Refused(Exception):
    """Why a request is not one that the provider's own library could have sent, or that its server would take."""


def need(holds, why):
    if not holds:
        raise Refused(why)


def strictly(adapter, value, **how):
    try:
        return adapter.validate_json(json.dumps(value), strict=True, **how)
    except pydantic.ValidationError as error:
        raise Refused(likeliest(error.errors(include_url=False, include_input=False))) from None
    except (AttributeError, UserWarning) as error:  # from google-genai's enumerations: no text, or no word that they know
        raise Refused(str(error)) from None


def likeliest(errors):
    """What is wrong, by the member of each union that was probably meant: the one with the fewest faults, the deepest of those."""
    members = {}
    for error in errors:
        named = [at for at, part in enumerate(error["loc"]) if isinstance(part, str) and part[:1].isupper()]
        members.setdefault(error["loc"][: named[-1] + 1 if named else 0], []).append(error)
    fewest = min(members.values(), key=lambda group: (len(group), -max(len(error["loc"]) for error in group)))
    return "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in fewest[:3])


def nothing(_):
    raise ValueError("only callers in Python can give this")


# In place of a type that has no form on the wire.
NOTHING = typing.Annotated[object, pydantic.AfterValidator(nothing)]
closed = set()


def close(hint):
    """The hint with lists for iterables; every TypedDict in it is made to forbid other keys."""
    if typing_extensions.is_typeddict(hint):
        if hint not in closed:
            closed.add(hint)
            open_by_design = getattr(hint, "__pydantic_config__", {}).get("extra") == "allow"
            hint.__pydantic_config__ = pydantic.ConfigDict(extra="allow" if open_by_design else "forbid")
            hints = typing_extensions.get_type_hints(hint, include_extras=True)
            hint.__annotations__ = {key: close(one) for key, one in hints.items()}
        return hint
    if isinstance(hint, type) and issubclass(hint, pydantic.BaseModel):
        return NOTHING  # what the server answered may be handed back as it is in Python; its models take any key
    origin, words = typing_extensions.get_origin(hint), typing_extensions.get_args(hint)
    if not words or origin is typing.Literal or origin is typing_extensions.Literal:
        return hint
    words = tuple(close(word) for word in words)
    if origin in (typing.IO, os.PathLike):
        return NOTHING  # a file is for callers in Python; on the wire there is its content
    if origin is collections.abc.Iterable:
        return list[words]
    if origin is typing.Union or origin is types.UnionType:
        kept = tuple(word for word in words if word is not NOTHING)
        return typing.Union[kept] if kept else NOTHING
    if origin is typing.Annotated:
        return typing.Annotated[(words[0], *hint.__metadata__)]
    if origin in (typing_extensions.Required, typing_extensions.NotRequired):
        return origin[words[0]]
    if issubclass(origin, collections.abc.Sequence) or origin.__name__ == "SequenceNotStr":
        return list[words]
    return origin[words]


def typed_dict(hint):
    adapter = pydantic.TypeAdapter(close(hint))
    return lambda body: strictly(adapter, body)
