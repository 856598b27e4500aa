#!/usr/bin/env python3
"""Writes compile_commands.json for clangd and clang-tidy from what Bazel would run.

Usage: bazel/compile_commands.py [Bazel options and targets; default //...]
"""

import json
import os
import subprocess
import sys

UNKNOWN_TO_CLANG = ("-fno-canonical-system-headers", "-D__DATE__", "-D__TIME__", "-D__TIMESTAMP__")


def bazel(*args):
    return subprocess.run(("bazel",) + args, check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    if "--help" in sys.argv[1:] or "-h" in sys.argv[1:]:
        print(__doc__.strip())
        return
    options = [a for a in sys.argv[1:] if a.startswith("-")]
    targets = [a for a in sys.argv[1:] if not a.startswith("-")] or ["//..."]
    root = bazel("info", "workspace").strip()
    execroot = bazel("info", "execution_root").strip()
    query = "mnemonic(CppCompile, %s)" % " + ".join(targets)
    graph = json.loads(bazel("aquery", "--output=jsonproto", "--include_artifacts=false", *options, query))
    # Our own sources are named as in the tree, all else as in the execution root and as system headers.
    def absolute(arg):
        return os.path.join(execroot, arg) if arg.startswith(("external/", "bazel-out/")) else arg

    entries = []
    for action in graph.get("actions", []):
        args = [absolute(arg) for arg in action["arguments"] if not arg.startswith(UNKNOWN_TO_CLANG)]
        for i, arg in enumerate(args[1:], 1):
            if args[i - 1] == "-iquote" and arg.startswith(execroot):
                args[i - 1] = "-isystem"
        entries.append({"directory": root, "arguments": args, "file": args[args.index("-c") + 1]})
    with open(os.path.join(root, "compile_commands.json"), "w") as out:
        json.dump(entries, out, indent=1)
    print("%d commands in %s/compile_commands.json" % (len(entries), root), file=sys.stderr)


main()
