package search

import (
	"slices"
	"sort"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// keeper is what bookings leave to each job of a layout. A running job that may be suspended
// counts as gone, as others do: it stays only if the jobs laid out before it leave room for it in
// addition to the bookings. The bookings may lack what they lack today, since nothing is
// suspended for a booking that has not begun. A job that starts must not make them lack more.
type keeper struct {
	*builder

	base, now *ledger.Books
	fresh     *ledger.Books  // now, as a job that starts finds it; nil: not opened yet
	stakes    []ledger.Stake // by tag; At is set for each question
	numbers   map[bookingClass]int32
	places    [][]ledger.Lot // of each node and kind, with GPUs 0: as far as bookings distinguish them
	plain     []bool         // nodes that no booking concerns
	rooms     map[roomKey]int32
	own       bool // only what is booked for a job itself counts
	tag       int32
	shut      []ledger.Lot // places that were refused to the job of tag, as of now
}

// roomKey is the key of how many GPUs a job may have at places that are alike.
type roomKey struct {
	tag, most int32
	at        ledger.Lot
	own       bool
	stays     bool
}

// newKeeper returns nil if nothing is booked; the methods that builders call accept a nil keeper.
func newKeeper(b *builder) *keeper {
	if b.pass.Bookings.Books == nil {
		return nil
	}
	return &keeper{builder: b, base: b.pass.Bookings.Books.Copy(), numbers: map[bookingClass]int32{}, rooms: map[roomKey]int32{}}
}

// orNone returns the keeper for a problem; nil if nothing is booked.
func (k *keeper) orNone() split.Keeper {
	if k == nil {
		return nil
	}
	k.places, k.plain = make([][]ledger.Lot, len(k.nodes)), make([]bool, len(k.nodes))
	for i, id := range k.nodes {
		k.plain[i] = true
		for kind := range k.kinds {
			at := ledger.Lot{}
			at.Node, at.Model = k.pass.Bookings.Books.Place(id, k.kinds[kind].model)
			k.places[i] = append(k.places[i], at)
			k.plain[i] = k.plain[i] && (at == ledger.Lot{} || k.room[i][kind] == 0)
		}
	}
	return k
}

// kindFor returns the kind of GPU that a job is assumed to get on a node: of the kinds that suit the job, the one
// with the most GPUs.
func (k *keeper) kindFor(node int32, j *split.Job) (best int) {
	most := int32(-1)
	for i, n := range k.room[node] {
		if n > most && j.Kinds>>i&1 == 1 {
			best, most = i, n
		}
	}
	return best
}

// lotFor returns the place of a job on a node, as far as bookings distinguish places.
func (k *keeper) lotFor(node int32, j *split.Job) ledger.Lot {
	return k.places[node][k.kindFor(node, j)]
}

// running adds an attempt that runs. A locked attempt stays where it is.
func (k *keeper) running(a *model.Attempt, locked bool) {
	if k == nil {
		return
	}
	s := state.StakeOf(k.pass.State, a)
	if !locked {
		k.base.Give(&s)
	}
	k.stakes = append(k.stakes, s)
}

// waiting adds a task that waits.
func (k *keeper) waiting(key state.QueueKey) {
	if k == nil {
		return
	}
	t := admission.TicketOf(k.pass.State, key.Task)
	k.stakes = append(k.stakes,
		ledger.Stake{User: t.Job.Spec.User, Project: t.Job.Spec.Project, Ends: t.SpecAsPlaced(k.pass.State).CertainEnd(k.pass.Now)})
}

// alike returns a number for tasks that find room in the same places: if nothing is booked, for tasks of one
// shape. It returns -1 for a task of a run with certain ends: such tasks may end at different times, so some of
// them may find no room where others do.
func (k *keeper) alike(run state.Run, shape int32) int32 {
	if k == nil {
		return shape
	}
	if run.Certain > 0 {
		return -1
	}
	id := bookingClassOf(&run)
	n, known := k.numbers[id]
	if !known {
		n = int32(len(k.numbers))
		k.numbers[id] = n
	}
	return n
}

// Reset counts all jobs as gone that are not locked.
func (k *keeper) Reset() {
	k.now, k.fresh = k.base.Copy(), nil
	clear(k.rooms)
	k.shut = nil
}

// Room returns how many free GPUs of a node a job may have.
func (k *keeper) Room(j *split.Job, node, free int32) int32 {
	if k.plain[node] && !k.own {
		return free
	}
	stays := slices.ContainsFunc(j.Place, func(v split.Part) bool { return v.Node == node })
	id := roomKey{j.Tag, free, k.lotFor(node, j), k.own, stays}
	n, known := k.rooms[id]
	if !known {
		n = int32(sort.Search(int(free), func(n int) bool {
			at := id.at
			at.GPUs = uint32(n) + 1
			return !k.allows(j, stays, at) || k.own && !k.now.Free(&k.stakes[j.Tag])
		}))
		k.rooms[id] = n
	}
	return n
}

// Own sets whether only GPUs that are booked for a job itself count as room.
func (k *keeper) Own(only bool) { k.own = only }

// Allows reports whether bookings leave a place to a job.
func (k *keeper) Allows(j *split.Job, at []split.Part) bool {
	alike := make([]ledger.Lot, 0, len(at))
	for _, v := range at {
		lot := k.lotFor(v.Node, j)
		lot.GPUs = uint32(v.GPUs)
		alike = append(alike, lot)
	}
	stays := slices.Equal(at, j.Place)
	if !stays && k.tag == j.Tag && slices.Equal(alike, k.shut) {
		return false
	}
	if k.allows(j, stays, k.lots(j, at)...) {
		return true
	}
	if !stays {
		k.tag, k.shut = j.Tag, alike
	}
	return false
}

// allows reports whether bookings leave a place to a job that stays there or starts there.
func (k *keeper) allows(j *split.Job, stays bool, at ...ledger.Lot) bool {
	books := k.now
	if !stays {
		if k.fresh == nil {
			k.fresh = k.now.Fresh()
		}
		books = k.fresh
	}
	s := &k.stakes[j.Tag]
	s.At = at
	_, ok := books.Allows(s)
	return ok
}

// Put gives a place to a job.
func (k *keeper) Put(j *split.Job, at []split.Part) {
	s := &k.stakes[j.Tag]
	s.At = k.lots(j, at)
	k.now.Put(s)
	k.fresh = nil
	clear(k.rooms)
	k.shut = nil
}

func (k *keeper) lots(j *split.Job, at []split.Part) (out []ledger.Lot) {
	for _, v := range at {
		name := k.kinds[k.kindFor(v.Node, j)].model
		out = append(out, ledger.Lot{Node: k.nodes[v.Node], Model: name, GPUs: uint32(v.GPUs)})
	}
	return slices.Clip(out)
}

// bookingClass is what tasks have in common that bookings treat alike.
type bookingClass struct {
	shape         model.Shape
	user, project string
	certain       model.Magnitude
}

func bookingClassOf(run *state.Run) bookingClass {
	return bookingClass{run.Shape, run.User, run.Project, run.Certain}
}
