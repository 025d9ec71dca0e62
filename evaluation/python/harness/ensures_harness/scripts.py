"""Whole programs over standard input and output: as functions from the lines that they read to those that they print.

A program runs in this process, in a namespace of its own, on descriptors 0 and 1 of its own: `input`, `sys.stdin.buffer`,
`open(0)` and `os.read` all find the same text. Ending by `sys.exit()` is an end; by another status it is a failure.
"""

import os
import sys

PARAMETERS = {"names": ["lines"], "defaults": 0, "more": False, "result": "return_values"}


def function(program):
    code = compile(program, "<program>", "exec", dont_inherit=True)
    nowhere = os.open(os.devnull, os.O_RDWR)

    def run(lines):
        given, printed = os.memfd_create("given"), os.memfd_create("printed")
        try:
            with open(given, "wb", closefd=False) as file:
                file.write("".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass"))
            os.lseek(given, 0, os.SEEK_SET)
            os.dup2(given, 0)
            os.dup2(printed, 1)
            sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)
            sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)
            try:
                exec(code, {"__name__": "__main__", "__builtins__": __builtins__})
            except SystemExit as ended:
                if ended.code not in (None, 0):
                    raise
            if not sys.stdout.closed:
                sys.stdout.flush()
            return printed_lines(printed)
        finally:
            for number in (0, 1):  # a program may have closed them: their numbers must not go to the next one's files
                os.dup2(nowhere, number)
            os.close(given)
            os.close(printed)

    return run


def printed_lines(descriptor):
    """Without the white space at the ends of lines, and without the empty lines at the end."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    text = os.pread(descriptor, size, 0).decode("utf-8", "replace")
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines
