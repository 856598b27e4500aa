"""Builds and runs the program in workspace/ with a Bazel of its own, as a project that uses csp would.

Usage: consumer_test.py FILE_OF_ABSEIL
"""

import os
import pwd
import re
import subprocess
import sys
from pathlib import Path

WORKSPACE = Path(__file__).resolve().parent / "workspace"
CACHE = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache/csp/consumer"

# What csp must not cost the projects that use it.
UNWANTED = r"^(@openssl|@com_google_googletest|@csp//(tests|examples|bench|csp/testing))\b.*"


def bazel(command, *args):
    # --batch: no server stays behind. The disk cache serves every checkout on the machine.
    options = [] if command == "query" else ["--disk_cache=%s" % (CACHE / "disk")]
    run = subprocess.run(
        ["bazel", "--batch", "--output_user_root=%s" % (CACHE / "bazel"), command, "--noshow_progress",
         *options, *args],
        cwd=WORKSPACE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        # HOME: a test has none. CSP_ABSEIL: Abseil as the build around this test found it.
        env={**os.environ, "HOME": str(CACHE), "CSP_ABSEIL": str(Path(sys.argv[1]).resolve().parent)})
    if run.returncode:
        sys.exit("bazel %s failed" % command)
    return run.stdout


def main():
    CACHE.mkdir(parents=True, exist_ok=True)
    unwanted = [match[0] for match in re.finditer(UNWANTED, bazel("query", "deps(//:app)"), re.M)]
    if unwanted:
        sys.exit("a project that uses csp would have to build\n" + "\n".join(unwanted))
    said = bazel("run", "--experimental_convenience_symlinks=ignore", "//:app")
    if said != "hello from csp\n":
        sys.exit("the program printed: " + said)


main()
