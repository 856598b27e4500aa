#!/usr/bin/env python3
"""Compares csp with Go and Boost.Fiber.

Builds the three programs of the suite, runs them alternately, run by run, and
prints one table in Markdown. README.md says what each job measures.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE_BEGIN = "<!-- compare.py: begin -->"
TABLE_END = "<!-- compare.py: end -->"

# In the order of a round of runs, and of the table's columns.
PEERS = {"go": "Go", "boost_fiber": "Boost.Fiber", "csp": "csp"}


@dataclasses.dataclass(frozen=True)
class Job:
    """One job: its default size, as in the programs, and that of --quick."""

    n: int
    quick: int
    procs: tuple = ()  # The only worker counts that make sense; () is any.
    boost_fiber: int = 0  # A smaller size for Boost.Fiber; 0 is none.


# Boost.Fiber maps each stack by itself, and the system's limit on mappings
# (vm.max_map_count) ends it at about 32,000 fibers.
JOBS = {
    "spawn": Job(1_000_000, 20_000, boost_fiber=10_000),
    "spawnjoin": Job(1_000_000, 20_000),
    "spawnblock": Job(100_000, 5_000, boost_fiber=10_000),
    "yield": Job(4_000_000, 100_000),
    "pingpong": Job(1_000_000, 20_000),
    "buffered": Job(10_000_000, 200_000),
    "mpmc": Job(4_000_000, 100_000),
    "unbuf_mpmc": Job(2_000_000, 50_000),
    "select4": Job(2_000_000, 50_000),
    "selectbuf": Job(4_000_000, 100_000),
    "seltimeout": Job(1_000_000, 20_000),
    "ring": Job(3_000_000, 50_000),
    "sieve": Job(1500, 200),
    "skynet": Job(1_000_000, 10_000, boost_fiber=10_000),
    "mutex": Job(8_000_000, 100_000),
    "scope": Job(1_000_000, 20_000),
    "canceltree": Job(200_000, 5_000),
    "cancelscope": Job(200_000, 5_000),
    "parked": Job(1_000_000, 10_000, boost_fiber=10_000),
    "sleepers": Job(200_000, 5_000, boost_fiber=10_000),
    "wakelatency": Job(1000, 50, procs=(2,)),
    "cpu": Job(10_000_000, 200_000),
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One figure of a job, a row of the table; less is better in all."""

    job: str
    figure: str
    field: str  # Of the line of JSON.
    ratio: float = 0  # Target at 2 workers: Go's figure over csp's, at least.
    at_most: float = 0  # Target: csp's own figure, at any worker count.

    def least_ratio(self, procs):
        """The least ratio that is wanted on that many workers; 0 is none."""
        if not self.ratio:
            return 0
        # On one worker there is nothing to gain from stealing: be no slower.
        return {1: 1.0, 2: self.ratio}.get(procs, 0)


ROWS = [
    Row("spawn", "ns", "ns_per_op", ratio=2.0),
    Row("spawnjoin", "ns", "ns_per_op", ratio=7.0),
    Row("spawnblock", "ns", "ns_per_op"),
    Row("yield", "ns", "ns_per_op", ratio=4.0),
    Row("pingpong", "ns", "ns_per_op", ratio=4.0),
    Row("buffered", "ns", "ns_per_op", ratio=4.0),
    Row("mpmc", "ns", "ns_per_op", ratio=3.0),
    Row("unbuf_mpmc", "ns", "ns_per_op", ratio=4.0),
    Row("select4", "ns", "ns_per_op", ratio=6.0),
    Row("selectbuf", "ns", "ns_per_op", ratio=4.0),
    Row("seltimeout", "ns", "ns_per_op", ratio=8.0),
    Row("ring", "ns", "ns_per_op", ratio=4.0),
    Row("sieve", "ms", "total_ms", ratio=3.0),
    Row("skynet", "ms", "total_ms", ratio=8.0),
    Row("mutex", "ns", "ns_per_op", ratio=1.5),
    Row("scope", "ns", "ns_per_op"),
    Row("canceltree", "ns", "ns_per_op"),
    Row("cancelscope", "ns", "ns_per_op"),
    Row("parked", "ns", "ns_per_op"),
    Row("parked", "bytes a task", "bytes_per_task", at_most=4812),
    Row("sleepers", "p50 late, µs", "p50_us"),
    Row("sleepers", "p99 late, µs", "p99_us", ratio=10.0),
    Row("wakelatency", "p50, µs", "p50_us", at_most=100),
    Row("wakelatency", "p99, µs", "p99_us", at_most=2000),
    Row("cpu", "ms", "total_ms", ratio=1.1),
]


class BuildError(Exception):
    """A program could not be built; the text says what to do."""


def progress(text):
    print(text, file=sys.stderr, flush=True)


# --- building ----------------------------------------------------------------


def command(*argv, cwd=ROOT, env=None, hint=""):
    """Runs a command of the build and returns what it printed on stdout."""
    try:
        done = subprocess.run(argv, cwd=cwd, env=env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise BuildError(f"{argv[0]} is not installed. {hint}") from None
    if done.returncode:
        raise BuildError(f"{' '.join(argv)} failed. {hint}\n{done.stderr.strip()}")
    return done.stdout


def build_go(out):
    # Whatever the user's settings, the build is the same and asks no network.
    env = dict(os.environ, CGO_ENABLED="0", GOFLAGS="", GOPROXY="off", GOWORK="off")
    command("go", "build", "-o", str(out), ".", cwd=ROOT / "bench/go", env=env,
            hint="Debian's package is golang-go.")


def build_boost_fiber(out):
    sources = sorted((ROOT / "bench").glob("harness/*.cc")) + sorted((ROOT / "bench").glob("boost_fiber/*.cc"))
    command("g++", "-std=c++20", "-O2", "-I", str(ROOT), *map(str, sources), "-o", str(out),
            "-lboost_fiber", "-lboost_context", "-pthread", hint="Debian's package is libboost-fiber1.81-dev.")


def build_csp(out):
    command("bazel", "build", "--config=bench", "//bench:csp_bench", hint="./dev setup installs what it needs.")
    bin_dir = command("bazel", "info", "--config=bench", "bazel-bin").strip()
    # A copy: a build in the same checkout must not change the program meanwhile.
    shutil.copy(pathlib.Path(bin_dir, "bench/csp_bench"), out)


BUILD = {"go": build_go, "boost_fiber": build_boost_fiber, "csp": build_csp}


def build(peers, directory, csp_binary):
    """Returns the program of each peer."""
    programs = {}
    for peer in peers:
        if peer == "csp" and csp_binary:
            programs[peer] = csp_binary
            continue
        progress(f"building {PEERS[peer]}")
        programs[peer] = directory / peer
        BUILD[peer](programs[peer])
    return programs


# --- running -----------------------------------------------------------------


@dataclasses.dataclass
class Series:
    """The runs of one peer at one job on one number of workers."""

    n: int
    reduced: bool  # A smaller n than that of the other peers.
    records: list = dataclasses.field(default_factory=list)
    failures: list = dataclasses.field(default_factory=list)  # What went wrong, a run each.
    not_available: str = ""  # Why the peer cannot do the job.
    given_up: bool = False

    def figures(self, field):
        return [record[field] for record in self.records]


def run_once(program, job, procs, series, timeout):
    """Runs the job once and puts the outcome into the series."""
    argv = [str(program), job, str(series.n), str(procs)]
    try:
        done = subprocess.run(argv, text=True, errors="replace", check=False, timeout=timeout, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        series.failures.append(f"timed out after {timeout:g} s")
        series.given_up = True  # It would most likely cost the same time again.
        return
    except OSError as error:
        series.failures.append(error.strerror)
        series.given_up = True
        return
    try:
        record = json.loads(done.stdout)
    except json.JSONDecodeError:
        record = None
    if not isinstance(record, dict):
        record = {}
    if done.returncode == 3 and record.get("na"):
        series.not_available = record["na"]
        series.given_up = True
    elif done.returncode < 0:
        series.failures.append(f"died of signal {-done.returncode}")
    elif done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        series.failures.append(f"status {done.returncode}: {last}")
    elif not is_complete(record, job, series.n, procs):
        series.failures.append("printed no proper line of JSON")
    else:
        series.records.append(record)


def is_complete(record, job, n, procs):
    if (record.get("job"), record.get("n"), record.get("procs")) != (job, n, procs):
        return False
    fields = [row.field for row in ROWS if row.job == job]
    return all(isinstance(record.get(field), (int, float)) for field in fields)


def outcome(series, runs_before, job):
    """What the last run gave, for the progress line."""
    if series.not_available:
        return series.not_available
    if len(series.records) > runs_before:
        row = next(row for row in ROWS if row.job == job)
        return f"{number(series.records[-1][row.field])} ({row.figure})"
    return series.failures[-1]


def new_series(job, peer, quick):
    n = job.quick if quick else job.n
    reduced = peer == "boost_fiber" and 0 < job.boost_fiber < n
    return Series(job.boost_fiber if reduced else n, reduced)


def measure(programs, plan, options):
    """Returns {(job, procs): {peer: Series}}."""
    results = {}
    for i, (job, procs) in enumerate(plan):
        results[job, procs] = {peer: new_series(JOBS[job], peer, options.quick) for peer in programs}
        for run in range(options.runs):
            for peer, series in results[job, procs].items():
                if series.given_up:
                    continue
                before = len(series.records)
                run_once(programs[peer], job, procs, series, options.timeout)
                progress(f"[{i + 1}/{len(plan)}] {job} P={procs} run {run + 1}/{options.runs} "
                         f"{PEERS[peer]}: {outcome(series, before, job)}")
    return results


# --- reporting ---------------------------------------------------------------


def number(value):
    """Three digits or more, as many as a figure of this kind deserves."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def cell(series, row):
    if series is None:
        return "–"
    if series.not_available:
        return series.not_available
    failures = "; ".join(dict.fromkeys(series.failures)).replace("|", "\\|")
    if not series.records:
        return f"*{failures}*"
    figures = series.figures(row.field)
    text = f"{number(statistics.median(figures))} ({number(min(figures))}–{number(max(figures))})"
    if series.reduced:
        text += f" at N={series.n:,}"
    if failures:
        text += f"; *{len(series.failures)} failed: {failures}*"
    return text


def median(series, row):
    return statistics.median(series.figures(row.field)) if series and series.records else None


def target(row, procs, csp, ratio):
    """What is wanted, and whether it was missed."""
    if row.at_most:
        text, reached = f"≤ {row.at_most:,g}", None if csp is None else csp <= row.at_most
    elif least := row.least_ratio(procs):
        text, reached = f"ratio ≥ {least:.1f}", None if ratio is None else ratio >= least
    else:
        return "–"
    return text + {None: " (no figure)", True: "", False: " **MISSED**"}[reached]


def row_cells(row, procs, by_peer):
    go, csp = median(by_peer.get("go"), row), median(by_peer.get("csp"), row)
    ratio = go / csp if go is not None and csp else None
    return [f"{row.job}, {row.figure}", str(procs), *(cell(by_peer.get(peer), row) for peer in PEERS),
            "–" if ratio is None else f"{ratio:.2f}", target(row, procs, csp, ratio)]


def table(results):
    lines = ["| job | P | Go | Boost.Fiber | csp | Go/csp | target |", "|---|--:|--:|--:|--:|--:|---|"]
    for row in ROWS:
        for (job, procs), by_peer in results.items():
            if job == row.job:
                lines.append("| " + " | ".join(row_cells(row, procs, by_peer)) + " |")
    return "\n".join(lines)


def first_match(pattern, path):
    try:
        found = re.search(pattern, pathlib.Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else "unknown"


def machine():
    model = first_match(r"^model name\s*:\s*(.*)$", "/proc/cpuinfo")
    memory = first_match(r"^MemTotal:\s*(\d+)", "/proc/meminfo")
    system = first_match(r'^PRETTY_NAME="?([^"\n]*)', "/etc/os-release")
    gib = f"{int(memory) / 2**20:.0f} GiB" if memory.isdigit() else "unknown memory"
    return f"{len(os.sched_getaffinity(0))} × {model}, {gib}, Linux {platform.release().split('-')[0]}, {system}"


def revision():
    try:
        commit = command("git", "rev-parse", "--short", "HEAD").strip()
        return commit + (" with uncommitted changes" if command("git", "status", "--porcelain").strip() else "")
    except BuildError:
        return "of no known revision"


def peer_version(results, peer):
    for by_peer in results.values():
        if peer in by_peer and by_peer[peer].records:
            return by_peer[peer].records[0].get("peer", peer)
    return PEERS[peer]


def compiler():
    try:
        return command("g++", "--version").splitlines()[0]
    except (BuildError, IndexError):
        return "unknown"


def heading(results, programs, options, csp, load):
    versions = [peer_version(results, peer) for peer in programs if peer != "csp"]
    if "csp" in programs:
        versions.append(f"csp {csp}")
    kind = "--quick, so small N: the figures show that it runs and little else. " if options.quick else ""
    return (f"{datetime.date.today().isoformat()}, {machine()}; load before the first run {load:.2f}.\n"
            f"{', '.join(versions)}; {compiler()}.\n"
            f"{kind}Median (min–max) of {options.runs} alternating runs, at most {options.timeout:g} s each. "
            "P: worker threads. ns: an operation.\n")


# --- the command line --------------------------------------------------------


def positive(kind):
    """A parser of positive numbers of that type."""

    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"'{text}' is no positive number")
        return value

    return parse


def names(known, what):
    """A parser of comma-separated names, in the order of `known`."""

    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"unknown {what} '{name}'; there are: {', '.join(known)}")
        return [name for name in known if name in chosen]

    return parse


def numbers(text):
    return list(dict.fromkeys(map(positive(int), text.split(","))))


def program_file(text):
    path = pathlib.Path(text).resolve()
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise argparse.ArgumentTypeError(f"'{text}' is no program")
    return path


def marked_file(text):
    """A file with a place for the table: found missing before the runs, not after."""
    path = pathlib.Path(text)
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"cannot read '{text}': {error}") from None
    if not os.access(path, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write '{text}'")
    if not 0 <= content.find(TABLE_BEGIN) < content.find(TABLE_END):
        raise argparse.ArgumentTypeError(f"'{text}' has no lines {TABLE_BEGIN} and {TABLE_END}")
    return path


def parse_command_line():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
        epilog="Exit status: 0, or 1 if a run of csp failed or a program could not be built, or 2 for\n"
               "a wrong command line. A missed target is marked in the table and fails nothing.")
    parser.add_argument("--runs", type=positive(int), default=5, metavar="N", help="runs a job (default 5)")
    parser.add_argument("--jobs", type=names(JOBS, "job"), default=list(JOBS), metavar="A,B,C",
                        help=f"only these jobs; there are: {', '.join(JOBS)}")
    parser.add_argument("--procs", type=numbers, default=[1, 2], metavar="P,Q",
                        help="numbers of worker threads (default 1,2)")
    parser.add_argument("--peers", type=names(PEERS, "peer"), default=list(PEERS), metavar="A,B",
                        help=f"only these programs; there are: {', '.join(PEERS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--timeout", type=positive(float), default=120, metavar="SECONDS",
                        help="the limit of one run (default 120); a peer that exceeds it skips its further "
                             "runs of that job")
    parser.add_argument("--csp-binary", type=program_file, metavar="PATH",
                        help="use this program for csp, instead of building //bench:csp_bench")
    parser.add_argument("--write", type=marked_file, metavar="FILE",
                        help="also put the table into FILE (bench/README.md), in the place of the last one")
    options = parser.parse_args()
    options.plan = [(job, procs) for job in options.jobs for procs in options.procs
                    if not JOBS[job].procs or procs in JOBS[job].procs]
    if not options.plan:
        parser.error("nothing to run: wakelatency is about 2 workers")
    return options


def write_between_markers(path, text):
    content = path.read_text(encoding="utf-8")
    before, rest = content.split(TABLE_BEGIN, 1)
    _, after = rest.split(TABLE_END, 1)
    path.write_text(f"{before}{TABLE_BEGIN}\n{text}\n{TABLE_END}{after}", encoding="utf-8")


def main():
    options = parse_command_line()
    with tempfile.TemporaryDirectory(prefix="csp-bench-") as directory:
        try:
            programs = build(options.peers, pathlib.Path(directory), options.csp_binary)
        except BuildError as error:
            progress(f"compare.py: {error}")
            return 1
        # Both before the runs: they may change meanwhile.
        csp = "as given" if options.csp_binary else revision()
        load = os.getloadavg()[0]
        results = measure(programs, options.plan, options)
    report = heading(results, programs, options, csp, load) + "\n" + table(results)
    print(report)
    if options.write:
        write_between_markers(options.write, report)
    failed = sorted({job for (job, _), by_peer in results.items() if "csp" in by_peer and by_peer["csp"].failures})
    if failed:
        progress(f"compare.py: csp failed at: {', '.join(failed)}")
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
