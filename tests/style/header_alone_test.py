"""Every header compiles by itself, without a warning, under each compiler on the machine."""

import sys
from pathlib import Path

sys.path.insert(0, "tests/style")
from compilers import COMPILERS, compile_text, for_each

_WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]


def check(compiler, header):
    compiles, said = compile_text(compiler, '#include "%s"\n' % header, _WARNINGS)
    return "" if compiles else "%s: %s\n%s" % (compiler, header, said)


def main():
    headers = sorted(Path("csp").rglob("*.h"))  # below the test's directory: what its deps export
    failures = [failure for failure in for_each(check, [(c, h) for c in COMPILERS for h in headers]) if failure]
    print("\n".join(failures))
    print("%d headers, %s: %d failures" % (len(headers), " and ".join(COMPILERS), len(failures)))
    sys.exit(bool(failures) or not headers)


main()
