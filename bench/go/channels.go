package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// pingPong sends n numbers to a task that answers each, on unbuffered channels.
func pingPong(n int) result {
	start := time.Now()
	ping, pong := make(chan int64), make(chan int64)
	go func() {
		for v := range ping {
			pong <- v + 1
		}
		close(pong)
	}()
	var sum int64
	for i := 0; i < n; i++ {
		ping <- int64(i)
		sum += <-pong
	}
	close(ping)
	<-pong
	elapsed := time.Since(start)
	expect("pingpong's sum", sum, sumBelow(n)+int64(n))
	return result{elapsed: elapsed}
}

// buffered streams n numbers from one task to another.
func buffered(n int) result {
	start := time.Now()
	ch := make(chan int64, 128)
	go func() {
		for i := 0; i < n; i++ {
			ch <- int64(i)
		}
		close(ch)
	}()
	var sum int64
	for v := range ch {
		sum += v
	}
	elapsed := time.Since(start)
	expect("buffered's sum", sum, sumBelow(n))
	return result{elapsed: elapsed}
}

// mpmc streams n numbers from eight tasks to eight others through one channel.
func mpmc(n, capacity int) result {
	const tasks = 8 // on each side
	start := time.Now()
	ch := make(chan int64, capacity)
	var producers, consumers sync.WaitGroup
	producers.Add(tasks)
	consumers.Add(tasks)
	var sum int64
	for t := 0; t < tasks; t++ {
		go func(t int) {
			defer producers.Done()
			for i := t; i < n; i += tasks {
				ch <- int64(i)
			}
		}(t)
		go func() {
			defer consumers.Done()
			var part int64
			for v := range ch {
				part += v
			}
			atomic.AddInt64(&sum, part)
		}()
	}
	producers.Wait()
	close(ch)
	consumers.Wait()
	elapsed := time.Since(start)
	expect("mpmc's sum", sum, sumBelow(n))
	return result{elapsed: elapsed}
}

// ring passes one token n hops round a ring of tasks. The token is the number
// of hops left; whoever receives 0 reports its own place.
func ring(n int) result {
	const tasks = 503
	start := time.Now()
	last := make(chan int)
	first := make(chan int)
	in := first
	for t := 0; t < tasks; t++ {
		out := first
		if t < tasks-1 {
			out = make(chan int)
		}
		go func(t int, in <-chan int, out chan<- int) {
			for token := range in {
				if token == 0 {
					last <- t
					return
				}
				out <- token - 1
			}
		}(t, in, out)
		in = out
	}
	first <- n
	place := <-last
	elapsed := time.Since(start)
	expect("the token's last place", place, n%tasks)
	return result{elapsed: elapsed}
}

// sieve finds the nth prime by a chain of filters, one task a prime. The clock
// stops at the prime; the filters live until the program ends.
func sieve(n int) result {
	start := time.Now()
	numbers := make(chan int)
	go func(out chan<- int) {
		for i := 2; ; i++ {
			out <- i
		}
	}(numbers)
	prime := 0
	for i := 0; i < n; i++ {
		prime = <-numbers
		filtered := make(chan int)
		go func(in <-chan int, out chan<- int, prime int) {
			for {
				if v := <-in; v%prime != 0 {
					out <- v
				}
			}
		}(numbers, filtered, prime)
		numbers = filtered
	}
	elapsed := time.Since(start)
	expect("the prime", prime, nthPrime(n))
	return result{elapsed: elapsed}
}

// nthPrime finds it by trial division.
func nthPrime(n int) int {
	var primes []int
	for candidate := 2; len(primes) < n; candidate++ {
		isPrime := true
		for _, p := range primes {
			if p*p > candidate {
				break
			}
			if candidate%p == 0 {
				isPrime = false
				break
			}
		}
		if isPrime {
			primes = append(primes, candidate)
		}
	}
	return primes[n-1]
}

// mutex lets eight tasks lock one mutex n times in all.
func mutex(n int) result {
	const tasks = 8
	start := time.Now()
	var (
		mu    sync.Mutex
		count int
		all   sync.WaitGroup
	)
	all.Add(tasks)
	for t := 0; t < tasks; t++ {
		go func(t int) {
			defer all.Done()
			for i := t; i < n; i += tasks {
				mu.Lock()
				count++
				mu.Unlock()
			}
		}(t)
	}
	all.Wait()
	elapsed := time.Since(start)
	expect("mutex's count", count, n)
	return result{elapsed: elapsed}
}
