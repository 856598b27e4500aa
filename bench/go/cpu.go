package main

import (
	"sync"
	"time"
)

// Below these lengths halves are sorted by the same task, and by insertion.
const (
	serialLength    = 4096
	insertionLength = 16
)

// cpu sorts n numbers by a parallel quicksort: mostly computation.
func cpu(n int) result {
	a := make([]int64, n)
	random := lcg(1)
	var before, after int64
	for i := range a {
		a[i] = int64(random.next())
		before += a[i]
	}
	start := time.Now()
	parallelQuicksort(a)
	elapsed := time.Since(start)
	for i, v := range a {
		after += v
		if i > 0 && a[i-1] > v {
			fail("cpu: not sorted at %d", i)
		}
	}
	expect("the sum of what was sorted", after, before)
	return result{elapsed: elapsed}
}

func parallelQuicksort(a []int64) {
	if len(a) <= serialLength {
		quicksort(a)
		return
	}
	low, high := partition(a)
	var halves sync.WaitGroup
	halves.Add(2)
	go func() {
		defer halves.Done()
		parallelQuicksort(low)
	}()
	go func() {
		defer halves.Done()
		parallelQuicksort(high)
	}()
	halves.Wait()
}

func quicksort(a []int64) {
	for len(a) > insertionLength {
		low, high := partition(a)
		quicksort(low)
		a = high
	}
	for i := 1; i < len(a); i++ {
		v, j := a[i], i
		for ; j > 0 && a[j-1] > v; j-- {
			a[j] = a[j-1]
		}
		a[j] = v
	}
}

// partition is Hoare's, round the median of three: nothing in low is greater
// than the pivot, nothing in high less, and what lies between equals it.
func partition(a []int64) (low, high []int64) {
	pivot := medianOf3(a[0], a[len(a)/2], a[len(a)-1])
	i, j := 0, len(a)-1
	for i <= j {
		for a[i] < pivot {
			i++
		}
		for a[j] > pivot {
			j--
		}
		if i <= j {
			a[i], a[j] = a[j], a[i]
			i++
			j--
		}
	}
	return a[:j+1], a[i:]
}

func medianOf3(a, b, c int64) int64 {
	if a > b {
		a, b = b, a
	}
	switch {
	case c < a:
		return a
	case c > b:
		return b
	default:
		return c
	}
}
