"""Holds every #include in csp/ against the tables in docs/layering.md."""

import ast
import re
from pathlib import Path

from tree import ROOT, read, report, sources


def table(heading):
    """The cells of the table that follows a heading of docs/layering.md."""
    rows = read("docs/layering.md").split("\n## %s\n" % heading)[1].split("\n## ")[0]
    cells = [[cell.strip() for cell in row.strip("|").split("|")]
             for row in rows.splitlines() if row.startswith("|")]
    return cells[2:]


def build_targets(package):
    """Which target of a BUILD.bazel has which file: {path: target}. BUILD files are Python's syntax."""
    targets = {}
    for node in ast.walk(ast.parse(read(package / "BUILD.bazel"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "cc_library":
            values = {keyword.arg: keyword.value for keyword in node.keywords}
            for attribute in ("srcs", "hdrs", "textual_hdrs"):
                for file in ast.literal_eval(values.get(attribute, ast.List([], ast.Load()))):
                    targets[package / file] = ast.literal_eval(values["name"])
    return targets


def package_of(path):
    return next(d for d in path.parents if (ROOT / d / "BUILD.bazel").exists())


def room_of(path, targets):
    if len(path.parts) == 2:
        return path.name  # csp/csp.h
    room = path.parts[1]
    return "select:wait" if room == "select" and targets.get(path) == "wait" else room


def main():
    failures = []
    rooms = {}
    free = set()
    for room, _, _, allowed in table("Rooms"):
        if allowed == "anything":
            free.add(room)
        rooms[room] = set(rooms) if allowed == "anything" else set(re.findall(r"[\w:.]+", allowed))
        for above in rooms[room] - set(rooms):
            failures.append("docs/layering.md: %s may include %s, which does not stand above it" % (room, above))

    files = sources()
    targets = {}
    for package in {package_of(path) for path in files}:
        targets.update(build_targets(package))
    only_in = table("Headers of other projects")

    for path in files:
        room = room_of(path, targets)
        if path not in targets:
            failures.append("%s: no cc_library names it" % path)
        if room not in rooms:
            failures.append("%s: the room '%s' is not in docs/layering.md" % (path, room))
            continue
        for number, line in enumerate(read(path).splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*["<]([^">]+)', line)
            if not include:
                continue
            header = Path(include[1])
            if header.parts[0] == "csp":
                other = room_of(header, targets)
                if other != room and other not in rooms[room]:
                    failures.append("%s:%d: %s may not include %s" % (path, number, room, other))
            for prefix, folder, _ in only_in:
                if include[1].startswith(prefix) and room not in free and not str(path).startswith(folder + "/"):
                    failures.append("%s:%d: only %s may include %s" % (path, number, folder, prefix))
    report(failures, "%d files, %d rooms" % (len(files), len(rooms)))


main()
