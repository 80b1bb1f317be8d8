package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// maxStateFile bounds one state file, in bytes.
const maxStateFile = 1 << 30

// stateFile is a state file that was read: a JSON object.
type stateFile struct {
	name    string
	data    []byte
	members map[string]json.RawMessage
	saved   map[string]json.RawMessage // its member berth; nil: the file is of another program
}

// readStateFile reads one file; nil if it does not exist.
func readStateFile(folder, name string) (*stateFile, error) {
	path := filepath.Join(folder, name)
	f, err := os.Open(path) //nolint:gosec // in the folder that the user named
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxStateFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	case len(data) > maxStateFile:
		return nil, wrongFile(path, 0, "is larger than the limit of 1 GiB")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // a byte order mark, which editors put before UTF-8
	out := &stateFile{name: path, data: data}
	if err := json.Unmarshal(data, &out.members); err != nil {
		if bad, is := errors.AsType[*json.SyntaxError](err); is {
			return nil, wrongFile(path, lineAt(data, bad.Offset), "is not JSON: %s", bad.Error())
		}
		return nil, wrongFile(path, 1, "must be a JSON object")
	}
	if out.members == nil {
		return nil, wrongFile(path, 1, "must be a JSON object")
	}
	if at := model.InvalidByte(string(data)); at >= 0 {
		return nil, wrongFile(path, lineAt(data, int64(at)), "is not valid UTF-8: a byte is 0x%02x; convert the file, as by iconv -t UTF-8", data[at])
	}
	if at := wire.HalfCharacter(data); at >= 0 {
		return nil, wrongFile(path, lineAt(data, int64(at)), "contains %s, which is half a character", data[at:at+6])
	}
	return out, out.readSaved()
}

// readSaved reads the member in which an export describes itself.
func (f *stateFile) readSaved() error {
	raw, has := f.members["berth"]
	if !has {
		return nil
	}
	var head wire.Saved
	if json.Unmarshal(raw, &f.saved) != nil || f.saved == nil || json.Unmarshal(raw, &head) != nil {
		return wrongFile(f.name, 0, "its member berth must be as an export writes it: export again")
	}
	if head.Format != wire.SnapshotFormat {
		return wrongFile(f.name, 0, "its format is %d, this program reads %d: import with the version that wrote it", head.Format, wire.SnapshotFormat)
	}
	return nil
}

// lineAt returns the line, from 1, of an offset in a file.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:max(0, min(offset, int64(len(data))))], []byte("\n"))
}

// element is an element of a list in a file.
type element struct {
	raw  json.RawMessage
	line int
	at   time.Time // when it was queued; only in files of other programs
	name string    // the job's id there
}

// list returns the elements of a list, found by the names that lead to it.
func (f *stateFile) list(path ...string) ([]element, error) {
	d := json.NewDecoder(bytes.NewReader(f.data))
	for _, name := range path {
		if !descend(d, name) {
			return nil, nil
		}
	}
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, wrongFile(f.name, lineAt(f.data, d.InputOffset()), "%s must be a list", strings.Join(path, "."))
	}
	var out []element
	for line, seen := 1, int64(0); d.More(); {
		var e element
		if err := d.Decode(&e.raw); err != nil {
			return nil, wrongFile(f.name, lineAt(f.data, d.InputOffset()), "is not JSON: %s", err)
		}
		at := d.InputOffset() - int64(len(e.raw))
		line += bytes.Count(f.data[seen:at], []byte("\n"))
		seen, e.line = at, line
		e.label()
		out = append(out, e)
	}
	return out, nil
}

// descend moves the decoder to the value of a name in the next object.
func descend(d *json.Decoder, name string) bool {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return false
		}
		if t == name {
			return true
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}

// label reads the fields by which jobs are ordered and named. Errors in them are left to the
// cluster.
func (e *element) label() {
	var names struct {
		ID    string `json:"id"`
		JobID string `json:"job_id"`
	}
	var times struct {
		At  time.Time `json:"queuedAt"`
		At2 time.Time `json:"submitted_at"`
	}
	_ = json.Unmarshal(e.raw, &names)
	_ = json.Unmarshal(e.raw, &times)
	e.name, e.at = cmp.Or(names.ID, names.JobID), times.At
	if e.at.IsZero() {
		e.at = times.At2
	}
}

// importPlan is the content of state files as steps of an import.
type importPlan struct {
	id       string
	queue    string // name of the file of jobs
	parts    []importPart
	settings []importStep
	services int // among the settings
	ignored  []string
}

// importStep is a group of settings that are imported together, and their file.
type importStep struct {
	file string
	set  json.RawMessage
}

// importPart is one part of the jobs and where these stand in their file.
type importPart struct {
	body *wire.ImportJobs
	jobs []element
}

// readSnapshot reads the files of a folder.
func readSnapshot(folder, command string) (*importPlan, error) {
	files := map[string]*stateFile{}
	plan := &importPlan{}
	index := ""
	for _, name := range stateFiles() {
		f, err := readStateFile(folder, name)
		if err != nil {
			return nil, err
		}
		if files[name] = f; f == nil {
			continue
		}
		if f.saved != nil && index != "" && index != string(f.saved["index"]) {
			return nil, wrongFile(f.name, 0, "is of another export than the other files of the folder (index %s, not %s): export again", f.saved["index"], index)
		}
		if f.saved != nil {
			index = string(f.saved["index"])
		}
	}
	queue := files[fileQueue]
	if queue == nil {
		return nil, wrongFile(filepath.Join(folder, fileQueue), 0, "does not exist: give the folder of an export")
	}
	if err := plan.readJobs(queue, command); err != nil {
		return nil, err
	}
	if err := plan.readSettings(files[fileOrchestrator]); err != nil {
		return nil, err
	}
	if err := plan.readServices(files[fileAllocation]); err != nil {
		return nil, err
	}
	if files[fileCluster] != nil {
		plan.ignored = append(plan.ignored, fileCluster+": nodes and GPUs come with their agents")
	}
	return plan, plan.name()
}

func (p *importPlan) readJobs(f *stateFile, command string) error {
	p.queue = f.name
	if f.saved == nil {
		jobs, err := f.list("queuedJobs")
		if err != nil {
			return err
		}
		if _, has := f.members["queuedJobs"]; !has {
			return wrongFile(f.name, 0, "has no member queuedJobs")
		}
		slices.SortStableFunc(jobs, func(a, b element) int { return a.at.Compare(b.at) })
		p.divide(jobs, func(b *wire.ImportJobs, e *element) int { b.QueuedJobs = append(b.QueuedJobs, e.raw); return 0 })
		first := int64(1)
		for i := range p.parts {
			b := p.parts[i].body
			b.First, b.Command = new(first), command
			first += int64(len(b.QueuedJobs))
		}
		return nil
	}
	var texts wire.SavedQueue
	for name, to := range map[string]any{"scripts": &texts.Scripts, "environments": &texts.Environments} {
		if raw, has := f.saved[name]; has && json.Unmarshal(raw, to) != nil {
			return wrongFile(f.name, 0, "berth.%s must be an object of texts by their SHA-256: export again", name)
		}
	}
	jobs, err := f.list("berth", "jobs")
	if err != nil {
		return err
	}
	p.divide(jobs, func(b *wire.ImportJobs, e *element) int { return share(b, e, &texts) })
	return nil
}

// share adds a job to a part together with the texts that it refers to, and returns the weight of
// those.
func share(b *wire.ImportJobs, e *element, texts *wire.SavedQueue) (weight int) {
	var job struct {
		Tasks  int    `json:"tasks"`
		Script string `json:"script_sha256"`
		Stdin  string `json:"stdin_sha256"`
		Env    string `json:"environment_sha256"`
		Shell  string `json:"submit_environment_sha256"`
	}
	_ = json.Unmarshal(e.raw, &job) // errors are left to the cluster
	if b.Scripts == nil {
		b.Scripts, b.Environments = map[string]string{}, map[string]map[string]string{}
	}
	for _, name := range []string{job.Script, job.Stdin} {
		text, has := texts.Scripts[name]
		if !has || b.Scripts[name] != "" {
			continue
		}
		b.Scripts[name] = text
		weight += len(text)
	}
	for _, name := range []string{job.Env, job.Shell} {
		env, has := texts.Environments[name]
		if !has || b.Environments[name] != nil {
			continue
		}
		b.Environments[name] = env
		for name, value := range env { // order-free: a sum
			weight += len(name) + len(value)
		}
	}
	b.Jobs = append(b.Jobs, e.raw)
	return weight + max(0, min(job.Tasks, 10_000))*taskWeight
}

// Bounds of a part, well below those of a request and a log entry.
const (
	partWeight = 160 << 10
	partJobs   = 500
	taskWeight = 40 // bytes that a task counts for
)

// divide groups the jobs into parts.
func (p *importPlan) divide(jobs []element, add func(*wire.ImportJobs, *element) int) {
	weight := partWeight
	for _, e := range jobs {
		if weight >= partWeight || len(p.parts[len(p.parts)-1].jobs) >= partJobs {
			p.parts = append(p.parts, importPart{body: &wire.ImportJobs{Part: new(int64(len(p.parts)))}})
			weight = 0
		}
		part := &p.parts[len(p.parts)-1]
		part.jobs = append(part.jobs, e)
		weight += len(e.raw) + add(part.body, &e)
	}
}
