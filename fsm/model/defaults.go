package model

import "time"

// Defaults are the cluster's name, and the values of jobs that do not set their own. The default number of
// retries is a parameter of [Tuning].
type Defaults struct {
	Name               string        `cbor:"1,keyasint,omitempty"`  // for display; may be empty
	Class              Class         `cbor:"2,keyasint,omitempty"`  // 0: normal
	IdleStop           time.Duration `cbor:"3,keyasint,omitempty"`  // 0: never
	CheckpointInterval time.Duration `cbor:"4,keyasint,omitempty"`  // of jobs with a checkpoint signal; 0: only before a stop
	Commands           Audience      `cbor:"5,keyasint,omitempty"`  // audience of the commands that jobs run
	MemoryPerCPU       uint32        `cbor:"20,keyasint,omitempty"` // MB for each core of jobs without GPUs; 0: 2000
	Partitions         string        `cbor:"21,keyasint,omitempty"` // of jobs in Slurm's language, as package partition reads them
	QOS                string        `cbor:"22,keyasint,omitempty"` // likewise
	RefuseUnknown      bool          `cbor:"23,keyasint,omitempty"` // a job that names a partition or a QOS in neither is refused
}

// Audience is the set of callers that see what a job runs, in addition to its user and operators. It counts
// while callers of the API are authenticated.
type Audience uint8

// The audiences.
const (
	AudienceProject Audience = 0 // the users in the job's project
	AudienceUser    Audience = 1 // only the job's user and operators
	AudienceAll     Audience = 2 // every user that may read the queue
)

// String returns the audience's name.
func (a Audience) String() string { return NameOf(a+1, "", "project", "user", "all") }

// JobDefaults returns the parameters of Defaults.
func JobDefaults() []Parameter[Defaults] {
	table := func(name, what string, at func(*Defaults) *string) Parameter[Defaults] {
		valid := func(text string) bool { return textFault(text, MaxData) == "" }
		return Parameter[Defaults]{Name: name, What: what, Range: "entries joined by ;, each a name and what it means (docs/slurm.md)", value: func(d *Defaults) field { return label{at(d), valid} }}
	}
	return []Parameter[Defaults]{
		{Name: "name", What: "the cluster's name, for display", Range: "a name", Setting: "cluster.name", value: func(d *Defaults) field { return label{&d.Name, Name} }},
		number("priority", "class of jobs without one: 1 low, 2 normal, 3 high, 4 critical",
			0, uint8(ClassCritical), func(d *Defaults) *uint8 { return (*uint8)(&d.Class) }).withSetting("jobs.default_priority", ""),
		timespanOrOff("idle_stop", "`time` after which jobs whose GPUs are all at 0 % are canceled, unless they set another; 0: never",
			MinIdleStop, MaxDuration, func(d *Defaults) *time.Duration { return &d.IdleStop }).withSetting("jobs.idle_stop", "idle-stop"),
		oneOf("show_commands", "which callers see what a job runs (command, arguments, work folder, values of a sweep) while authentication is on: "+
			"its user and operators (user), the users of its project too (project), or all",
			func(d *Defaults) *Audience { return &d.Commands }, AudienceProject, AudienceUser, AudienceAll),
		timespanOrOff("checkpoint_interval", "interval of the checkpoint signal of jobs without one of their own; 0: only before a stop",
			MinCheckpointInterval, MaxDuration, func(d *Defaults) *time.Duration { return &d.CheckpointInterval }),
		number("memory_per_cpu", "main memory in MB for each core of jobs without GPUs that set no host_memory_gb; 0: 2000",
			0, 1<<20, func(d *Defaults) *uint32 { return &d.MemoryPerCPU }),
		table("partitions", "what partitions mean for jobs in Slurm's language: nodes, limits and priority", func(d *Defaults) *string { return &d.Partitions }),
		table("qos", "what QOS mean for jobs in Slurm's language, in addition to the partition: nodes, limits and priority", func(d *Defaults) *string { return &d.QOS }),
		flag("refuse_unknown_partitions", "a job in Slurm's language that names an unknown partition or QOS is refused; otherwise there is a warning",
			func(d *Defaults) *bool { return &d.RefuseUnknown }),
	}
}

// Validate returns the value that is not allowed, and the allowed ones; nil when all are allowed.
func (d *Defaults) Validate() error {
	if d.Name != "" && !Name(d.Name) {
		return WantName("name", d.Name)
	}
	for _, p := range JobDefaults() {
		if p.value(d).wrong() {
			return want(p.Name, "%s", p.Range)
		}
	}
	return nil
}
