package runner

// Runner starts and watches the supervisors of a node's ranks. Its methods may be
// called from any goroutine.
type Runner interface {
	// Start starts a supervisor for the rank of a folder.
	Start(folder *Folder, r *Record) error
	// Adopt finds the living supervisor of a rank and watches it from now on;
	// false: there is none.
	Adopt(folder *Folder, r *Record) (Status, bool)
	// Wake lets a rank's supervisor look at its orders.
	Wake(r *Record) error
	// Bury kills what a rank has left whose supervisor is gone, and returns why it is
	// not shown that nothing is left; nil: it is.
	Bury(r *Record, s Status) error
	// Events are news of supervisors. The channel is never closed.
	Events() <-chan Event
}

// Event is news of a supervisor.
type Event struct {
	Name   string // of the rank's folder
	Status Status // without Gone
	Gone   bool   // the supervisor's process has ended
}
