package runner

// Runner starts and watches the supervisors of a node's ranks. Its methods may be
// called from any goroutine.
type Runner interface {
	// Start starts a supervisor for the rank of a folder.
	Start(folder *Folder, r *Record) error
	Finder
	// Wake makes a rank's supervisor read its orders.
	Wake(r *Record) error
	// Bury kills what is left of a rank whose supervisor has died, and returns why something may be left;
	// nil: nothing is left.
	Bury(r *Record, s Status) error
	// Events returns the events of supervisors. The channel is never closed.
	Events() <-chan Event
}

// NotReadyError is why no rank can start on this host for now.
type NotReadyError struct{ Why error }

func (e *NotReadyError) Error() string { return e.Why.Error() }

func (e *NotReadyError) Unwrap() error { return e.Why }

// Finder finds processes that previous agents have started.
type Finder interface {
	// Adopt finds the living supervisor of the rank whose folder has that name, whatever the state of its
	// files, and watches it from now on; false: there is none.
	Adopt(name string, r *Record) (Status, bool)
	// Survivors returns the living supervisors of previous agents that have a rank, as their processes
	// identify themselves. No file is needed for that.
	Survivors() []Survivor
	// Strays kills processes that previous agents had started, with the nonce of an unknown rank, and returns
	// their number.
	Strays(known func(nonce string) bool) int
}

// Survivor is a living supervisor and its rank.
type Survivor struct {
	Name   string // of the rank's folder
	Record *Record
	Status Status
}

// Event is an event of a supervisor.
type Event struct {
	Name   string // of the rank's folder
	Status Status // without Gone
	Gone   bool   // the supervisor's process has ended
}
