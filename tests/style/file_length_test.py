"""No file of csp/ is longer than 500 lines: a new concept is a new file."""

from tree import read, report, sources

LIMIT = 500


def main():
    lengths = {path: read(path).count("\n") for path in sources()}
    failures = ["%s: %d lines; the limit is %d" % (path, length, LIMIT)
                for path, length in lengths.items() if length > LIMIT]
    report(failures, "%d files" % len(lengths))


main()
