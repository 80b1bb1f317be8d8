package valid

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-gpu/berth/fsm/model"
)

// MaxAddress bounds the address of a client, in bytes.
const MaxAddress = 64

// Member checks the role and the name of a member of the cluster.
func Member(role model.Role, name string) error {
	switch {
	case role != model.RoleAgent && role != model.RolePeer:
		return Problem("role", "agent or peer")
	case !model.Name(name):
		return model.WantName("name", name)
	}
	return nil
}

// Limits checks the bounds, and that no value is given twice.
func Limits(list []model.LimitValue) error {
	for i, v := range list {
		if err := v.Of.Check(v.Value); err != nil {
			return err
		}
		if slices.ContainsFunc(list[:i], func(o model.LimitValue) bool { return o.Of == v.Of }) {
			return Problem(v.Of.String(), "given once")
		}
	}
	return nil
}

// Scope checks the name of a scope.
func Scope(k model.ScopeKey) error {
	switch k.Kind {
	case model.ScopeCluster:
		if k.Name != "" {
			return Problem("scope", "without a name for the cluster")
		}
	case model.ScopeProject, model.ScopeUser:
		return model.WantName("name", k.Name)
	default:
		return Problem("scope", "cluster, project or user")
	}
	return nil
}

// Policy checks the form of a policy's name.
func Policy(p string) error {
	if !model.Name(p) {
		return Problem("policy", "a policy's name")
	}
	return nil
}

// Retention checks how long ended jobs are kept.
func Retention(r model.Retention) error {
	if r.Age < model.MinRetained || r.Age > 10*model.MaxDuration || r.Jobs > model.MaxRetained {
		return Problem("retention", fmt.Sprintf("at least a minute and at most %d jobs", model.MaxRetained))
	}
	return nil
}

// Import checks the id of an import.
func Import(id model.Hash) error {
	if id.IsZero() {
		return Problem("import_id", "the SHA-256 of what is imported")
	}
	return nil
}

// MaxSealed returns the most bytes that a text of at most n bytes has once it is sealed.
func MaxSealed(n int) int {
	const key, nonce, tag = 17, 24, 16 // the name of the key and a colon; both of the cipher, as base64 with the text
	return len(model.SealedPrefix) + key + base64.RawStdEncoding.EncodedLen(nonce+tag+n)
}

// SealedWithin reports whether a text is sealed, and of a text of at most n bytes.
func SealedWithin(text string, n int) bool { return model.Sealed(text) && len(text) <= MaxSealed(n) }

// Stdin checks the standard input of a job.
func Stdin(text string) error {
	if SealedWithin(text, model.MaxScript) {
		return nil
	}
	_, err := model.Stdin(text)
	return err
}

// Array checks that an array has as many indices as tasks.
func Array(spec *model.Spec, tasks uint32) error {
	if n := spec.Count(); spec.Array != "" && n != int(tasks) {
		return Problem("array_indices", "as many as there are tasks")
	}
	return nil
}

// Env checks the environment of a job: NAME=value, sorted by name; or all in one text that is sealed.
func Env(env []string) error { return variables("env", env, model.MaxEnv, model.EnvName) }

// MaxSubmitEnv bounds the environment of a submission, in bytes.
const MaxSubmitEnv = 1 << 20

// ShellFunction reports whether s is the name under which bash exports a function to its children: BASH_FUNC_name%% (CVE-2014-6271
// and its successors, September 2014). Environment modules export theirs in this way.
func ShellFunction(s string) bool {
	name, is := strings.CutPrefix(s, "BASH_FUNC_")
	name, ends := strings.CutSuffix(name, "%%")
	return is && ends && name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '=' || r == 0x7f })
}

// SubmitEnv checks the environment of a submission: as Env, and with exported shell functions.
func SubmitEnv(env []string) error {
	return variables("submit_env", env, MaxSubmitEnv, func(name string) bool { return model.EnvName(name) || ShellFunction(name) })
}

func variables(field string, env []string, most int, named func(string) bool) error {
	if len(env) == 1 && SealedWithin(env[0], most) {
		return nil
	}
	size, last := 0, ""
	for _, kv := range env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || !named(name) || strings.ContainsRune(kv, 0) || !utf8.ValidString(kv) {
			return Problem(field, "NAME=value, names of letters, digits and _ that begin with no digit, no NUL")
		}
		if name <= last {
			return Problem(field, "sorted by name, each name once")
		}
		last = name
		size += len(kv) + 1
	}
	if size > most {
		return Problem(field, fmt.Sprintf("at most %d bytes in all", most))
	}
	return nil
}

// Target checks the job and the task that a command is about; [model.AllTasks] means every task.
func Target(job model.JobID, task int64) error {
	if job == 0 {
		return Problem("job", "a job's number")
	}
	if task < model.AllTasks || task > model.MaxIndex {
		return Problem("task", "-1 (all) to 999999")
	}
	return nil
}

// Tasks checks a selection of an array's tasks; empty: none is selected.
func Tasks(task int64, some string) error {
	if some == "" {
		return nil
	}
	x, err := model.ParseIndices(some)
	if err != nil || x.String() != some || task != model.AllTasks {
		return Problem("task", "a number, or numbers and ranges in rising order such as 3,7-9")
	}
	return nil
}

// Note checks a note of a user.
func Note(s string) error {
	if !model.Text(s, model.MaxText) {
		return Problem("note", "at most 512 bytes of text on one line")
	}
	return nil
}

// TTL checks the time of an allocation; 0 means none.
func TTL(d time.Duration) error {
	if d < 0 || d > model.MaxDuration {
		return Problem("ttl", "0 (none) to 366 days")
	}
	return nil
}

// Problem returns the error for a field that is not what want describes.
func Problem(field, want string) error { return &model.Problem{Field: field, Want: want} }

// Count checks the length of a list.
func Count(field string, n, low, high int) error {
	if n < low || n > high {
		return Problem(field, "within the bounds of a list")
	}
	return nil
}

// FirstOf returns the first error that is not nil.
func FirstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Devices checks an agent's list of GPUs.
func Devices(list []model.Device) error {
	if err := Count("devices", len(list), 0, model.MaxDevices); err != nil {
		return err
	}
	for i := range list {
		d := &list[i]
		id := strings.ReplaceAll(string(d.ID), "/", "-") // older drivers name parts of a GPU (MIG) with slashes
		if !model.Name(id) || !d.Health.Valid() || d.Health == model.HealthMissing ||
			!model.Text(d.Model, model.MaxName) || !model.Text(d.PCI, model.MaxName) ||
			!model.Text(d.Link, model.MaxName) || !model.Text(d.Why, model.MaxText) {
			return Problem("device", "a UUID, a health and short texts")
		}
	}
	ids := slices.SortedFunc(func(yield func(model.GPUID) bool) {
		for i := range list {
			if !yield(list[i].ID) {
				return
			}
		}
	}, model.GPUID.Compare)
	if len(slices.Compact(ids)) != len(list) {
		return Problem("devices", "different")
	}
	return nil
}

// Reports checks an agent's reports of ranks.
func Reports(list []model.Progress) error {
	if err := Count("reports", len(list), 0, 4096); err != nil {
		return err
	}
	for i := range list {
		p := &list[i]
		if p.Address != "" {
			host := p.Address
			if strings.Contains(host, ":") { // IPv6
				host = "[" + host + "]"
			}
			if err := model.CheckHostPort(host + ":1"); err != nil {
				return Problem("report's address", "an IP address or a host name at which other ranks can reach this one")
			}
		}
		if p.Phase < model.RankTaken || p.Phase > model.RankNever ||
			!model.Text(p.Detail, model.MaxText) || p.Saved < 0 || p.Saved > model.MaxRan || !believable(&p.Exit) {
			return Problem("report", "a phase from taken to never_started, with short texts and times within bounds")
		}
	}
	return nil
}

func believable(e *model.Exit) bool {
	return e.Ran >= 0 && e.Ran <= model.MaxRan && e.Saved >= 0 && e.Saved <= model.MaxRan && e.PeakMB <= model.MaxPeakMB &&
		e.DiskMB <= model.MaxDiskMB && e.DiskMaxMB <= model.MaxDiskMB &&
		e.Watched <= model.MaxWatched && e.Idle <= e.Watched && (e.Delivered == model.ReasonNone || e.Delivered.Stops())
}

// Trouble checks the text of what troubles a node.
func Trouble(text string) error {
	if !model.Text(text, model.MaxText) {
		return Problem("trouble", "at most 512 bytes of text on one line")
	}
	return nil
}

// Missing checks the users whose account a node lacks.
func Missing(users []string) error {
	if len(users) > model.MaxMissing || !slices.IsSorted(users) || slices.ContainsFunc(users, func(v string) bool { return !model.Name(v) }) {
		return Problem("missing", fmt.Sprintf("at most %d names of users, sorted", model.MaxMissing))
	}
	return nil
}

// Labels checks labels, which only an operator may remove.
func Labels(text string, mayGo bool) error {
	all, err := model.ParseLabels(text)
	gone := slices.ContainsFunc(all, func(v model.Label) bool { return v.Gone })
	if err != nil || all.String() != text || gone && !mayGo {
		return Problem("labels", "labels such as zone=a, sorted, each once")
	}
	return nil
}

// Mode checks the mode of a node.
func Mode(m model.NodeMode) error {
	if m > model.ModeDraining {
		return Problem("mode", "open, cordoned or draining")
	}
	return nil
}

// Hook checks the id of a webhook.
func Hook(id model.WebhookID) error {
	if !model.Name(string(id)) {
		return Problem("id", "a webhook's id")
	}
	return nil
}

// Pools checks how GPUs are divided between owners and others.
func Pools(p model.Pools) error {
	switch {
	case p.Mode != model.PoolDefault && !p.Mode.Valid():
		return Problem("mode", "dynamic, static or hybrid")
	case p.Part > 1000:
		return Problem("reserved_ratio", "above 0 and at most 1")
	}
	return nil
}
