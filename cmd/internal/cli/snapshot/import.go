package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The most users, quotas or shares in one step, and the most services, which are larger.
const (
	listsAtOnce    = 500
	servicesAtOnce = 16
)

// readSettings reads the settings of orchestrator_state.json. A file of another program contains
// the policy and whether jobs are started.
func (p *importPlan) readSettings(f *stateFile) error {
	if f == nil {
		p.ignored = append(p.ignored, fileOrchestrator+" does not exist: settings stay unchanged")
		return nil
	}
	plain := map[string]json.RawMessage{}
	if f.saved != nil {
		maps.Copy(plain, f.saved)
		for _, name := range []string{"format", "index", "saved_at"} {
			delete(plain, name)
		}
		return p.addSettings(f, plain)
	}
	for _, name := range slices.Sorted(maps.Keys(f.members)) {
		if raw := f.members[name]; (name == "policy" && raw[0] == '"') || name == "running" {
			plain[name] = raw
		} else {
			p.ignored = append(p.ignored, f.name+": "+name)
		}
	}
	return p.addSettings(f, plain)
}

// addSettings makes steps of settings, with long lists in pieces.
func (p *importPlan) addSettings(f *stateFile, set map[string]json.RawMessage) error {
	for _, name := range []string{"users", "quotas", "shares"} {
		if raw, has := set[name]; has {
			delete(set, name)
			if err := p.addList(f, name, raw, listsAtOnce); err != nil {
				return err
			}
		}
	}
	if len(set) == 0 {
		return nil
	}
	return p.addStep(f, set)
}

// readServices reads the services of a gpu_allocation.json that an export wrote.
func (p *importPlan) readServices(f *stateFile) error {
	if f == nil {
		return nil
	}
	if raw, has := f.saved["services"]; has {
		return p.addList(f, "services", raw, servicesAtOnce)
	}
	p.ignored = append(p.ignored, f.name+": the file is not from an export")
	return nil
}

// addList makes steps of a list, each of at most a number of elements.
func (p *importPlan) addList(f *stateFile, name string, raw json.RawMessage, most int) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return wrongFile(f.name, 0, "berth.%s must be a list", name)
	}
	if name == "services" {
		p.services = len(list)
	}
	for some := range slices.Chunk(list, most) {
		if err := p.addStep(f, map[string]any{name: some}); err != nil {
			return err
		}
	}
	return nil
}

func (p *importPlan) addStep(f *stateFile, set any) error {
	raw, err := json.Marshal(set)
	if err == nil {
		p.settings = append(p.settings, importStep{f.name, raw})
	}
	return err
}

// name sets the plan's id: the hash of its whole content.
func (p *importPlan) name() error {
	sum := sha256.New()
	e := json.NewEncoder(sum)
	for i := range p.parts {
		if err := e.Encode(p.parts[i].body); err != nil {
			return err
		}
	}
	settings := make([]json.RawMessage, 0, len(p.settings))
	for _, step := range p.settings {
		settings = append(settings, step.set)
	}
	if err := e.Encode(settings); err != nil {
		return err
	}
	p.id = hex.EncodeToString(sum.Sum(nil))
	for i := range p.parts {
		p.parts[i].body.ImportID = p.id
	}
	return nil
}

// importer carries out a plan.
type importer struct {
	api  client.Snapshots
	plan *importPlan
}

// run checks the whole plan and then imports it: first jobs, which limits must not keep out, then
// settings.
func (m *importer) run(ctx context.Context, dry bool) (*importReport, error) {
	report := &importReport{
		DryRun: dry, ImportID: m.plan.id, Parts: len(m.plan.parts), Services: m.plan.services, Settings: len(m.plan.settings) > 0,
		Ignored: append([]string{}, m.plan.ignored...),
	}
	begin := &wire.BeginImport{ImportID: m.plan.id, Parts: new(int64(len(m.plan.parts)))}
	at, err := m.api.Begin(ctx, begin, true)
	if err != nil {
		return nil, err
	}
	if report.Before = at.State == "ended"; report.Before {
		return report, nil
	}
	if err := m.check(ctx, report); err != nil || dry {
		return report, err
	}
	if at, err = m.api.Begin(ctx, begin, false); err != nil {
		return nil, err
	}
	for i := int(at.Next); i < len(m.plan.parts); i++ {
		if _, err := m.api.Jobs(ctx, m.plan.parts[i].body, false); err != nil {
			return nil, m.explain(err, i)
		}
	}
	for _, step := range m.plan.settings {
		if _, err := m.api.Settings(ctx, &wire.ImportSettings{ImportID: m.plan.id, Settings: step.set}, false); err != nil {
			return nil, err
		}
	}
	if at, err = m.api.End(ctx, &wire.EndImport{ImportID: m.plan.id}); err != nil {
		return nil, err
	}
	report.Jobs, report.Left = at.Jobs, at.Left
	return report, nil
}

// check asks the cluster to check every step without changes.
func (m *importer) check(ctx context.Context, report *importReport) error {
	for i := range m.plan.parts {
		got, err := m.api.Jobs(ctx, m.plan.parts[i].body, true)
		if err != nil {
			return m.explain(err, i)
		}
		report.Jobs, report.Again, report.Ended = report.Jobs+got.Jobs, report.Again+got.Again, report.Ended+got.Ended
	}
	for _, step := range m.plan.settings {
		if _, err := m.api.Settings(ctx, &wire.ImportSettings{ImportID: m.plan.id, Settings: step.set}, true); err != nil {
			return refusedIn(err, step.file, 0, "")
		}
	}
	return nil
}

// cutShort ends the open import with the parts that have arrived.
func cutShort(ctx context.Context, api *client.Client) (*importReport, error) {
	at, err := client.SnapshotsOf(api).End(ctx, &wire.EndImport{Short: new(true)})
	if err != nil {
		return nil, err
	}
	return &importReport{Parts: int(at.Next), Jobs: at.Jobs, Left: at.Left, Ignored: []string{}}, nil
}

// explain adds the file and line of the job for which a part was refused.
func (m *importer) explain(err error, part int) error {
	p, is := errors.AsType[*wire.Problem](err)
	if !is || p.Status != http.StatusUnprocessableEntity && p.Status != http.StatusBadRequest || len(p.Errors) == 0 {
		return err
	}
	at := regexp.MustCompile(`^(?:jobs|queuedJobs)\[(\d+)\]\.?`).FindStringSubmatch(p.Errors[0].Field)
	if at == nil {
		return refusedIn(err, m.plan.queue, 0, "")
	}
	n, _ := strconv.Atoi(at[1])
	if jobs := m.plan.parts[part].jobs; n < len(jobs) {
		return refusedIn(err, m.plan.queue, jobs[n].line, at[0])
	}
	return err
}

// refusedIn converts a refusal to an error in a file.
func refusedIn(err error, file string, line int, prefix string) error {
	p, is := errors.AsType[*wire.Problem](err)
	if !is || len(p.Errors) == 0 {
		return err
	}
	e := p.Errors[0]
	field := strings.TrimPrefix(strings.TrimPrefix(e.Field, prefix), "settings.")
	return wrongFile(file, line, "%s", strings.TrimSpace(field+" "+e.Message))
}
