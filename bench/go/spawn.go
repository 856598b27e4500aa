package main

import (
	"runtime"
	"sync"
	"time"
)

// spawn starts n empty tasks at once and waits for all of them.
func spawn(n int) result {
	start := time.Now()
	var children sync.WaitGroup
	children.Add(n)
	for i := 0; i < n; i++ {
		go children.Done()
	}
	children.Wait()
	return result{elapsed: time.Since(start)}
}

// spawnJoin starts a task and waits for it, n times. Go has no handle on a
// goroutine; a channel that the task closes is the customary one.
func spawnJoin(n int) result {
	start := time.Now()
	for i := 0; i < n; i++ {
		done := make(chan struct{})
		go close(done)
		<-done
	}
	return result{elapsed: time.Since(start)}
}

// spawnBlock starts n tasks that all block, then releases them: each needs its
// stack for longer than one run.
func spawnBlock(n int) result {
	start := time.Now()
	release := make(chan struct{})
	var started, finished sync.WaitGroup
	started.Add(n)
	finished.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			started.Done()
			<-release
			finished.Done()
		}()
	}
	started.Wait()
	close(release)
	finished.Wait()
	return result{elapsed: time.Since(start)}
}

// yield lets two tasks give way n times in all.
func yield(n int) result {
	start := time.Now()
	var tasks sync.WaitGroup
	for _, times := range []int{n / 2, n - n/2} {
		tasks.Add(1)
		go func(times int) {
			defer tasks.Done()
			for i := 0; i < times; i++ {
				runtime.Gosched()
			}
		}(times)
	}
	tasks.Wait()
	return result{elapsed: time.Since(start)}
}

// skynet sums the numbers of n leaves up a 10-ary tree of tasks.
func skynet(n int) result {
	start := time.Now()
	root := make(chan int64)
	go skynetNode(root, 0, int64(n))
	sum := <-root
	elapsed := time.Since(start)
	expect("skynet's sum", sum, sumBelow(n))
	return result{elapsed: elapsed}
}

func skynetNode(parent chan<- int64, first, leaves int64) {
	if leaves == 1 {
		parent <- first
		return
	}
	children := make(chan int64)
	each := leaves / 10
	for i := int64(0); i < 10; i++ {
		go skynetNode(children, first+i*each, each)
	}
	var sum int64
	for i := 0; i < 10; i++ {
		sum += <-children
	}
	parent <- sum
}

// sumBelow returns 0 + 1 + … + n-1.
func sumBelow(n int) int64 { return int64(n) * int64(n-1) / 2 }
