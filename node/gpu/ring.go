package gpu

import (
	"sort"
	"time"
)

// Remembered is how far back a history goes.
const Remembered = 15 * time.Minute

// ring holds the newest points, in order of time.
type ring struct {
	points []Point
	oldest int // where the next point goes, once the ring is full
}

// add adds a point, and drops the oldest if there are more than size.
func (r *ring) add(p Point, size int) {
	if len(r.points) < size {
		r.points = append(r.points, p)
		return
	}
	r.points[r.oldest] = p
	r.oldest = (r.oldest + 1) % size
}

// since returns a copy of the points from an instant on.
func (r *ring) since(t time.Time) []Point {
	n := len(r.points)
	at := func(i int) Point { return r.points[(r.oldest+i)%n] }
	first := sort.Search(n, func(i int) bool { return !at(i).At.Before(t) })
	out := make([]Point, 0, n-first)
	for i := first; i < n; i++ {
		out = append(out, at(i))
	}
	return out
}
