package split

import (
	"math/bits"
	"slices"
)

// sized returns a job as it runs with fewer GPUs, on so many nodes if it asks for a number of nodes.
func sized(j *Job, gpus, nodes int32) *Job {
	if gpus == j.GPUs {
		return j
	}
	few := *j
	few.GPUs, few.Least, few.Shape, few.Place = gpus, 0, -1, nil
	if j.Nodes > 0 {
		few.Nodes = nodes
	}
	hi, lo := bits.Mul64(j.Value, uint64(gpus))
	few.Value, _ = bits.Div64(hi, lo, uint64(max(j.GPUs, 1)))
	few.Uses = slices.Clone(j.Uses)
	for i := range few.Uses {
		if u := &few.Uses[i]; u.Scales {
			u.Amount = (u.Amount*int64(gpus) + int64(j.GPUs) - 1) / int64(j.GPUs)
		}
	}
	return &few
}

// placedAs returns a job as it runs in a place.
func placedAs(j *Job, place []Part) *Job {
	var gpus int32
	for _, v := range place {
		gpus += v.GPUs
	}
	return sized(j, gpus, int32(len(place)))
}

// fewer finds a place with as many GPUs as possible for a job that takes fewer if it cannot have all.
func fewer(s *space, j *Job, k int) []Part {
	each := int32(1)
	if j.Whole {
		each = perNode(j)
	}
	for gpus := min(most(s, j)/each*each, j.GPUs); gpus >= j.Least; gpus -= each {
		few := sized(j, gpus, gpus/each)
		if !j.Whole {
			few = sized(j, gpus, j.Nodes)
		}
		if !s.allowed(few) {
			continue
		}
		if at := s.placeFor(few, k); at != nil {
			return at
		}
	}
	return nil
}

// most returns how many GPUs a job could have of what is free.
func most(s *space, j *Job) (most int32) {
	for n := range int32(len(s.Room)) {
		if !s.may(j, n) {
			continue
		}
		switch room := s.room(n, j); {
		case j.Whole && room >= perNode(j):
			most += perNode(j)
		case j.Whole:
		case j.Spread:
			most += room
		default:
			most = max(most, room)
		}
	}
	return most
}
