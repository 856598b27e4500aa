// Command bench runs one job of the benchmark suite on Go's own runtime and
// prints one line of JSON. ../README.md says what each job measures; the C++
// programs beside this one take the same command line.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A result is what a job hands back. A job keeps its own time, so that what it
// prepares and what it verifies stays outside.
type result struct {
	elapsed time.Duration
	extra   map[string]float64 // further fields of the JSON line
}

// A job is one row of the suite.
type job struct {
	name       string
	n          int // the default size
	run        func(n int) result
	whole      bool // the op is the whole job, not one of n
	powerOfTen bool // n is a number of leaves of a 10-ary tree
}

var jobs = []job{
	{name: "spawn", n: 1_000_000, run: spawn},
	{name: "spawnjoin", n: 1_000_000, run: spawnJoin},
	{name: "spawnblock", n: 100_000, run: spawnBlock},
	{name: "yield", n: 4_000_000, run: yield},
	{name: "pingpong", n: 1_000_000, run: pingPong},
	{name: "buffered", n: 10_000_000, run: buffered},
	{name: "mpmc", n: 4_000_000, run: func(n int) result { return mpmc(n, 128) }},
	{name: "unbuf_mpmc", n: 2_000_000, run: func(n int) result { return mpmc(n, 0) }},
	{name: "select4", n: 2_000_000, run: func(n int) result { return select4(n, 0) }},
	{name: "selectbuf", n: 4_000_000, run: func(n int) result { return select4(n, 64) }},
	{name: "seltimeout", n: 1_000_000, run: selectTimeout},
	{name: "ring", n: 3_000_000, run: ring},
	{name: "sieve", n: 1500, run: sieve, whole: true},
	{name: "skynet", n: 1_000_000, run: skynet, whole: true, powerOfTen: true},
	{name: "mutex", n: 8_000_000, run: mutex},
	{name: "scope", n: 1_000_000, run: scope},
	{name: "canceltree", n: 200_000, run: cancelTree},
	{name: "cancelscope", n: 200_000, run: cancelScope},
	{name: "parked", n: 1_000_000, run: parked},
	{name: "sleepers", n: 200_000, run: sleepers},
	{name: "wakelatency", n: 1000, run: wakeLatency},
	{name: "cpu", n: 10_000_000, run: cpu, whole: true},
}

func main() {
	if len(os.Args) == 2 && (os.Args[1] == "--help" || os.Args[1] == "-h") {
		usage(os.Stdout)
		return
	}
	j, n, procs := parse(os.Args[1:])
	runtime.GOMAXPROCS(procs)
	report(j, n, procs, j.run(n))
}

func usage(w io.Writer) {
	fmt.Fprint(w, "usage: bench JOB [N] [P]\n\n",
		"Runs JOB at size N on P worker threads (default 2) and prints one line of JSON.\n\n",
		"jobs, with their default N:\n")
	for _, j := range jobs {
		fmt.Fprintf(w, "  %-12s %9d\n", j.name, j.n)
	}
}

// parse ends the program with status 2 if the command line is wrong.
func parse(args []string) (j job, n, procs int) {
	if len(args) < 1 || len(args) > 3 {
		misuse("want JOB [N] [P]")
	}
	found := false
	for _, candidate := range jobs {
		if candidate.name == args[0] {
			j, found = candidate, true
		}
	}
	if !found {
		misuse("unknown job %q", args[0])
	}
	n, procs = j.n, 2
	if len(args) > 1 {
		n = positive("N", args[1], 1_000_000_000)
	}
	if len(args) > 2 {
		procs = positive("P", args[2], 1024)
	}
	if j.powerOfTen && !isPowerOfTen(n) {
		misuse("%s: N must be a power of ten", j.name)
	}
	return j, n, procs
}

func positive(what, arg string, limit int) int {
	v, err := strconv.Atoi(arg)
	if err != nil || v < 1 || v > limit {
		misuse("%s must be a whole number from 1 to %d, not %q", what, limit, arg)
	}
	return v
}

func isPowerOfTen(n int) bool {
	for n%10 == 0 {
		n /= 10
	}
	return n == 1
}

func misuse(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+" (see bench --help)\n", args...)
	os.Exit(2)
}

// fail ends the program with status 1: the job ran and came out wrong.
func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
	os.Exit(1)
}

func expect[T comparable](what string, got, want T) {
	if got != want {
		fail("%s is %v, want %v", what, got, want)
	}
}

func report(j job, n, procs int, r result) {
	ops := n
	if j.whole {
		ops = 1
	}
	ns := float64(r.elapsed.Nanoseconds())
	line := fmt.Sprintf(`{"peer":%q,"job":%q,"n":%d,"procs":%d,"ns_per_op":%.1f,"total_ms":%.1f,"rss_mb":%.1f`,
		runtime.Version(), j.name, n, procs, ns/float64(ops), ns/1e6, processStatus("VmHWM")/(1<<20))
	keys := make([]string, 0, len(r.extra))
	for key := range r.extra {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		line += fmt.Sprintf(",%q:%.1f", key, r.extra[key])
	}
	fmt.Println(line + "}")
}

// processStatus returns a memory field of /proc/self/status, in bytes.
func processStatus(field string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail("%v", err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		key, value, _ := strings.Cut(line, ":")
		if key != field {
			continue
		}
		kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(value, "kB")))
		if err != nil {
			fail("%s: %v", field, err)
		}
		return float64(kb) * 1024
	}
	fail("no %s in /proc/self/status", field)
	return 0
}
