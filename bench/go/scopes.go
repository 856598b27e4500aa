package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A group is what the customary errgroup package has: tasks that share a
// context, which the first error cancels, and a wait for all of them.
type group struct {
	cancel context.CancelFunc
	all    sync.WaitGroup
	once   sync.Once
	err    error
}

func newGroup() (*group, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	return &group{cancel: cancel}, ctx
}

func (g *group) start(f func() error) {
	g.all.Add(1)
	go func() {
		defer g.all.Done()
		if err := f(); err != nil {
			g.once.Do(func() {
				g.err = err
				g.cancel()
			})
		}
	}()
}

func (g *group) wait() error {
	g.all.Wait()
	g.cancel()
	return g.err
}

// inGroups calls run with the sizes of groups that make n together.
func inGroups(n, size int, run func(tasks int)) {
	for ; n > 0; n -= size {
		if n < size {
			size = n
		}
		run(size)
	}
}

// scope runs n tasks in groups of ten.
func scope(n int) result {
	var ran atomic.Int64
	start := time.Now()
	inGroups(n, 10, func(tasks int) {
		g, _ := newGroup()
		for i := 0; i < tasks; i++ {
			g.start(func() error {
				ran.Add(1)
				return nil
			})
		}
		if err := g.wait(); err != nil {
			fail("%v", err)
		}
	})
	elapsed := time.Since(start)
	expect("scope's tasks", ran.Load(), int64(n))
	return result{elapsed: elapsed}
}

// cancelTree cancels a context with a hundred children, each of which a task
// waits for, until n tasks have been.
func cancelTree(n int) result {
	start := time.Now()
	inGroups(n, 100, func(tasks int) {
		all, cancelAll := context.WithCancel(context.Background())
		var waiting, finished sync.WaitGroup
		waiting.Add(tasks)
		finished.Add(tasks)
		for i := 0; i < tasks; i++ {
			ctx, cancel := context.WithCancel(all)
			go func() {
				defer cancel()
				waiting.Done()
				<-ctx.Done()
				finished.Done()
			}()
		}
		waiting.Wait()
		cancelAll()
		finished.Wait()
	})
	return result{elapsed: time.Since(start)}
}

// cancelScope cancels groups of a hundred tasks that wait for a channel.
func cancelScope(n int) result {
	var received atomic.Int64
	start := time.Now()
	inGroups(n, 100, func(tasks int) {
		never := make(chan int)
		g, ctx := newGroup()
		var waiting sync.WaitGroup
		waiting.Add(tasks)
		for i := 0; i < tasks; i++ {
			g.start(func() error {
				waiting.Done()
				select {
				case <-never:
					received.Add(1)
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		}
		waiting.Wait()
		g.cancel()
		if err := g.wait(); err != context.Canceled {
			fail("the group ended with %v", err)
		}
	})
	elapsed := time.Since(start)
	expect("what was received", received.Load(), int64(0))
	return result{elapsed: elapsed}
}
