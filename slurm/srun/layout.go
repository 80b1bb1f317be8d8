package srun

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-gpu/berth/slurm/environ"
)

// Room is what a node of the job has.
type Room struct {
	Name  string
	Tasks int // of the job
	Cores int // 0: unknown, and not counted
	GPUs  int
}

// Use is what steps hold of a node.
type Use struct {
	Steps int // that hold a part of the node
	Whole bool
	Cores int
	GPUs  []int // places among the GPUs of the node
}

// Share is the part of a step on one node.
type Share struct {
	Node  int   // place among the nodes of the job
	Tasks int   // at least 1
	Ranks []int // of the tasks, in rising order
	GPUs  []int // places among the GPUs of the node; nil: all of them
	Hold  Use   // what no other step may hold as long as the step runs; Steps is 0 if it holds nothing, else 1
}

// Layout is where the tasks of a step run.
type Layout struct {
	Shares []Share // in rising order of their nodes
	Notes  []string
}

// ErrBusy is the error of a step that has to wait for the end of others.
var ErrBusy = errors.New("Requested nodes are busy") //nolint:staticcheck // the words of Slurm, in a message after others

// Impossible is the error of a step that its job can never run.
type Impossible struct{ Problem string }

// Error returns the problem.
func (e *Impossible) Error() string { return e.Problem }

func never(format string, args ...any) error { return &Impossible{fmt.Sprintf(format, args...)} }

// unbounded is the number of tasks for which a node without a known number of cores has room.
const unbounded = 1 << 20

// planner finds the place of one step.
type planner struct {
	rooms []Room
	uses  []Use
	size  Size
	notes []string
}

// Place returns where the tasks of a step run, if uses is what other steps hold. The rules are those of Slurm, with two differences: a
// step with more tasks than cores shares the cores, and a step that was given a size (--ntasks, --cpus-per-task, a number of GPUs) holds no
// more than that. The error is [ErrBusy] or an [*Impossible].
func Place(rooms []Room, uses []Use, size Size) (Layout, error) {
	layout, err := place(rooms, uses, size)
	if err == nil {
		return layout, nil
	}
	if _, alone := place(rooms, make([]Use, len(rooms)), size); alone != nil { // it would never run
		return Layout{}, alone
	}
	return Layout{}, ErrBusy
}

func place(rooms []Room, uses []Use, size Size) (Layout, error) {
	p := planner{rooms: rooms, uses: uses, size: size}
	candidates, required, err := p.candidates()
	if err != nil {
		return Layout{}, err
	}
	least, most, err := p.bounds(candidates)
	if err != nil {
		return Layout{}, err
	}
	free := slices.DeleteFunc(slices.Clone(candidates), func(i int) bool { return p.capacity(i) < 1 })
	for _, i := range required {
		if !slices.Contains(free, i) {
			return Layout{}, p.lacking(required)
		}
	}
	if len(free) < least {
		return Layout{}, p.lacking(candidates)
	}
	chosen := p.choose(free, len(required), min(most, len(free)))
	tasks := p.tasks(chosen)
	if tasks > MaxTasks {
		return Layout{}, never("%d tasks are more than %d", tasks, MaxTasks)
	}
	counts, err := p.counts(chosen, tasks)
	if err != nil {
		return Layout{}, err
	}
	shares, err := p.shares(chosen, counts)
	return Layout{Shares: shares, Notes: p.notes}, err
}

// candidates returns the nodes on which the step may run, required ones first.
func (p *planner) candidates() (all []int, required []int, err error) {
	place := func(name string) int {
		return slices.IndexFunc(p.rooms, func(r Room) bool { return r.Name == name })
	}
	for _, name := range p.size.NodeList {
		i := place(name)
		if i < 0 {
			return nil, nil, never("Requested node configuration is not available: node %s does not belong to the job", name)
		}
		if !slices.Contains(required, i) {
			required = append(required, i)
		}
	}
	slices.Sort(required)
	all = slices.Clone(required)
	if len(required) > 0 && p.size.Nodes.Max == 0 {
		return all, required, nil
	}
	for i, room := range p.rooms {
		if i >= p.size.Relative && !slices.Contains(required, i) && !slices.Contains(p.size.Exclude, room.Name) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return nil, nil, never("Requested node configuration is not available: no node of the job is left")
	}
	return all, required, nil
}

// bounds returns the numbers of nodes that the step may have.
func (p *planner) bounds(candidates []int) (least, most int, err error) {
	least, most = len(candidates), len(candidates)
	if p.size.Nodes.Max > 0 {
		least, most = p.size.Nodes.Min, min(p.size.Nodes.Max, len(candidates))
	}
	if least > len(candidates) {
		return 0, 0, never("Only allocated %d nodes asked for %d", len(candidates), least)
	}
	if n := p.size.Tasks; n > 0 && n < most {
		if n < least {
			p.notes = append(p.notes, fmt.Sprintf("Warning: can't run %d processes on %d nodes, setting nnodes to %d", n, least, n))
		}
		least, most = min(n, least), n
	}
	return least, most, nil
}

// capacity returns for how many tasks a node has room now; 0: for none, as long as others run there.
func (p *planner) capacity(i int) int {
	room, use := p.rooms[i], p.uses[i]
	if p.size.Overlap {
		use = Use{}
	}
	if use.Whole || !p.size.Exact && use.Steps > 0 {
		return 0
	}
	n := unbounded
	if room.Cores > 0 {
		n = (room.Cores - use.Cores) / max(p.size.CPUsPerTask, 1)
		if use.Steps == 0 {
			n = max(n, 1) // one task of more cores than there are
		}
	}
	if g := p.size.GPUsPerTask; g > 0 && p.size.Exact {
		n = min(n, (room.GPUs-len(use.GPUs))/g)
	}
	return max(n, 0)
}

// lacking returns why too few of these nodes have room.
func (p *planner) lacking(nodes []int) error {
	if slices.ContainsFunc(nodes, func(i int) bool { return p.uses[i].Steps > 0 }) {
		return ErrBusy
	}
	return p.fewGPUs(nodes[0], p.size.GPUsPerTask)
}

func (p *planner) fewGPUs(i, wanted int) error {
	return never("Requested node configuration is not available: node %s has %d GPUs of the job, and the step asks for %d there",
		p.rooms[i].Name, p.rooms[i].GPUs, wanted)
}

// choose returns so many of the free nodes, in rising order: required ones, and then the first ones, or those with most room if the first
// have too little.
func (p *planner) choose(free []int, required, n int) []int {
	first := slices.Clone(free[:n])
	if p.size.Tasks > 0 && n < len(free) {
		room := 0
		for _, i := range first {
			room += p.capacity(i)
		}
		if room < p.size.Tasks {
			others := slices.Clone(free[required:])
			slices.SortStableFunc(others, func(a, b int) int { return p.capacity(b) - p.capacity(a) })
			first = append(slices.Clone(free[:required]), others...)[:n]
		}
	}
	slices.Sort(first)
	return first
}

// usual returns the job's tasks on nodes.
func (p *planner) usual(nodes []int) int {
	n := 0
	for _, i := range nodes {
		n += max(p.rooms[i].Tasks, 1)
	}
	return n
}

func (p *planner) tasks(chosen []int) int {
	switch {
	case p.size.Tasks > 0:
		return p.size.Tasks
	case p.size.TasksPerNode > 0:
		return p.size.TasksPerNode * len(chosen)
	case p.size.FromJob > 0 && len(chosen) == len(p.rooms):
		return max(p.size.FromJob, len(chosen))
	}
	return p.usual(chosen)
}

// counts divides tasks among nodes.
func (p *planner) counts(chosen []int, tasks int) ([]int, error) {
	counts, room := make([]int, len(chosen)), make([]int, len(chosen))
	idle := true
	for at, i := range chosen {
		room[at] = p.capacity(i)
		idle = idle && (p.uses[i].Steps == 0 || p.size.Overlap)
		counts[at] = max(p.rooms[i].Tasks, 1)
	}
	if tasks == p.usual(chosen) && p.size.TasksPerNode == 0 && fits(counts, room, idle) {
		return counts, nil
	}
	if n := p.size.TasksPerNode; n > 0 && n*len(chosen) < tasks {
		p.notes = append(p.notes, fmt.Sprintf("Warning: can't honor --ntasks-per-node set to %d which doesn't match the requested tasks %d "+
			"with the number of requested nodes %d. Ignoring --ntasks-per-node.", n, tasks, len(chosen)))
	} else if n > 0 {
		for at := range room {
			room[at] = min(room[at], n)
		}
	}
	clear(counts)
	left := fill(counts, room, tasks, p.size.Kind, p.size.Plane)
	if left == 0 {
		return counts, nil
	}
	if !idle && p.size.Exact {
		return nil, ErrBusy
	}
	for at := 0; left > 0; at, left = (at+1)%len(counts), left-1 {
		counts[at]++
	}
	return counts, nil
}

// fits reports whether there is room for so many tasks on each node; nodes without other steps have room for any number.
func fits(counts, room []int, idle bool) bool {
	for i := range counts {
		if counts[i] > room[i] && !idle {
			return false
		}
	}
	return true
}

// fill gives each node a task, and then divides the rest as the distribution says, up to the room of each. It returns how many are left.
func fill(counts, room []int, tasks int, kind environ.Kind, plane int) int {
	block := 1
	switch kind {
	case environ.Block:
		block = tasks
	case environ.Plane:
		block = max(plane, 1)
	case environ.Cyclic:
	}
	give := func(i, n int) bool {
		n = min(n, tasks, room[i]-counts[i])
		counts[i] += max(n, 0)
		tasks -= max(n, 0)
		return n > 0
	}
	if kind == environ.Block {
		for i := range counts {
			give(i, 1)
		}
	}
	for more := true; more && tasks > 0; {
		more = false
		for i := range counts {
			more = give(i, block) || more
		}
	}
	return tasks
}

// shares returns the parts of a step on its nodes. A node may be left without tasks, and has none then.
func (p *planner) shares(chosen, counts []int) ([]Share, error) {
	var nodes, some []int
	for at, n := range counts {
		if n > 0 {
			nodes, some = append(nodes, chosen[at]), append(some, n)
		}
	}
	ranks := environ.Distribute(some, p.size.Kind, p.size.Plane)
	shares := make([]Share, len(nodes))
	for at, i := range nodes {
		s := Share{Node: i, Tasks: some[at], Ranks: ranks[at]}
		gpus, err := p.gpus(i, p.wanted(at, len(nodes), some[at]))
		if err != nil {
			return nil, err
		}
		s.GPUs = gpus
		if !p.size.Overlap {
			s.Hold = Use{Steps: 1, Whole: !p.size.Exact, Cores: min(some[at]*max(p.size.CPUsPerTask, 1), max(p.rooms[i].Cores, 0)), GPUs: gpus}
		}
		shares[at] = s
	}
	return shares, nil
}

// wanted returns how many GPUs a step asks for on one of its nodes; below 0: no number.
func (p *planner) wanted(at, nodes, tasks int) int {
	size := &p.size
	switch {
	case size.NoGPUs:
		return 0
	case size.GPUsPerTask > 0 && (size.HoldsGPUs || size.Exact):
		return size.GPUsPerTask * tasks
	case size.GPUsPerNode > 0:
		return size.GPUsPerNode
	case size.GPUs > 0 && at < size.GPUs%nodes:
		return size.GPUs/nodes + 1
	case size.GPUs > 0:
		return size.GPUs / nodes
	}
	return -1
}

// gpus returns GPUs of a node that no other step holds; nil: all of them.
func (p *planner) gpus(i, wanted int) ([]int, error) {
	if wanted < 0 {
		return nil, nil
	}
	if wanted > p.rooms[i].GPUs {
		return nil, p.fewGPUs(i, wanted)
	}
	free, held := []int{}, []int{}
	for g := range p.rooms[i].GPUs {
		if slices.Contains(p.uses[i].GPUs, g) {
			held = append(held, g)
		} else {
			free = append(free, g)
		}
	}
	if p.size.Overlap {
		free = append(free, held...)
	}
	if wanted > len(free) {
		return nil, ErrBusy
	}
	list := slices.Clone(free[:wanted])
	slices.Sort(list)
	return list, nil
}

// Take adds what a step holds on a node, or removes it.
func (u *Use) Take(hold Use, add bool) {
	if hold.Steps == 0 {
		return
	}
	if add {
		u.Steps++
		u.Whole = u.Whole || hold.Whole
		u.Cores += hold.Cores
		u.GPUs = append(slices.Clone(u.GPUs), hold.GPUs...)
		return
	}
	u.Steps--
	u.Whole = u.Whole && !hold.Whole
	u.Cores -= hold.Cores
	u.GPUs = slices.DeleteFunc(slices.Clone(u.GPUs), func(g int) bool { return slices.Contains(hold.GPUs, g) })
}

// NamesGPUs reports whether a step asks for a number of GPUs.
func (s *Size) NamesGPUs() bool { return s.GPUs > 0 || s.GPUsPerNode > 0 || s.GPUsPerTask > 0 }
