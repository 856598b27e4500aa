"""Every C++ file is as clang-format leaves it; `./dev format` does it."""

import re
import shutil
import subprocess
import sys

from tree import ROOT, report


def main():
    if not shutil.which("clang-format"):
        print("no clang-format on this machine: nothing checked")
        sys.exit(0)
    files = sorted(str(path.relative_to(ROOT)) for room in ("csp", "tests", "examples", "bench", "bazel")
                   for pattern in ("*.h", "*.cc") for path in (ROOT / room).rglob(pattern))
    run = subprocess.run(["clang-format", "--style=file", "--dry-run", "-Werror", *files], cwd=ROOT,
                         stderr=subprocess.PIPE, text=True)
    unformatted = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", run.stderr, re.M)))
    report(["%s: not as `./dev format` would leave it" % name for name in unformatted], "%d files" % len(files))


main()
