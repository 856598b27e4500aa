"""compare.py with a made-up program for csp: what it prints, writes and returns."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMPARE = Path(__file__).resolve().parent / "compare.py"

# Each job stands for one way a program behaves; P is $3.
PROGRAM = """#!/bin/sh
ok() { echo "{\\"peer\\":\\"csp\\",\\"job\\":\\"$1\\",\\"n\\":$2,\\"procs\\":$3,\\"rss_mb\\":1,$4}"; }
case $1 in
  pingpong) ok $1 $2 $3 '"ns_per_op":100,"total_ms":2' ;;
  wakelatency) ok $1 $2 $3 '"ns_per_op":2e6,"total_ms":100,"p50_us":101,"p99_us":2000,"max_us":3000' ;;
  parked) ok $1 $2 $3 '"ns_per_op":100,"total_ms":2' ;;
  mutex) echo '{"na":"cannot lock"}'; exit 3 ;;
  ring) echo 'bench: a wrong sum' >&2; exit 1 ;;
  sieve) kill -SEGV $$ ;;
  yield) echo '[1]' ;;
  spawn) exec sleep 60 ;;
esac
"""
MARKED = "before\n<!-- compare.py: begin -->\nthe last table\n<!-- compare.py: end -->\nafter\n"


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.program = self.file("program", PROGRAM)
        os.chmod(self.program, 0o755)

    def file(self, name, text):
        path = Path(self.directory.name, name)
        path.write_text(text, encoding="utf-8")
        return path

    def compare(self, *args):
        return subprocess.run(
            [sys.executable, COMPARE, "--peers", "csp", "--csp-binary", self.program, "--quick", "--runs", "2", *args],
            check=False, text=True, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def rows(self, *args):
        """The table's rows as {(first cell, P): (cell of csp, target)}, and the exit status."""
        done = self.compare(*args)
        cells = [[cell.strip() for cell in line.strip("|").split("|")]
                 for line in done.stdout.splitlines() if line.startswith("| ")]
        return {(row[0], row[1]): (row[4], row[6]) for row in cells[1:]}, done.returncode

    def test_figures_are_medians_with_a_range_on_each_number_of_workers(self):
        rows, status = self.rows("--jobs", "pingpong", "--procs", "1,2")
        self.assertEqual(status, 0)
        self.assertEqual(rows, {("pingpong, ns", "1"): ("100 (100–100)", "ratio ≥ 1.0 (no figure)"),
                                ("pingpong, ns", "2"): ("100 (100–100)", "ratio ≥ 4.0 (no figure)")})

    def test_a_missed_target_is_marked_and_fails_nothing(self):
        rows, status = self.rows("--jobs", "wakelatency")
        self.assertEqual(status, 0)
        self.assertEqual(rows, {("wakelatency, p50, µs", "2"): ("101 (101–101)", "≤ 100 **MISSED**"),
                                ("wakelatency, p99, µs", "2"): ("2,000 (2,000–2,000)", "≤ 2,000")})

    def test_a_job_that_csp_cannot_do_is_no_failure(self):
        rows, status = self.rows("--jobs", "mutex", "--procs", "2")
        self.assertEqual((rows["mutex, ns", "2"][0], status), ("cannot lock", 0))

    def test_failures_stand_in_the_table_and_do_not_end_the_comparison(self):
        rows, status = self.rows("--jobs", "ring,sieve,yield,parked,pingpong", "--procs", "2")
        self.assertEqual(status, 1)
        self.assertEqual(rows["ring, ns", "2"][0], "*status 1: bench: a wrong sum*")
        self.assertEqual(rows["sieve, ms", "2"][0], "*died of signal 11*")
        self.assertEqual(rows["yield, ns", "2"][0], "*printed no proper line of JSON*")
        self.assertEqual(rows["parked, ns", "2"][0], "*printed no proper line of JSON*")  # bytes_per_task is missing
        self.assertEqual(rows["pingpong, ns", "2"][0], "100 (100–100)")

    def test_what_takes_too_long_is_ended(self):
        rows, status = self.rows("--jobs", "spawn", "--procs", "2", "--timeout", "1")
        self.assertEqual((rows["spawn, ns", "2"][0], status), ("*timed out after 1 s*", 1))

    def test_write_replaces_the_last_table_and_nothing_else(self):
        page = self.file("page.md", MARKED)
        done = self.compare("--jobs", "pingpong", "--write", page)
        self.assertEqual(done.returncode, 0)
        text = page.read_text(encoding="utf-8")
        self.assertEqual(text, MARKED.replace("the last table\n", done.stdout))

    def test_misuse_is_said_before_anything_runs(self):
        for args in (["--runs", "0"], ["--jobs", "nosuchjob"], ["--procs", "1,x"], ["--peers", "java"],
                     ["--timeout", "-1"], ["--csp-binary", "/nonexistent"], ["--nosuchflag"], ["--run", "1"],
                     ["--jobs", "wakelatency", "--procs", "1"], ["--write", "/nonexistent"],
                     ["--write", self.file("unmarked.md", "no markers\n")]):
            with self.subTest(args=args):
                done = self.compare(*args)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("compare.py: error: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
