package auth

import (
	"sync"
	"time"
)

// maxBuckets bounds whom a [Limiter] tells apart.
const maxBuckets = 10_000

// Limiter says how often somebody may ask: a bucket for each, which fills at a rate and
// holds a burst. Of those whom it cannot tell apart any more all share one bucket.
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

// NewLimiter allows each so many requests a second, and twice as many at once; 0: any.
func NewLimiter(rate float64, now func() time.Time) *Limiter {
	l := &Limiter{now: now, buckets: map[string]bucket{}}
	l.Allow(rate)
	return l
}

// Allow allows each so many requests a second from now on; 0: any.
func (l *Limiter) Allow(rate float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rate, l.burst = rate, max(1, 2*rate)
}

// others is whom all share who cannot be told apart.
const others = ""

// Take takes one request from somebody's bucket. If that is empty it says how long to
// wait for the next.
func (l *Limiter) Take(who string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate <= 0 {
		return 0
	}
	now := l.now()
	b, known := l.buckets[who]
	if !known && len(l.buckets) >= maxBuckets {
		if l.sweep(now); len(l.buckets) >= maxBuckets {
			who = others
			b, known = l.buckets[who]
		}
	}
	if !known {
		b = bucket{left: l.burst, at: now}
	}
	b.left = min(l.burst, b.left+l.rate*max(0, now.Sub(b.at).Seconds()))
	b.at = now
	if b.left < 1 {
		wait = time.Duration((1 - b.left) / l.rate * float64(time.Second))
	} else {
		b.left--
	}
	l.buckets[who] = b
	return wait
}

// sweep forgets full buckets, at most once a second: it looks at all of them.
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
