"""Runs a program of the suite on every job with a tiny N.

Checks its line of JSON, its usage errors and its exit codes; says nothing about
speed. Usage: bench_smoke_test.py PROGRAM [JOB...]. The program must say of the
jobs named, and of no others, that it cannot do them. Every program of the suite
passes.
"""

import json
import subprocess
import sys

USUAL = ["ns_per_op", "total_ms", "rss_mb"]
PERCENTILES = ["p50_us", "p99_us", "max_us"]

# (job, N, the fields it adds to the usual ones). N is odd where it is shared
# among tasks, so that a lost remainder is seen.
CASES = [
    ("spawn", 100, []),
    ("spawnjoin", 100, []),
    ("spawnblock", 100, []),
    ("yield", 101, []),
    ("pingpong", 100, []),
    ("buffered", 1000, []),
    ("mpmc", 1001, []),
    ("unbuf_mpmc", 1001, []),
    ("select4", 1001, []),
    ("selectbuf", 1001, []),
    ("seltimeout", 100, []),
    ("ring", 1010, []),
    ("sieve", 20, []),
    ("skynet", 1, []),
    ("skynet", 1000, []),
    ("mutex", 101, []),
    ("scope", 101, []),
    ("canceltree", 101, []),
    ("cancelscope", 101, []),
    ("parked", 100, ["bytes_per_task", "spawn_ms", "release_ms"]),
    ("sleepers", 100, PERCENTILES),
    ("wakelatency", 10, PERCENTILES),
    ("cpu", 20000, []),
]

MISUSES = [
    [],
    ["nosuchjob"],
    ["--nosuchflag"],
    ["spawn", "0"],
    ["spawn", "-5"],
    ["spawn", "many"],
    ["spawn", "10x"],
    ["spawn", "99999999999999999999"],
    ["spawn", "10", "0"],
    ["spawn", "10", "two"],
    ["spawn", "10", "2", "more"],
    ["skynet", "300"],
]


class Failure(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failure(what)


def run(program, *args):
    # The limit is for a job that hangs; the message names it.
    return subprocess.run([program, *map(str, args)], timeout=30, check=False, text=True, encoding="utf-8",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def one_line_of_json(done):
    expect(done.stdout.count("\n") == 1 and done.stdout.endswith("\n"), f"printed {done.stdout!r}, not one line")
    try:
        record = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise Failure(f"printed no JSON: {done.stdout!r}") from None
    expect(isinstance(record.pop("peer", None), str), "no peer in the line")
    return record


def check_job(program, job, n, extra, procs):
    done = run(program, job, n, procs)
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    record = one_line_of_json(done)
    expect((record.pop("job"), record.pop("n"), record.pop("procs")) == (job, n, procs), f"wrong names: {done.stdout}")
    expect(sorted(record) == sorted(USUAL + extra), f"fields are {sorted(record)}")
    expect(all(isinstance(value, (int, float)) for value in record.values()), f"not all numbers: {done.stdout}")
    expect(record["rss_mb"] > 0 and record["total_ms"] >= 0, f"impossible figures: {done.stdout}")


def check_not_available(program, job, n):
    done = run(program, job, n)
    expect(done.returncode == 3, f"status {done.returncode}, want 3: {done.stderr}")
    record = one_line_of_json(done)
    expect(record["job"] == job and isinstance(record["na"], str), f"printed {done.stdout}")


def check_misuse(program, args):
    done = run(program, *args)
    expect(done.returncode == 2, f"status {done.returncode}, want 2")
    expect(not done.stdout, f"printed on stdout: {done.stdout}")
    expect(done.stderr.startswith("bench: "), f"no message but: {done.stderr!r}")


def check_help(program):
    done = run(program, "--help")
    expect(done.returncode == 0, f"status {done.returncode}")
    expect(done.stdout.startswith("usage: "), f"printed {done.stdout}")
    listed = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")}
    tested = {job for job, _, _ in CASES}
    expect(listed == tested, f"listed and tested jobs differ: {sorted(listed ^ tested)}")


def main():
    program, not_available = sys.argv[1], sys.argv[2:]
    checks = [("--help", check_help, ())]
    checks += [(" ".join(args) or "no argument", check_misuse, (args,)) for args in MISUSES]
    for job, n, extra in CASES:
        if job in not_available:
            checks.append((job, check_not_available, (job, n)))
        else:
            checks += [(f"{job} {n} {procs}", check_job, (job, n, extra, procs)) for procs in (1, 2)]

    failures = 0
    for name, check, args in checks:
        try:
            check(program, *args)
        except (Failure, KeyError, subprocess.TimeoutExpired) as failure:
            failures += 1
            print(f"{name}: {failure}")
    print(f"{failures} failures; {len(checks)} checks")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
