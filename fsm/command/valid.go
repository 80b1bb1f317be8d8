package command

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
)

// MaxAddress bounds the address of a client, in bytes.
const MaxAddress = 64

// validMember checks the role and the name of a member of the cluster.
func validMember(role model.Role, name string) error {
	switch {
	case role != model.RoleAgent && role != model.RolePeer:
		return invalid("role", "agent or peer")
	case !model.Name(name):
		return model.WantName("name", name)
	}
	return nil
}

// validLimits checks the bounds, and that no value is given twice.
func validLimits(list []model.LimitValue) error {
	for i, v := range list {
		if err := v.Of.Check(v.Value); err != nil {
			return err
		}
		if slices.ContainsFunc(list[:i], func(o model.LimitValue) bool { return o.Of == v.Of }) {
			return invalid(v.Of.String(), "given once")
		}
	}
	return nil
}

// validScope checks the name of a scope.
func validScope(k model.ScopeKey) error {
	switch k.Kind {
	case model.ScopeCluster:
		if k.Name != "" {
			return invalid("scope", "without a name for the cluster")
		}
	case model.ScopeProject, model.ScopeUser:
		return model.WantName("name", k.Name)
	default:
		return invalid("scope", "cluster, project or user")
	}
	return nil
}

// validPolicy checks the form of a policy's name.
func validPolicy(p string) error {
	if !model.Name(p) {
		return invalid("policy", "a policy's name")
	}
	return nil
}

// validRetention checks how long ended jobs are kept.
func validRetention(r model.Retention) error {
	if r.Age < model.MinRetained || r.Age > 10*model.MaxDuration || r.Jobs > model.MaxRetained {
		return invalid("retention", fmt.Sprintf("at least a minute and at most %d jobs", model.MaxRetained))
	}
	return nil
}

// validImport checks the id of an import.
func validImport(id model.Hash) error {
	if id.IsZero() {
		return invalid("import_id", "the SHA-256 of what is imported")
	}
	return nil
}

// MaxSealed returns the most bytes that a text of at most n bytes has once it is sealed.
func MaxSealed(n int) int {
	const key, nonce, tag = 17, 24, 16 // the name of the key and a colon; both of the cipher, as base64 with the text
	return len(model.SealedPrefix) + key + base64.RawStdEncoding.EncodedLen(nonce+tag+n)
}

// sealedWithin reports whether a text is sealed, and of a text of at most n bytes.
func sealedWithin(text string, n int) bool { return model.Sealed(text) && len(text) <= MaxSealed(n) }

// validStdin checks the standard input of a job.
func validStdin(text string) error {
	if sealedWithin(text, model.MaxScript) {
		return nil
	}
	_, err := model.Stdin(text)
	return err
}

// validArray checks that an array has as many indices as tasks.
func validArray(spec *model.Spec, tasks uint32) error {
	if n := spec.Count(); spec.Array != "" && n != int(tasks) {
		return invalid("array_indices", "as many as there are tasks")
	}
	return nil
}

// validEnv checks the environment of a job: NAME=value, sorted by name; or all in one text that is sealed.
func validEnv(env []string) error { return variables("env", env, model.MaxEnv, model.EnvName) }

// MaxSubmitEnv bounds the environment of a submission, in bytes.
const MaxSubmitEnv = 1 << 20

// ValidShellFunction reports whether s is the name under which bash exports a function to its children: BASH_FUNC_name%% (CVE-2014-6271
// and its successors, September 2014). Environment modules export theirs in this way.
func ValidShellFunction(s string) bool {
	name, is := strings.CutPrefix(s, "BASH_FUNC_")
	name, ends := strings.CutSuffix(name, "%%")
	return is && ends && name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '=' || r == 0x7f })
}

// validSubmitEnv checks the environment of a submission: as Env, and with exported shell functions.
func validSubmitEnv(env []string) error {
	return variables("submit_env", env, MaxSubmitEnv, func(name string) bool { return model.EnvName(name) || ValidShellFunction(name) })
}

func variables(field string, env []string, most int, named func(string) bool) error {
	if len(env) == 1 && sealedWithin(env[0], most) {
		return nil
	}
	size, last := 0, ""
	for _, kv := range env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || !named(name) || strings.ContainsRune(kv, 0) || !utf8.ValidString(kv) {
			return invalid(field, "NAME=value, names of letters, digits and _ that begin with no digit, no NUL")
		}
		if name <= last {
			return invalid(field, "sorted by name, each name once")
		}
		last = name
		size += len(kv) + 1
	}
	if size > most {
		return invalid(field, fmt.Sprintf("at most %d bytes in all", most))
	}
	return nil
}

// validTarget checks the job and the task that a command is about; [model.AllTasks] means every task.
func validTarget(job model.JobID, task int64) error {
	if job == 0 {
		return invalid("job", "a job's number")
	}
	if task < model.AllTasks || task > model.MaxIndex {
		return invalid("task", "-1 (all) to 999999")
	}
	return nil
}

// validTasks checks a selection of an array's tasks; empty: none is selected.
func validTasks(task int64, some string) error {
	if some == "" {
		return nil
	}
	x, err := model.ParseIndices(some)
	if err != nil || x.String() != some || task != model.AllTasks {
		return invalid("task", "a number, or numbers and ranges in rising order such as 3,7-9")
	}
	return nil
}

// validNote checks a note of a user.
func validNote(s string) error {
	if !model.Text(s, model.MaxText) {
		return invalid("note", "at most 512 bytes of text on one line")
	}
	return nil
}

// validTTL checks the time of an allocation; 0 means none.
func validTTL(d time.Duration) error {
	if d < 0 || d > model.MaxDuration {
		return invalid("ttl", "0 (none) to 366 days")
	}
	return nil
}

// invalid returns the error for a field that is not what want describes.
func invalid(field, want string) error { return &model.Problem{Field: field, Want: want} }

// validCount checks the length of a list.
func validCount(field string, n, low, high int) error {
	if n < low || n > high {
		return invalid(field, "within the bounds of a list")
	}
	return nil
}

// validFirstOf returns the first error that is not nil.
func validFirstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// validDevices checks an agent's list of GPUs.
func validDevices(list []model.Device) error {
	if err := validCount("devices", len(list), 0, model.MaxDevices); err != nil {
		return err
	}
	for i := range list {
		d := &list[i]
		id := strings.ReplaceAll(string(d.ID), "/", "-") // older drivers name parts of a GPU (MIG) with slashes
		if !model.Name(id) || !d.Health.Valid() || d.Health == model.HealthMissing ||
			!model.Text(d.Model, model.MaxName) || !model.Text(d.PCI, model.MaxName) ||
			!model.Text(d.Link, model.MaxName) || !model.Text(d.Why, model.MaxText) {
			return invalid("device", "a UUID, a health and short texts")
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
		return invalid("devices", "different")
	}
	return nil
}

// validReports checks an agent's reports of ranks.
func validReports(list []model.Progress) error {
	if err := validCount("reports", len(list), 0, 4096); err != nil {
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
				return invalid("report's address", "an IP address or a host name at which other ranks can reach this one")
			}
		}
		if p.Phase < model.RankTaken || p.Phase > model.RankNever ||
			!model.Text(p.Detail, model.MaxText) || p.Saved < 0 || p.Saved > model.MaxRan || !believable(&p.Exit) {
			return invalid("report", "a phase from taken to never_started, with short texts and times within bounds")
		}
	}
	return nil
}

func believable(e *model.Exit) bool {
	return e.Ran >= 0 && e.Ran <= model.MaxRan && e.Saved >= 0 && e.Saved <= model.MaxRan && e.PeakMB <= model.MaxPeakMB &&
		e.DiskMB <= model.MaxDiskMB && e.DiskMaxMB <= model.MaxDiskMB &&
		e.Watched <= model.MaxWatched && e.Idle <= e.Watched && (e.Delivered == model.ReasonNone || e.Delivered.Stops())
}

// validTrouble checks the text of what troubles a node.
func validTrouble(text string) error {
	if !model.Text(text, model.MaxText) {
		return invalid("trouble", "at most 512 bytes of text on one line")
	}
	return nil
}

// validMissing checks the users whose account a node lacks.
func validMissing(users []string) error {
	if len(users) > model.MaxMissing || !slices.IsSorted(users) || slices.ContainsFunc(users, func(v string) bool { return !model.Name(v) }) {
		return invalid("missing", fmt.Sprintf("at most %d names of users, sorted", model.MaxMissing))
	}
	return nil
}

// validLabels checks labels, which only an operator may remove.
func validLabels(text string, mayGo bool) error {
	all, err := model.ParseLabels(text)
	gone := slices.ContainsFunc(all, func(v model.Label) bool { return v.Gone })
	if err != nil || all.String() != text || gone && !mayGo {
		return invalid("labels", "labels such as zone=a, sorted, each once")
	}
	return nil
}

// validMode checks the mode of a node.
func validMode(m model.NodeMode) error {
	if m > model.ModeDraining {
		return invalid("mode", "open, cordoned or draining")
	}
	return nil
}

// validHook checks the id of a webhook.
func validHook(id outbox.WebhookID) error {
	if !model.Name(string(id)) {
		return invalid("id", "a webhook's id")
	}
	return nil
}

// validPools checks how GPUs are divided between owners and others.
func validPools(p model.Pools) error {
	switch {
	case p.Mode != model.PoolDefault && !p.Mode.Valid():
		return invalid("mode", "dynamic, static or hybrid")
	case p.Part > 1000:
		return invalid("reserved_ratio", "above 0 and at most 1")
	}
	return nil
}
