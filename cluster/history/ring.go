package history

import (
	"slices"
)

const (
	// Kept is for how many minutes records are kept: 24 hours.
	Kept = 24 * 60
	// ahead is by how many minutes a record may be ahead of the cluster's clock, which lags by a minute at most. The
	// cluster refuses entries that are further ahead, too.
	ahead = 5
)

// Ring holds the records of the last 24 hours, by minute. The zero Ring is empty.
type Ring struct {
	list []Record // ascending by minute, one for each
}

// find returns the place of a minute, and whether there is a record for it.
func (r *Ring) find(m Minute) (int, bool) {
	return slices.BinarySearchFunc(r.list, m, func(e Record, m Minute) int { return int(e.Minute - m) })
}

// Has reports whether there is a record for a minute.
func (r *Ring) Has(m Minute) bool {
	_, found := r.find(m)
	return found
}

// Put adds a record unless another one for the same minute counts. Records that are older than 24 hours, or more than
// five minutes ahead, by the cluster's minute, are left out. It reports whether the ring has changed.
func (r *Ring) Put(one Record, now Minute) bool {
	if one.Minute <= now-Kept || one.Minute > now+ahead {
		return false
	}
	i, found := r.find(one.Minute)
	switch {
	case !found:
		r.list = slices.Insert(r.list, i, one)
	case one.wins(&r.list[i]):
		r.list[i] = one
	default:
		return false
	}
	return true
}

// Forget removes the records that are older than 24 hours by the cluster's minute. It reports whether there were any.
// What lies ahead stays: the state of a peer that has just started is old.
func (r *Ring) Forget(now Minute) bool {
	i, _ := r.find(now - Kept + 1)
	i = max(i, len(r.list)-Kept-ahead)
	if i <= 0 {
		return false
	}
	r.list = slices.Delete(r.list, 0, i)
	return true
}

// Between returns the records from one minute up to another, which is left out.
func (r *Ring) Between(from, to Minute) []Record {
	i, _ := r.find(from)
	j, _ := r.find(to)
	return slices.Clone(r.list[i:max(i, j)])
}

// Run names consecutive minutes with records of one term.
type Run struct {
	From  Minute `cbor:"1,keyasint,omitempty"`
	Count int64  `cbor:"2,keyasint,omitempty"`
	Term  uint64 `cbor:"3,keyasint,omitempty"`
}

// Runs names all records.
func (r *Ring) Runs() (out []Run) {
	for i := range r.list {
		one := &r.list[i]
		if n := len(out); n > 0 && out[n-1].Term == one.Term && out[n-1].From+Minute(out[n-1].Count) == one.Minute {
			out[n-1].Count++
			continue
		}
		out = append(out, Run{From: one.Minute, Count: 1, Term: one.Term})
	}
	return out
}

// Missing returns the records that a peer lacks which has those that the runs name, or has with a lower term.
func (r *Ring) Missing(has []Run) (out []Record) {
	i := 0
	for _, one := range r.list {
		for i < len(has) && has[i].From+Minute(has[i].Count) <= one.Minute {
			i++
		}
		if i == len(has) || one.Minute < has[i].From || one.Term > has[i].Term {
			out = append(out, one)
		}
	}
	return out
}
