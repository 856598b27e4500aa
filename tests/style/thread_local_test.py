"""Code in csp/ touches thread-local storage in one place: see csp/base/thread_context.h for why."""

import re

from tree import blank_comments, read, report, sources

HOME = "csp/base/thread_context.cc"


def main():
    uses = []
    for path in sources():
        for number, line in enumerate(blank_comments(read(path)).splitlines(), 1):
            uses += ["%s:%d" % (path, number)] * len(re.findall(r"\b(?:thread_local|__thread)\b", line))
    failures = ["%s: thread_local outside %s" % (use, HOME) for use in uses if not use.startswith(HOME)]
    if len(uses) - len(failures) > 1:
        failures.append("%s: more than one thread_local" % HOME)
    report(failures, "%d uses" % len(uses))


main()
