"""Writes a language model of a few megabytes that says given texts. usage: tiny_model.py FILE.gguf SCRIPT.json

It is a whole transformer in the format of llama.cpp (architecture llama, one layer) whose weights nobody trained: attention and feed-forward
are zero, each token is a direction of its own, and the output points from each token to the one that comes after it. So what it says depends
on the last token alone. The chat template ends the prompt with a token for the conversation and its turn, and from there the model says the
script of that turn, piece by piece, to its end.

SCRIPT.json holds a list of conversations: {"about": TEXT, "says": [TEXT, ...]}. The first whose `about` stands in a message is the one; the last
of its texts is said again in every later turn.
"""

import json
import pathlib
import sys

import gguf
import numpy

# Pieces of a script are no longer, so that an answer comes in several.
LONGEST_PIECE = 12
# What it can be given and say together, in tokens: nearly every byte is one.
CONTEXT = 131072

# Every message goes into the prompt; what ends it says which conversation it is, and which turn.
TEMPLATE = """{% set all = messages | map(attribute='content') | join(' ') %}{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}
{% endfor %}{% set said = messages | selectattr('role', 'equalto', 'assistant') | list | length %}"""


def pieces(text, taken):
    """The text in pieces of which each is another: a token stands for one place of one script alone."""
    found = []
    while text:
        length = min(LONGEST_PIECE, len(text))
        while text[:length] in taken and length < len(text):
            length += 1
        found.append(text[:length])
        text = text[length:]
        # The end of a text may be that of another: then it is one piece with what stands before it.
        while found[-1] in taken and len(found) > 1:
            end = found.pop()
            taken.discard(found[-1])
            found[-1] += end
        if found[-1] in taken:
            sys.exit(f"failed: {found[-1]!r} is a whole text twice")
        taken.add(found[-1])
    return found


def vocabulary(conversations):
    """Tokens and their kinds, which follows which, and the token that begins each turn of each conversation."""
    kind = gguf.TokenType
    tokens = [("<unk>", kind.UNKNOWN), ("<s>", kind.CONTROL), ("</s>", kind.CONTROL)]
    tokens += [(f"<0x{byte:02X}>", kind.BYTE) for byte in range(256)]
    # A space is written so in this kind of vocabulary, and is three bytes.
    tokens.append(("\u2581", kind.NORMAL))
    end, follows, starts, taken = 2, {}, [], {" "}
    for number, conversation in enumerate(conversations):
        starts.append([])
        for turn, text in enumerate(conversation["says"]):
            before = len(tokens)
            starts[-1].append(f"<|{number}.{turn}|>")
            tokens.append((starts[-1][-1], kind.CONTROL))
            for piece in pieces(text, taken):
                follows[before] = before = len(tokens)
                tokens.append((piece.replace(" ", "\u2581"), kind.NORMAL))
            follows[before] = end
    return tokens, follows, starts


def template(conversations, starts):
    """Jinja that ends the prompt with the token that begins what is to be said."""
    table = TEMPLATE
    for number, (conversation, turns) in enumerate(zip(conversations, starts)):
        word = "if" if number == 0 else "elif"
        listed = ", ".join(f"'{turn}'" for turn in turns)
        table += f"{{% {word} {json.dumps(conversation['about'])} in all %}}{{% set turns = [{listed}] %}}"
        table += "{{ turns[[said, turns | length - 1] | min] }}"
    return table + "{% endif %}"


def write(path, conversations):
    tokens, follows, starts = vocabulary(conversations)
    # Attention does nothing, so it need not do it to much.
    width, narrow, inner = -(-len(tokens) // 32) * 32, 32, 32
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("a model that says a script")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(narrow)
    writer.add_value_length(narrow)
    writer.add_rope_dimension_count(narrow)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token for token, _ in tokens])
    # Texts are made of bytes: the pieces of the script are never merged from what they are made of.
    writer.add_token_scores([-1000.0 if kind == gguf.TokenType.NORMAL else 0.0 for _, kind in tokens])
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(template(conversations, starts))

    one_of = numpy.zeros((len(tokens), width), dtype=numpy.float32)
    one_of[range(len(tokens)), range(len(tokens))] = 1
    output = numpy.zeros_like(one_of)
    for token, after in follows.items():
        output[after, token] = 1
    for token in range(len(tokens)):
        if token not in follows:
            output[2, token] = 1
    ones = numpy.ones(width, dtype=numpy.float32)
    nothing = lambda *shape: numpy.zeros(shape, dtype=numpy.float32)
    for name, tensor in {
        "token_embd.weight": one_of,
        "output_norm.weight": ones,
        "output.weight": output,
        "blk.0.attn_norm.weight": ones,
        "blk.0.attn_q.weight": nothing(narrow, width),
        "blk.0.attn_k.weight": nothing(narrow, width),
        "blk.0.attn_v.weight": nothing(narrow, width),
        "blk.0.attn_output.weight": nothing(width, narrow),
        "blk.0.ffn_norm.weight": ones,
        "blk.0.ffn_gate.weight": nothing(inner, width),
        "blk.0.ffn_up.weight": nothing(inner, width),
        "blk.0.ffn_down.weight": nothing(width, inner),
    }.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text()))
