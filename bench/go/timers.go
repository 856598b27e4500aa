package main

import (
	"sort"
	"sync"
	"time"
)

// sleepers lets n tasks sleep 0 to 1000 ms each, and measures how late they
// wake.
func sleepers(n int) result {
	naps := make([]time.Duration, n)
	random := lcg(1)
	for i := range naps {
		naps[i] = time.Duration(random.next()%1001) * time.Millisecond
	}
	late := make([]time.Duration, n)
	start := time.Now()
	var tasks sync.WaitGroup
	tasks.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) {
			defer tasks.Done()
			asleep := time.Now()
			time.Sleep(naps[i])
			late[i] = time.Since(asleep) - naps[i]
		}(i)
	}
	tasks.Wait()
	r := result{elapsed: time.Since(start), extra: percentiles(late)}
	if late[0] < 0 { // percentiles has sorted them
		fail("sleepers: a task woke %v early", -late[0])
	}
	return r
}

// wakeLatency measures, n times, how long a task that a busy worker wakes waits
// for an idle worker to start it. The waker computes for 2 ms without yielding,
// so a shorter wait can only have ended on another worker.
func wakeLatency(n int) result {
	const busy = 2 * time.Millisecond
	wake := make(chan time.Time, 1) // capacity 1: the waker never blocks on it
	awake := make(chan time.Duration, 1)
	go func() {
		for sent := range wake {
			awake <- time.Since(sent)
		}
	}()
	waits := make([]time.Duration, n)
	start := time.Now()
	for i := range waits {
		sent := time.Now()
		wake <- sent
		for time.Since(sent) < busy {
		}
		waits[i] = <-awake
	}
	return result{elapsed: time.Since(start), extra: percentiles(waits)}
}

// percentiles sorts the durations and gives the median, the 99th percentile and
// the longest, in microseconds.
func percentiles(d []time.Duration) map[string]float64 {
	sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	return map[string]float64{
		"p50_us": us(d[len(d)/2]),
		"p99_us": us(d[len(d)*99/100]),
		"max_us": us(d[len(d)-1]),
	}
}

// lcg is Knuth's MMIX generator; next gives its high 31 bits.
type lcg uint64

func (l *lcg) next() uint64 {
	*l = *l*6364136223846793005 + 1442695040888963407
	return uint64(*l) >> 33
}
