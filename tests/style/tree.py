"""What the style tests share: the tree as it is on disk, so that a new file is covered at once."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def sources(*patterns):
    """The files of csp/, as paths relative to the root; by default every .h and .cc."""
    return sorted(path.relative_to(ROOT) for pattern in patterns or ("*.h", "*.cc")
                  for path in (ROOT / "csp").rglob(pattern))


def read(path):
    return (ROOT / path).read_text()


def blank_comments(text):
    """The C++ text with comments and literals blanked; the lines keep their numbers."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return token.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def report(failures, checked):
    """Ends the test; a test that has found nothing to check has failed."""
    for failure in failures:
        print(failure)
    print("%d failures; %s" % (len(failures), checked))
    sys.exit(bool(failures) or checked.startswith("0 "))
