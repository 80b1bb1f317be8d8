package command

// Adopt makes foreign attempts those of their tasks: they run on nodes, and this state, which came from a backup, does not
// know them. A job that the state does not know is added with these tasks only.
type Adopt struct {
	Job      ImportedJob `cbor:"1,keyasint,omitempty"` // as the nodes have it; its array, if it is one, names the tasks of the attempts
	Texts    []string    `cbor:"2,keyasint,omitempty"` // that the job names, see [ImportJobs]
	Attempts []Place     `cbor:"3,keyasint,omitempty"` // in the order of their keys, each of another task
	Placed   []uint64    `cbor:"4,keyasint,omitempty"` // for each: the place of its placement in the log, which that of this cluster does not have
}

// Kind returns KindAdopt.
func (*Adopt) Kind() Kind { return KindAdopt }

func (b *Adopt) tasks() int { return len(b.Attempts) }

// Validate checks the job like a submission, and that the attempts are of its tasks.
func (b *Adopt) Validate() error {
	if b.Job.ID == 0 || len(b.Job.After) > 0 || b.Job.Held != "" {
		return invalid("job", "given, without dependencies and held tasks")
	}
	if err := (&ImportJobs{Texts: b.Texts}).validJob(&b.Job); err != nil {
		return err
	}
	if int(b.Job.Tasks) != len(b.Attempts) || len(b.Placed) != len(b.Attempts) {
		return invalid("attempts", "one of each task of the job")
	}
	for i := range b.Attempts {
		a := &b.Attempts[i]
		if a.Attempt.Job != b.Job.ID || i > 0 && a.Attempt.TaskKey().Compare(b.Attempts[i-1].Attempt.TaskKey()) <= 0 {
			return invalid("attempts", "of the job, one of each task, in rising order")
		}
		if err := a.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Target returns the job.
func (b *Adopt) Target() string { return TargetJob(b.Job.ID) }
