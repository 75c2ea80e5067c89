#!/usr/bin/env python3
"""The C compiler of the published Linux programs: `musl-gcc`, the tables of the grammars are packed, and memory is copied by `memory.c`.

The parse tables of eleven grammars are ten megabytes of mostly zeros, a quarter of the program, and a review needs those of one or two
languages. Once a `parser.c` of tree-sitter is compiled, its tables become memory that is zero at the start and takes no room in the file;
what they held is added to the object, compressed, and the grammar's function unpacks it when it is first called. `memory.c` is added to the
object of the parser that all grammars share, which is linked before musl. Nothing unwinds through C, so it has no tables for that. The build is
told of this with TARGET_CC.
"""

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMPILER = ["musl-gcc", "-fno-asynchronous-unwind-tables"]
# None holds an address: their bytes are the same wherever the program is loaded.
TABLES = ["parse_table", "small_parse_table", "small_parse_table_map", "parse_actions", "lex_modes", "primary_state_ids"]
# The fastest that there is to unpack: a millisecond for the largest grammar.
LZ4_STRONGEST = 12

UNPACK = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static size_t length(size_t short_length, const unsigned char **from) {
  if (short_length == 15) {
    unsigned char more;
    do short_length += more = *(*from)++; while (more == 255);
  }
  return short_length;
}

/* A block of LZ4: literals, then a copy of what came before, and so on; literals end it. */
static void unpack(unsigned char *to, size_t size, const unsigned char *from, const unsigned char *from_end) {
  unsigned char *end = to + size;
  for (;;) {
    unsigned token = *from++;
    size_t literals = length(token >> 4, &from);
    if (literals > (size_t)(end - to) || literals > (size_t)(from_end - from)) abort();
    to = (unsigned char *)memcpy(to, from, literals) + literals;
    from += literals;
    if (from == from_end) break;
    size_t distance = from[0] | (size_t)from[1] << 8;
    from += 2;
    size_t copied = length(token & 15, &from) + 4;
    const unsigned char *pattern = to - distance;
    if (copied > (size_t)(end - to) || distance == 0 || distance > size - (size_t)(end - to)) abort();
    /* It may run into itself; then it repeats, and twice as much is there each time. */
    for (; copied > distance; distance *= 2) {
      to = (unsigned char *)memcpy(to, pattern, distance) + distance;
      copied -= distance;
    }
    to = (unsigned char *)memcpy(to, pattern, copied) + copied;
  }
  if (to != end) abort();
}
"""


def run(*command):
    """What a program prints; it must succeed."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def compress(data):
    """One block of LZ4, without a frame."""
    lz4 = ctypes.CDLL("liblz4.so.1")
    room = ctypes.create_string_buffer(lz4.LZ4_compressBound(len(data)))
    size = lz4.LZ4_compress_HC(data, room, len(data), len(room), LZ4_STRONGEST)
    if size <= 0:
        sys.exit("error: liblz4 compressed nothing")
    return room.raw[:size]


def pack(compiler, target):
    """Packs the tables of the grammar compiled to `target`, in its place. `compiler` has the flags that the grammar was compiled with."""
    symbols = run("nm", "--defined-only", target)
    grammars = re.findall(r" T (tree_sitter_\w+)$", symbols, re.MULTILINE)
    if len(grammars) != 1:
        return
    [grammar] = grammars
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        plain, stub = folder / "plain.o", folder / "stub.o"
        moves, shared, code, calls = [f"--redefine-sym={grammar}={grammar}_packed"], [], [UNPACK], []
        for table in TABLES:
            if f" r ts_{table}\n" not in symbols:
                continue
            section, name, data = f".rodata.ts_{table}", f"{grammar}_{table}", folder / table
            run("objcopy", f"--dump-section={section}={data}", target, plain)
            size = data.stat().st_size
            data.write_bytes(compress(data.read_bytes()))
            # Without contents and not read-only: zeroed memory.
            moves += [f"--rename-section={section}=.bss.{name},alloc", f"--redefine-sym=ts_{table}={name}"]
            shared.append(f"--globalize-symbol={name}")
            code.append(f"extern unsigned char {name}[], packed_{table}[], packed_{table}_end[];")
            block = f'.section .rodata.packed_{table},\\"a\\"\\npacked_{table}: .incbin \\"{data}\\"\\npacked_{table}_end:\\n.previous'
            code.append(f'__asm__("{block}");')
            calls.append(f"  unpack({name}, {size}, packed_{table}, packed_{table}_end);")
        code += ["static void unpack_all(void) {", *calls, "}", f"extern const void *{grammar}_packed(void);"]
        code += [f"const void *{grammar}(void) {{", "  static pthread_once_t once = PTHREAD_ONCE_INIT;"]
        code += ["  pthread_once(&once, unpack_all);", f"  return {grammar}_packed();", "}"]
        source = folder / "stub.c"
        source.write_text("\n".join(code) + "\n")
        run(*compiler, "-O2", "-c", source, "-o", stub)
        # Symbols are renamed before they are made global: objcopy looks for the names as they are.
        run("objcopy", *moves, target, plain)
        run("objcopy", *shared, plain)
        run("ld", "-r", "-o", target, plain, stub)


def add_memory(target):
    """Adds `memory.c` to the compiled `target`."""
    with tempfile.TemporaryDirectory() as folder:
        plain, memory = f"{folder}/plain.o", f"{folder}/memory.o"
        source = pathlib.Path(__file__).with_name("memory.c")
        # What it is made of must not become calls of itself.
        run(*COMPILER, "-O2", "-fPIC", "-fno-builtin", "-fno-tree-loop-distribute-patterns", "-c", str(source), "-o", memory)
        run("objcopy", target, plain)
        run("ld", "-r", "-o", target, plain, memory)


def main(arguments):
    grammars = [argument for argument in arguments if argument.endswith("parser.c")]
    is_parser = any(re.search(r"/tree-sitter-[0-9.]+/src/lib\.c$", argument) for argument in arguments)
    if "-c" not in arguments or len(grammars) + is_parser != 1 or "-o" not in arguments:
        os.execvp(COMPILER[0], [*COMPILER, *arguments])
    status = subprocess.call([*COMPILER, *arguments])
    at = arguments.index("-o")
    target = arguments[at + 1]
    if status == 0 and is_parser:
        add_memory(target)
    elif status == 0:
        rest = arguments[:at] + arguments[at + 2 :]
        pack([*COMPILER, *(argument for argument in rest if argument not in (grammars[0], "-c"))], target)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
