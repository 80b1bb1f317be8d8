package runner

// Runner starts and watches the supervisors of a node's ranks. Its methods may be
// called from any goroutine.
type Runner interface {
	// Start starts a supervisor for the rank of a folder.
	Start(folder *Folder, r *Record) error
	Finder
	// Wake lets a rank's supervisor look at its orders.
	Wake(r *Record) error
	// Bury kills what a rank has left whose supervisor is gone, and returns why it is
	// not shown that nothing is left; nil: it is.
	Bury(r *Record, s Status) error
	// Events are news of supervisors. The channel is never closed.
	Events() <-chan Event
}

// Finder finds what agents before this one have started.
type Finder interface {
	// Adopt finds the living supervisor of the rank whose folder has that name, whatever
	// has become of its files, and watches it from now on; false: there is none.
	Adopt(name string, r *Record) (Status, bool)
	// Survivors lists the living supervisors of the agents before this one that have a
	// rank, by what their processes show of themselves. No file is needed for that.
	Survivors() []Survivor
	// Strays kills processes that agents before this one had started, with the nonce of a
	// rank that is not known, and returns how many there were.
	Strays(known func(nonce string) bool) int
}

// Survivor is a living supervisor and its rank.
type Survivor struct {
	Name   string // of the rank's folder
	Record *Record
	Status Status
}

// Event is news of a supervisor.
type Event struct {
	Name   string // of the rank's folder
	Status Status // without Gone
	Gone   bool   // the supervisor's process has ended
}
