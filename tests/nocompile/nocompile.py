"""Runs one nocompile_test; the form of its source is described in bazel/nocompile.bzl."""

import os
import re
import sys

sys.path.insert(0, "tests/style")
from compilers import COMPILERS, compile_text, for_each

_CASE = re.compile(r"^#ifdef (\w+) *// expect: (.+)$", re.M)


def check(compiler, source, text, case, expected):
    """Returns what is wrong, or nothing."""
    # Without the comment, which the compiler would quote with the line it complains about.
    text = '#line 1 "%s"\n%s' % (source, re.sub(r" *// expect:.*", "", text))
    compiles, said = compile_text(compiler, text, ["-D" + case] if case else [])
    name = "%s, %s" % (compiler, case or "without a case")
    if case is None:
        return "" if compiles else "%s: must compile, but:\n%s" % (name, said)
    if compiles:
        return "%s: must not compile, but does" % name
    if not any(text in said for text in expected.split(" | ")):
        return "%s: the compiler must say `%s`, but says:\n%s" % (name, expected, said)
    return ""


def main():
    source = sys.argv[1]
    with open(source) as f:
        text = f.read()
    cases = _CASE.findall(text)
    if not cases or len(cases) != len(re.findall("^#if", text, re.M)):
        sys.exit("%s: each section must begin with `#ifdef CASE  // expect: text`" % source)
    jobs = [(compiler, source, text, case, expected)
            for compiler in COMPILERS for case, expected in [(None, None)] + cases]
    failures = [failure for failure in for_each(check, jobs) if failure]
    print("\n".join(failures))
    print("%d cases, %s: %d failures" % (len(cases), " and ".join(COMPILERS), len(failures)))
    sys.exit(bool(failures))


main()
