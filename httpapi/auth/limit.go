package auth

import (
	"sync"
	"time"
)

// maxBuckets bounds the callers that a [Limiter] counts separately.
const maxBuckets = 10_000

// Limiter limits the rate of requests: each caller has a bucket, which fills at a rate and holds a
// burst. Callers beyond a maximum share one bucket.
type Limiter struct {
	now func() time.Time

	mu      sync.Mutex
	rate    float64 // of a bucket, a second; 0: no limit
	burst   float64
	buckets map[string]bucket
	swept   time.Time
}

type bucket struct {
	left float64
	at   time.Time
}

// NewLimiter returns a limiter that allows each caller rate requests a second, and twice as many at
// once; 0: any.
func NewLimiter(rate float64, now func() time.Time) *Limiter {
	l := &Limiter{now: now, buckets: map[string]bucket{}}
	l.Allow(rate)
	return l
}

// Allow changes the rate to a number of requests a second; 0: any.
func (l *Limiter) Allow(rate float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rate, l.burst = rate, max(1, 2*rate)
}

// others is the bucket that is shared by callers beyond the maximum.
const others = ""

// Take takes one request from a bucket. If the bucket is empty it returns how long to wait for the
// next. The rate is shared by a number of peers, each of which counts by itself: a bucket here
// fills at that part of the rate.
func (l *Limiter) Take(who string, peers int) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate <= 0 {
		return 0
	}
	part := 1 / float64(max(peers, 1))
	rate, burst := l.rate*part, max(1, l.burst*part)
	now := l.now()
	b, known := l.buckets[who]
	if !known && len(l.buckets) >= maxBuckets {
		if l.sweep(now); len(l.buckets) >= maxBuckets {
			who = others
			b, known = l.buckets[who]
		}
	}
	if !known {
		b = bucket{left: burst, at: now}
	}
	b.left = min(burst, b.left+rate*max(0, now.Sub(b.at).Seconds()))
	b.at = now
	if b.left < 1 {
		wait = time.Duration((1 - b.left) / rate * float64(time.Second))
	} else {
		b.left--
	}
	l.buckets[who] = b
	return wait
}

// sweep removes buckets that are full, or would be with one peer, at most once a second: it reads
// all of them.
func (l *Limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < time.Second {
		return
	}
	l.swept = now
	for who, b := range l.buckets {
		if b.left+l.rate*now.Sub(b.at).Seconds() >= l.burst {
			delete(l.buckets, who)
		}
	}
}
