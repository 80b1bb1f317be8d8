package split

// Widths is how wide the nodes are that suit jobs. It decides which jobs are large: those that need a whole node
// of those that suit them, or more.
type Widths struct {
	Room  [][]int32 // as in a Problem
	Sites [][]bool  // likewise; more may be added

	widest map[reach]int32 // GPUs of the node that has most of those in reach
}

// reach is which GPUs of which nodes suit a job.
type reach struct {
	kinds uint64
	site  int32
}

// IsGang reports whether a job needs a node or more.
func (w *Widths) IsGang(j *Job) bool {
	of := reach{j.Kinds, j.Site}
	widest, known := w.widest[of]
	if !known {
		for n := range w.Room {
			widest = max(widest, w.has(int32(n), j))
		}
		if w.widest == nil {
			w.widest = map[reach]int32{}
		}
		w.widest[of] = widest
	}
	return j.Spread || perNode(j) >= max(widest, 1)
}

// on reports whether a job may be on a node.
func (w *Widths) on(node int32, j *Job) bool { return j.Site == 0 || w.Sites[j.Site-1][node] }

// has returns how many GPUs of a node suit a job, free or not.
func (w *Widths) has(node int32, j *Job) int32 {
	if !w.on(node, j) {
		return 0
	}
	return suiting(w.Room[node], j)
}
