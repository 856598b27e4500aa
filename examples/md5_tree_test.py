"""Runs md5_tree over trees with odd names and holds it against GNU md5sum.

Usage: md5_tree_test.py PROGRAM
"""

import os
import socket
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))

# As bytes: what a name may be is anything but '/' and '\0'.
NAMES = [
    b"plain", b"with space", b" leading", b"trailing ", b"back\\slash", b"new\nline", b"carriage\rreturn",
    b"\\", b"\n", b"\\n", b"mixed \\ and \n and \r", b"caf\xc3\xa9", b"not utf-8 \xff\xfe", b"-dash", b"*star",
    b"quote\"'`$(x)", b"tab\t", b"\x01control\x7f", b"sub/dir/deep", b"sub dir/\\/\n/file", b".hidden", b"n" * 255,
]


def run(*arguments, cwd=None):
    return subprocess.run([PROGRAM, *arguments], cwd=cwd, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


def make(root, name, content):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content)


class Md5TreeTest(unittest.TestCase):

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.above = os.fsencode(os.path.realpath(temporary.name))
        self.root = os.path.join(self.above, b"tree")
        os.mkdir(self.root)

    def expected(self, directory=b"tree"):
        """What md5sum itself says, sorted by the names that find prints."""
        names = subprocess.run(["find", directory, "-type", "f", "-print0"], cwd=self.above, check=True,
                               stdout=subprocess.PIPE).stdout.split(b"\0")[:-1]
        if not names:
            return b""
        return subprocess.run(["md5sum", "--", *sorted(names)], cwd=self.above, check=True,
                              stdout=subprocess.PIPE).stdout

    def test_odd_names(self):
        for i, name in enumerate(NAMES):
            make(self.root, name, b"content %d\n" % i)
        make(self.root, b"empty", b"")
        make(self.root, b"big", bytes(range(256)) * 20000)
        os.symlink("plain", os.path.join(self.root, b"link to a file"))
        os.symlink("..", os.path.join(self.root, b"link into a loop"))
        os.symlink("nowhere", os.path.join(self.root, b"dangling"))
        os.mkfifo(os.path.join(self.root, b"fifo"))
        unix = socket.socket(socket.AF_UNIX)
        self.addCleanup(unix.close)
        unix.bind(os.path.join(self.root, b"socket"))

        for directory in [b"tree", b"tree/", b"./tree", b"tree/sub dir", self.root]:
            result = run(directory, cwd=self.above)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, self.expected(directory))
        check = subprocess.run(["md5sum", "-c", "--strict", "--quiet"], cwd=self.above,
                               input=run(b"tree", cwd=self.above).stdout,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((check.returncode, check.stdout), (0, b""))
        self.assertEqual(run(b".", cwd=self.root).stdout, run(b"./", cwd=self.root).stdout)

    def test_many_files_and_few_or_many_jobs(self):
        for i in range(500):
            make(self.root, b"%d/%d/%d" % (i % 3, i % 7, i), b"x" * i)
        expected = self.expected()
        for flags in [["--jobs=1"], ["--jobs", "7"], ["--workers=1"], ["--workers", "3", "--jobs=50"],
                      ["--jobs=1", "--workers=1"]]:
            for arguments in [[b"tree", *flags], [*flags, b"tree"]]:
                result = run(*arguments, cwd=self.above)
                self.assertEqual((result.returncode, result.stdout), (0, expected), flags)
        self.assertIn(b"500 files", result.stderr)
        self.assertIn(b" on 1 worker\n", result.stderr)
        self.assertNotIn(b"not read", result.stderr)
        self.assertEqual(result.stderr.count(b"\n"), 1)  # no progress where nobody looks

    def test_empty_directory(self):
        result = run(b"tree", cwd=self.above)
        self.assertEqual((result.returncode, result.stdout), (0, b""))

    def test_what_cannot_be_read(self):
        """Even root cannot open what has too long a name: 4,096 bytes with all that stands before it."""
        make(self.root, b"good", b"1")
        make(self.root, b"zgood", b"2")
        here = os.getcwd()
        os.chdir(self.root)
        try:
            while len(os.getcwdb()) + 201 < 4096:
                os.mkdir(b"d" * 200)
                os.chdir(b"d" * 200)
            with open(b"f" * 200, "wb"):  # the directory's name is short enough, the file's is not
                pass
            os.mkdir(b"e" * 200)
        finally:
            os.chdir(here)
        result = run(self.root)
        self.assertEqual(result.returncode, 1)
        self.assertEqual([line.split(b"  ")[1] for line in result.stdout.splitlines()],
                         [self.root + b"/good", self.root + b"/zgood"])
        *errors, summary = result.stderr.splitlines()
        self.assertIn(b"md5_tree: 2 files, 2 not read, 0.0 MB", summary)
        self.assertEqual(len(errors), 2)
        for error, name in zip(sorted(errors), [b"e" * 200, b"f" * 200]):
            self.assertTrue(error.startswith(b"md5_tree: " + self.root), error)
            self.assertTrue(error.endswith(name + b": File name too long"), error)
        subprocess.run(["rm", "-rf", self.root], check=True)  # shutil takes too long names amiss

    def test_no_such_directory(self):
        for name in [b"nowhere", b"tree/file", b""]:
            make(self.root, b"file", b"")
            result = run(name, cwd=self.above)
            self.assertEqual((result.returncode, result.stdout), (1, b""))
            self.assertTrue(result.stderr.startswith(b"md5_tree: " + name + b": "), result.stderr)

    def test_bad_flags(self):
        for flags in [[], ["--jobs"], ["--jobs=0", "."], ["--jobs=-1", "."], ["--jobs=", "."], ["--jobs=2x", "."],
                      ["--jobs=99999999999", "."], ["--workers", "none", "."], ["--workers=1025", "."],
                      ["--what", "."], ["-j", "2", "."], [".", "."], ["."] * 3]:
            result = run(*flags)
            self.assertEqual((result.returncode, result.stdout), (2, b""), flags)
            self.assertIn(b"--help", result.stderr)

    def test_help(self):
        for flags in [["--help"], ["-h"], [".", "--help"]]:
            result = run(*flags)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertIn(b"Usage: md5_tree DIR", result.stdout)

    def test_output_that_cannot_be_written(self):
        make(self.root, b"file", b"")
        with open("/dev/full", "wb") as full:
            result = subprocess.run([PROGRAM, self.root], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"No space left", result.stderr)


unittest.main()
