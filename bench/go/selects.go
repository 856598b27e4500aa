package main

import "time"

// select4 merges four producers by a select over their channels, n messages in
// all.
func select4(n, capacity int) result {
	start := time.Now()
	var in [4]chan int64
	for t := range in {
		in[t] = make(chan int64, capacity)
		go func(t int) {
			for i := t; i < n; i += len(in) {
				in[t] <- int64(i)
			}
		}(t)
	}
	a, b, c, d := in[0], in[1], in[2], in[3]
	var sum int64
	for i := 0; i < n; i++ {
		select {
		case v := <-a:
			sum += v
		case v := <-b:
			sum += v
		case v := <-c:
			sum += v
		case v := <-d:
			sum += v
		}
	}
	elapsed := time.Since(start)
	expect("select4's sum", sum, sumBelow(n))
	return result{elapsed: elapsed}
}

// selectTimeout receives n messages, each by a select with a fresh timeout that
// never comes. A stopped timer is the fast way in Go; time.After leaves its
// timer in the heap for the hour.
func selectTimeout(n int) result {
	start := time.Now()
	ch := make(chan int64)
	go func() {
		for i := 0; i < n; i++ {
			ch <- int64(i)
		}
	}()
	var sum int64
	for i := 0; i < n; i++ {
		timeout := time.NewTimer(time.Hour)
		select {
		case v := <-ch:
			sum += v
			timeout.Stop()
		case <-timeout.C:
			fail("seltimeout: an hour has passed")
		}
	}
	elapsed := time.Since(start)
	expect("seltimeout's sum", sum, sumBelow(n))
	return result{elapsed: elapsed}
}
