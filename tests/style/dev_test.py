"""What ./dev says, refuses, and asks of Bazel: its verbs, with everything that they call replaced by an echo."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tree import ROOT

_ECHO = '#!/bin/sh\necho "$(basename "$0")" "$@"\n'
_STRESS = "bazel test %s--test_tag_filters=soak%s --build_tests_only --test_output=streamed %s\n"


class DevTest(unittest.TestCase):

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        shutil.copy(ROOT / "dev", self.root)
        for name, text in ("bin/bazel", _ECHO), ("bazel/setup.sh", "#!/bin/sh\n"):
            program = self.root / name
            program.parent.mkdir()
            program.write_text(text)
            program.chmod(0o755)

    def dev(self, *arguments):
        """The exit status, stdout and stderr of ./dev."""
        environment = dict(os.environ, HOME=str(self.root), PATH="%s/bin:%s" % (self.root, os.environ["PATH"]))
        done = subprocess.run([self.root / "dev", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, env=environment, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def expect_refused(self, arguments, why):
        status, out, err = self.dev(*arguments)
        self.assertEqual((status, out), (2, ""), err)
        self.assertIn(why, err)
        self.assertIn("see ./dev help", err)

    def test_help(self):
        status, text, err = self.dev("help")
        self.assertEqual((status, err), (0, ""))
        verbs = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2] != " "]
        self.assertIn("stress", verbs)
        for arguments in [], ["--help"], ["-h"], *([verb, "--help"] for verb in verbs if verb != "bench"):
            self.assertEqual(self.dev(*arguments), (0, text, ""), arguments)
        main = (ROOT / "dev").read_text().split("\nmain() {")[1]
        for verb in verbs:
            self.assertRegex(main, r"\n    (.* \| )?%s( \| .*)?\) " % verb)

    def test_refuses(self):
        for arguments, why in [
            (["dance"], "unknown verb 'dance'"),
            (["help", "me"], "help takes no arguments, but there is 'me'"),
            (["setup", "all"], "setup takes no arguments"),
            (["format", "--fast"], "format knows no argument '--fast'"),
            (["tidy", "--fast"], "tidy knows no flag '--fast'"),
            (["demo", "--fast"], "demo knows no flag '--fast'"),
            (["demo", "--jobs"], "--jobs takes a number from 1 to 1024, not ''"),
            (["stress", "--fast"], "stress knows no argument '--fast'"),
            (["stress", "tests"], "stress knows no argument 'tests'"),
            (["stress", "--under"], "--under takes asan, tsan or ubsan, not ''"),
            (["stress", "--under=msan"], "--under takes asan, tsan or ubsan, not 'msan'"),
            (["stress", "--runs"], "--runs takes a number from 1 to 1024, not ''"),
            (["stress", "--runs", "0"], "--runs takes a number from 1 to 1024, not '0'"),
            (["stress", "--runs=many"], "--runs takes a number from 1 to 1024, not 'many'"),
        ]:
            self.expect_refused(arguments, why)

    def test_tests(self):
        self.assertEqual(self.dev("test"), (0, "bazel test //...\n", ""))
        self.assertEqual(self.dev("test", "//tests/sync:all"), (0, "bazel test //tests/sync:all\n", ""))
        for config in "asan", "tsan", "ubsan", "clang":
            self.assertEqual(self.dev(config, "-k"), (0, "bazel test --config=%s -k //...\n" % config, ""))

    def test_stress(self):
        self.assertEqual(self.dev("stress"), (0, _STRESS % ("", "", "//tests/..."), ""))
        self.assertEqual(self.dev("stress", "//tests/sync/...", "//tests/chan/..."),
                         (0, _STRESS % ("", "", "//tests/sync/... //tests/chan/..."), ""))
        under_tsan = _STRESS % ("--config=tsan --runs_per_test=20 ", ",-no-sanitizer,-no-tsan", "//tests/...")
        self.assertEqual(self.dev("stress", "--under", "tsan", "--runs", "20"), (0, under_tsan, ""))
        self.assertEqual(self.dev("stress", "--under=tsan", "--runs=20"), (0, under_tsan, ""))


unittest.main()
