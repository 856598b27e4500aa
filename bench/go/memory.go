package main

import (
	"sync"
	"time"
)

// parked blocks n tasks on one channel and measures what a blocked task holds
// of resident memory.
func parked(n int) result {
	before := processStatus("VmRSS")
	release := make(chan struct{})
	var started, finished sync.WaitGroup
	started.Add(n)
	finished.Add(n)

	start := time.Now()
	for i := 0; i < n; i++ {
		go func() {
			started.Done()
			<-release
			finished.Done()
		}()
	}
	started.Wait()
	spawned := time.Since(start)

	time.Sleep(100 * time.Millisecond) // the last ones reach the receive
	perTask := (processStatus("VmRSS") - before) / float64(n)

	start = time.Now()
	close(release)
	finished.Wait()
	released := time.Since(start)

	return result{elapsed: spawned + released, extra: map[string]float64{
		"bytes_per_task": perTask,
		"spawn_ms":       spawned.Seconds() * 1e3,
		"release_ms":     released.Seconds() * 1e3,
	}}
}
