package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// patient is a GPU under observation.
type patient struct {
	t      *testing.T
	c      Config
	r      Record
	now    time.Time
	events []Event
}

func newPatient(t *testing.T) *patient {
	return &patient{t: t, c: Defaults(), now: time.Unix(1_700_000_000, 0)}
}

// well returns the reading of an idle GPU without faults.
func well() Reading { return Reading{Recovery: RecoveryNone, Temperature: 40, Idle: true} }

// with returns such a reading with a change.
func with(change func(*Reading)) Reading {
	in := well()
	change(&in)
	return in
}

// lives takes readings for so long, one a second at first. Xids come with the first.
func (p *patient) lives(d time.Duration, in Reading) *patient {
	for spent, step := time.Duration(0), time.Second; spent < d; spent += step {
		if spent > time.Hour/2 {
			step = min(time.Minute, d-spent)
		}
		var events []Event
		p.r, events = p.c.Next(p.r, p.now, in)
		p.events = append(p.events, events...)
		in.Xids = nil
		p.now = p.now.Add(step)
	}
	return p
}

func (p *patient) is(want model.Health, why string) *patient {
	p.t.Helper()
	if v := p.r.Verdict(); v.Health != want || !strings.Contains(v.Why, why) || (v.Health == model.HealthHealthy) != (v.Why == "") {
		p.t.Errorf("after %s it is %s (%q), want %s (%q)", p.now.UTC().Format(time.TimeOnly), v.Health, v.Why, want, why)
	}
	return p
}

const (
	moment  = time.Second
	rise    = 6 * time.Second // one second more than the default: so many seconds lie between seven readings
	settled = 31 * time.Second
)

// Every cause counts when it should, gives its reason, and is over when it should be.
func TestCauses(t *testing.T) {
	stranger := Stranger{PID: 71, Name: "python", User: "ann", MemoryMB: 3000}
	for name, c := range map[string]struct {
		in     Reading
		after  time.Duration // how long it takes to count
		want   model.Health
		why    string
		over   time.Duration // how long it takes to be over; 0: for ever
		before time.Duration // after which it does not count yet
	}{
		"silent": {with(func(r *Reading) { r.Trouble = TroubleSilent }), 61 * time.Second, model.HealthQuarantined, "NVML does not answer", settled, time.Minute},
		"error": {
			with(func(r *Reading) { r.Trouble, r.Detail = TroubleError, "odd" }), 61 * time.Second, model.HealthQuarantined, "error: odd", settled,
			time.Minute,
		},
		"refuses":     {with(func(r *Reading) { r.Trouble = TroubleReset }), moment, model.HealthQuarantined, "reset", settled, 0},
		"recovery":    {with(func(r *Reading) { r.Recovery = RecoveryReset }), moment, model.HealthQuarantined, "needs a reset", settled, 0},
		"drain":       {with(func(r *Reading) { r.Recovery = RecoveryDrain }), moment, model.HealthQuarantined, "drained", settled, 0},
		"newer":       {with(func(r *Reading) { r.Recovery = RecoveryOther }), moment, model.HealthQuarantined, "recovery", settled, 0},
		"lost":        {with(func(r *Reading) { r.Trouble = TroubleLost }), rise, model.HealthQuarantined, "lost", 0, rise - moment},
		"remap":       {with(func(r *Reading) { r.Remap.Failed = true }), moment, model.HealthQuarantined, "replace", 0, 0},
		"pending":     {with(func(r *Reading) { r.Remap.Pending = true }), moment, model.HealthDegraded, "wait for a reset", settled, 0},
		"uncorrected": {with(func(r *Reading) { r.Uncorrected = 3 }), moment, model.HealthDegraded, "3 uncorrected", settled, 0},
		"hot":         {with(func(r *Reading) { r.Temperature = 86 }), rise, model.HealthDegraded, "85 °C", settled, rise - moment},
		"critical":    {with(func(r *Reading) { r.Temperature = 96 }), rise, model.HealthQuarantined, "95 °C", settled, rise - moment},
		"leftover":    {with(func(r *Reading) { r.Leftover = true }), 61 * time.Second, model.HealthDirty, "memory", settled, time.Minute},
		"stranger": {
			with(func(r *Reading) { r.Strangers = []Stranger{stranger}; r.Idle = false }), rise, model.HealthUnmanaged, "python (pid 71) of ann with 2 GB", settled,
			rise - moment,
		},
	} {
		t.Run(name, func(t *testing.T) {
			newPatient(t).lives(c.before, c.in).is(model.HealthHealthy, "")
			p := newPatient(t).lives(c.after, c.in).is(c.want, c.why)
			if c.over == 0 {
				p.lives(48*time.Hour, well()).is(c.want, c.why)
				return
			}
			p.lives(c.over-moment, well()).is(c.want, c.why).lives(moment, well()).is(model.HealthHealthy, "")
		})
	}
}

// A GPU at the threshold does not flap: it must be clearly cooler to be well.
func TestHysteresis(t *testing.T) {
	at := func(celsius int16) Reading { return with(func(r *Reading) { r.Temperature = celsius }) }
	newPatient(t).lives(time.Hour, at(85)).is(model.HealthHealthy, "").
		lives(rise, at(86)).is(model.HealthDegraded, "85").
		lives(time.Hour, at(81)).is(model.HealthDegraded, "85").
		lives(settled, at(80)).is(model.HealthHealthy, "").
		lives(time.Hour, at(84)).is(model.HealthHealthy, "")
	newPatient(t).lives(time.Minute, at(100)).is(model.HealthQuarantined, "95").
		lives(time.Minute, at(88)).is(model.HealthDegraded, "85").
		lives(time.Minute, at(0)).is(model.HealthHealthy, "")
}

// While the driver does not answer, known causes stay known.
func TestTroubleHidesNothing(t *testing.T) {
	newPatient(t).lives(rise, with(func(r *Reading) { r.Remap.Pending = true })).
		lives(time.Hour, Reading{Trouble: TroubleSilent}).is(model.HealthQuarantined, "NVML").
		lives(settled, with(func(r *Reading) { r.Remap.Pending = true })).is(model.HealthDegraded, "wait for a reset")
}

func xid(code uint64) Reading {
	return with(func(r *Reading) { r.Xids = []Xid{{Code: code, PID: 7}} })
}

// What a code does to its GPU, and whether an hour of quiet after a reset heals it.
func TestXids(t *testing.T) {
	for _, c := range []struct {
		code   uint64
		class  Class
		health model.Health
		heals  bool
	}{
		{13, ClassApplication, model.HealthHealthy, true},
		{31, ClassApplication, model.HealthHealthy, true},
		{43, ClassIgnore, model.HealthHealthy, true},
		{45, ClassApplication, model.HealthHealthy, true},
		{48, ClassReset, model.HealthQuarantined, true},
		{63, ClassIgnore, model.HealthHealthy, true},
		{74, ClassReset, model.HealthQuarantined, true},
		{79, ClassRestart, model.HealthQuarantined, false},
		{94, ClassApplication, model.HealthHealthy, true},
		{95, ClassReset, model.HealthQuarantined, true},
		{119, ClassReset, model.HealthQuarantined, true},
		{154, ClassIgnore, model.HealthHealthy, true},
		{0, ClassQuarantine, model.HealthQuarantined, false},
		{999, ClassQuarantine, model.HealthQuarantined, false},
		{1<<64 - 1, ClassQuarantine, model.HealthQuarantined, false},
	} {
		t.Run(fmt.Sprint(c.code), func(t *testing.T) {
			p := newPatient(t).lives(moment, xid(c.code)).is(c.health, "")
			if c.health == model.HealthQuarantined {
				p.is(c.health, fmt.Sprintf("Xid %d", c.code))
			}
			if got := p.c.Class(c.code); got != c.class {
				t.Errorf("its class is %s, want %s", got, c.class)
			}
			told := len(p.events) == 1 && p.events[0] == Event{Xid: c.code, Class: c.class, PID: 7}
			if told != (c.class > ClassIgnore) {
				t.Errorf("events: %+v", p.events)
			}
			want := model.HealthHealthy
			if !c.heals {
				want = c.health
			}
			p.lives(48*time.Hour, well()).is(want, "")
		})
	}
}

// The configuration overrules the catalogue, both ways.
func TestXidsConfigured(t *testing.T) {
	p := newPatient(t)
	p.c.Xids = map[uint64]Class{13: ClassQuarantine, 79: ClassIgnore, 999: ClassApplication}
	p.lives(moment, xid(79)).lives(moment, xid(999)).is(model.HealthHealthy, "").lives(moment, xid(13)).is(model.HealthQuarantined, "Xid 13")
}

// A fault is lifted after ten minutes in which the GPU was idle and quiet and the driver recommended nothing.
func TestRetest(t *testing.T) {
	busy := with(func(r *Reading) { r.Idle = false })
	wants := with(func(r *Reading) { r.Recovery = RecoveryReset })
	const retest = 10 * time.Minute
	newPatient(t).lives(moment, xid(48)).lives(retest-moment, well()).is(model.HealthQuarantined, "Xid 48").
		lives(moment, well()).is(model.HealthHealthy, "")
	newPatient(t).lives(moment, xid(48)).lives(24*time.Hour, busy).is(model.HealthQuarantined, "Xid 48").
		lives(24*time.Hour, wants).is(model.HealthQuarantined, "Xid 48").
		lives(retest, well()).is(model.HealthQuarantined, "Xid 48").lives(moment, well()).is(model.HealthHealthy, "")
	newPatient(t).lives(moment, xid(48)).lives(retest-moment, well()).lives(moment, xid(74)).
		lives(retest-moment, well()).is(model.HealthQuarantined, "Xid 74").lives(moment, well()).is(model.HealthHealthy, "")
}

// Each relapse doubles the time, up to a day.
func TestRelapses(t *testing.T) {
	p := newPatient(t)
	for _, minutes := range []int{10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440, 1440} {
		d := time.Duration(minutes) * time.Minute
		p.lives(moment, xid(48)).lives(d-moment, well()).is(model.HealthQuarantined, "Xid 48").lives(moment, well()).is(model.HealthHealthy, "")
	}
}

// Where the driver cannot report a reset, only a restart of the host counts.
func TestRestore(t *testing.T) {
	mute := with(func(r *Reading) { r.Recovery = RecoveryUnknown })
	p := newPatient(t).lives(moment, xid(48)).lives(48*time.Hour, mute).is(model.HealthQuarantined, "Xid 48")
	again := newPatient(t)
	again.r = Restore(p.r.Fault(), false)
	again.is(model.HealthQuarantined, "Xid 48").lives(48*time.Hour, mute).is(model.HealthQuarantined, "Xid 48")
	again.r = Restore(again.r.Fault(), true)
	again.is(model.HealthQuarantined, "probation").lives(9*time.Minute, mute)
	again.r = Restore(again.r.Fault(), true)
	if why := again.r.Verdict().Why; strings.Count(why, "probation") != 1 {
		t.Errorf("after two restarts: %q", why)
	}
	again.lives(11*time.Minute, mute).is(model.HealthHealthy, "")
	if f := again.r.Fault(); f != (Fault{Relapses: 1}) {
		t.Errorf("what is left of a fault that was lifted: %+v", f)
	}
	for _, code := range []uint64{79, 999} {
		p := newPatient(t).lives(moment, xid(code)).lives(48*time.Hour, well()).is(model.HealthQuarantined, "Xid")
		p.r = Restore(p.r.Fault(), true)
		p.lives(11*time.Minute, well()).is(model.HealthHealthy, "")
	}
	none := Restore(Fault{}, true)
	if v := none.Verdict(); v.Health != model.HealthHealthy {
		t.Errorf("without a fault: %+v", v)
	}
}

// The graver fault is reported, and a lesser one after it changes nothing.
func TestGraverFaultStays(t *testing.T) {
	newPatient(t).lives(moment, xid(48)).lives(moment, xid(79)).is(model.HealthQuarantined, "Xid 79").
		lives(moment, xid(48)).is(model.HealthQuarantined, "Xid 79").lives(48*time.Hour, well()).is(model.HealthQuarantined, "Xid 79")
}

// Many foreign processes make a short text, which does not change with each of them.
func TestStrangers(t *testing.T) {
	list := []Stranger{{PID: 1}, {PID: 2, Name: "b"}, {PID: 3, User: "c", MemoryMB: 2048}, {PID: 4}, {PID: 5}}
	want := "not started by Berth: a process (pid 1) with less than 1 GB, b (pid 2) with less than 1 GB, a process (pid 3) of c with 2 GB and 2 more"
	if got := strangers(list); got != want {
		t.Errorf("%q", got)
	}
	list[2].MemoryMB = 3071
	if got := strangers(list); got != want {
		t.Errorf("with a little more memory: %q", got)
	}
}

func TestUnused(t *testing.T) {
	c, start := Defaults(), time.Unix(1_700_000_000, 0)
	job, idle := func(int) string { return "job" }, func(int) uint8 { return 0 }
	for name, test := range map[string]struct {
		held func(minute int) string
		used func(minute int) uint8
		gap  int // minute that is not measured
		want int // minute of the first warning; -1: none in two hours
	}{
		"idle from the start":    {job, idle, -1, 30},
		"idle later":             {job, func(m int) uint8 { return uint8(max(0, 40-m)) }, -1, 70},
		"now and then":           {job, func(m int) uint8 { return uint8(m % 30 / 29) }, -1, -1},
		"free":                   {func(int) string { return "" }, idle, -1, -1},
		"free now and then":      {func(m int) string { return []string{"", "job"}[min(1, m%20)] }, idle, -1, -1},
		"one job after another":  {func(m int) string { return fmt.Sprint("job ", m/20) }, idle, -1, -1},
		"one that works always":  {job, func(int) uint8 { return 100 }, -1, -1},
		"a while without a look": {job, idle, 20, 51},
	} {
		var u Unused
		first := -1
		for s := range 120 * 12 { // every five seconds
			m := s / 12
			now := start.Add(time.Duration(s) * 5 * time.Second)
			if m == test.gap {
				continue
			}
			u = u.Next(now, test.held(m), test.used(m))
			if got := u.For(); c.Warning(u, now) != "" != (got >= c.Unused) {
				t.Fatalf("%s: unused for %s", name, got)
			}
			if first < 0 && c.Warning(u, now) != "" {
				first = m
			}
		}
		if first != test.want {
			t.Errorf("%s: the first warning is in minute %d, want %d", name, first, test.want)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := Defaults().Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Config){
		"rise":     func(c *Config) { c.Rise = 0 },
		"critical": func(c *Config) { c.Critical = c.Hot },
		"hyst":     func(c *Config) { c.Hysteresis = c.Hot },
		"class":    func(c *Config) { c.Xids = map[uint64]Class{1: 9} },
	} {
		c := Defaults()
		if spoil(&c); c.Check() == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

func TestClassNames(t *testing.T) {
	for c := ClassIgnore; c <= ClassRestart; c++ {
		if got, ok := ClassOf(c.String()); !ok || got != c {
			t.Errorf("%s is read as %s, %v", c, got, ok)
		}
	}
	for _, name := range []string{"", "odd", "Reset", Class(99).String()} {
		if c, ok := ClassOf(name); ok {
			t.Errorf("%q is read as %s", name, c)
		}
	}
}
