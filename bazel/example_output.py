"""Runs an example and compares what it prints with the comment at the end of its source.

Usage: example_output.py SOURCE PROGRAM [ARGUMENT...]
"""

import difflib
import os
import re
import subprocess
import sys


def expected_output(source):
    """Returns (lines, ordered) from the last comment block of the source."""
    with open(source) as f:
        text = f.read()
    match = re.search(r"^// (Output|Unordered output):\n((?://.*\n)*)\Z", text, re.M)
    if not match:
        sys.exit("%s does not end in a comment `// Output:` or `// Unordered output:`" % source)
    lines = [re.sub("^// ?", "", line) for line in match[2].splitlines()]
    return lines, match[1] == "Output"


def trim(lines):
    """Without white space at the ends of lines, and without empty lines around."""
    return "\n".join(line.rstrip() for line in lines).strip("\n").split("\n")


def main():
    source, program = sys.argv[1:3]
    want, ordered = expected_output(source)
    run = subprocess.run([os.path.abspath(program)] + sys.argv[3:], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, text=True)
    want, got = trim(want), trim(run.stdout.splitlines())
    if not ordered:
        want, got = sorted(want), sorted(got)
    if want != got:
        print("\n".join(difflib.unified_diff(want, got, source, "what it printed", lineterm="")))
    if run.returncode:
        print("%s: exit code %d" % (program, run.returncode))
    sys.exit(want != got or run.returncode != 0)


main()
