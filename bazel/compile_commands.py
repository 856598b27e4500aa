#!/usr/bin/env python3
"""Writes compile_commands.json for clangd and clang-tidy from what Bazel would run.

Usage: bazel/compile_commands.py [Bazel options and targets; default //...]
"""

import json
import os
import subprocess
import sys


def bazel(*args):
    return subprocess.run(("bazel",) + args, check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    options = [a for a in sys.argv[1:] if a.startswith("-")]
    targets = [a for a in sys.argv[1:] if not a.startswith("-")] or ["//..."]
    root = bazel("info", "workspace").strip()
    execroot = bazel("info", "execution_root").strip()
    query = "mnemonic(CppCompile, %s)" % " + ".join(targets)
    graph = json.loads(bazel("aquery", "--output=jsonproto", "--include_artifacts=false", *options, query))
    entries = []
    for action in graph.get("actions", []):
        args = [a for a in action["arguments"] if a != "-fno-canonical-system-headers"]  # clang does not know it
        source = args[args.index("-c") + 1]
        # Sources come from the tree; other repositories and outputs from the execution root.
        outside = source.startswith(("external/", "bazel-out/"))
        entries.append({
            "directory": execroot,
            "arguments": args,
            "file": os.path.join(execroot if outside else root, source),
        })
    with open(os.path.join(root, "compile_commands.json"), "w") as out:
        json.dump(entries, out, indent=1)
    print("%d commands in %s/compile_commands.json" % (len(entries), root), file=sys.stderr)


main()
