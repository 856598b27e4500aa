"""The documentation's links lead somewhere, and the programs in it are those that are compiled.

A program in a Markdown file stands under the name of its file:

    <!-- file: examples/hello.cc -->
    ```cpp
    ...
    ```

The block is a piece of that file, word for word; the file's first comment and its `// Output:` may be missing.
"""

import difflib
import re

from tree import ROOT, read, report

_BLOCK = re.compile(r"(?:^<!-- file: (\S+) -->\n+)?^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")


def documents():
    for path in sorted(ROOT.rglob("*.md")):
        path = path.relative_to(ROOT)
        if not path.parts[0].startswith(("bazel-", ".")):
            yield path


def anchors(path):
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", _BLOCK.sub("", read(path)), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def bad_links(document):
    for link in _LINK.findall(_BLOCK.sub("", read(document))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / document.parent / name).resolve() if name else ROOT / document
        if not target.exists():
            yield "%s: the link %s leads nowhere" % (document, link)
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.relative_to(ROOT)):
            yield "%s: the link %s names no heading" % (document, link)


def bad_programs(document):
    for name, language, code in _BLOCK.findall(read(document)):
        if not name:
            if language == "cpp" and "int main(" in code:
                yield "%s: a program without a `<!-- file: ... -->` before it:\n%s" % (document, code)
        elif not (ROOT / name).exists():
            yield "%s: there is no %s" % (document, name)
        elif code not in read(name):
            diff = difflib.unified_diff(read(name).splitlines(), code.splitlines(), name, str(document), lineterm="")
            yield "%s: the program is not that of %s\n%s" % (document, name, "\n".join(diff))


def main():
    paths = list(documents())
    failures = [failure for path in paths for check in (bad_links, bad_programs) for failure in check(path)]
    report(failures, "%d documents" % len(paths))


main()
