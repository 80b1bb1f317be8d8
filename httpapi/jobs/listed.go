package jobs

import (
	"reflect"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/listing"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// entry is an entry of a list of jobs before it is converted.
type entry = *view.Row

// table is the fields of a list of jobs.
type table = listing.Table[entry]

// Documentation of the forms of filters.
const (
	docTexts   = "; several are separated by commas"
	docNumbers = "; such as 4, 1,3, 2-8 or 8-"
)

// jobFields returns the fields by which lists of jobs are filtered and sorted.
func jobFields() []listing.Field[entry] {
	return []listing.Field[entry]{
		{Name: "id", Key: idOf},
		{Name: "ids", Doc: "with these ids" + docNumbers, Parse: listing.Numbers(func(r entry) int64 { return int64(r.Job.ID) })},
		texts("user", "of this user"+docTexts, entry.User),
		texts("project", "of this project"+docTexts, entry.Project),
		{Name: "name", Doc: "with this name, in which * is any text; of a job without one its run's id, else its command, as lists show it", Parse: listing.Pattern(entry.Name), Key: textKey(entry.Name)},
		{Name: "run_id", Doc: "of this run" + docTexts, Parse: listing.Texts(func(r entry) string { return r.Job.Spec.RunID })},
		{Name: "state", Doc: "in this state" + docTexts, Parse: listing.Words(entry.State, intake.StateNames()...), Key: stateKey},
		{Name: "held", Doc: "true: held jobs only; false: the others", Parse: listing.Flag(entry.Held)},
		numbers("priority", "of this priority"+docNumbers, entry.Priority),
		numbers("gpu_count", "that ask for so many GPUs"+docNumbers, entry.GPUs),
		texts("gpu_type", "that ask for this type of GPU"+docTexts, entry.GPUType),
		{Name: "node", Doc: "that run on this node, or ran there last" + docTexts, Parse: onNode},
		{Name: "reason", Doc: "whose reason contains this text", Parse: listing.Search(func(r entry) []string { return []string{r.Reason()} })},
		{Name: "q", Doc: "of which id, name, run, user, project or command contains this text", Parse: listing.Search(entry.Texts)},
		{Name: "submitted_at", Key: timeKey(entry.Submitted)},
		{Name: "started_at", Key: timeKey(entry.Started)},
		{Name: "ended_at", Key: timeKey(func(r entry) model.Time { return r.Job.Ended })},
		{Name: "time_limit_seconds", Key: func(r entry) listing.Key { return listing.Key{Number: int64(r.Job.Spec.TimeLimit)} }},
	}
}

// jobTable returns the fields of GET /jobs.
func jobTable() *table {
	return &table{Fields: jobFields(), Sort: "id", Desc: true, ID: idOf, Entry: reflect.TypeFor[wire.Job]()}
}

// positionSort is the usual sort of the queue: waiting jobs by their position, others by their ids. It is no key: the order
// changes by itself.
const positionSort = "position"

// queueTable returns the fields of GET /queue.
func queueTable() *table {
	fields := append(jobFields(), listing.Field[entry]{Name: positionSort, Key: idOf})
	return &table{Fields: fields, Sort: positionSort, ID: idOf, Entry: reflect.TypeFor[wire.Job]()}
}

func texts(name, doc string, get func(entry) string) listing.Field[entry] {
	return listing.Field[entry]{Name: name, Doc: doc, Parse: listing.Texts(get), Key: textKey(get)}
}

func numbers(name, doc string, get func(entry) int64) listing.Field[entry] {
	return listing.Field[entry]{
		Name: name, Doc: doc, Parse: listing.Numbers(get),
		Key: func(r entry) listing.Key { return listing.Key{Number: get(r)} },
	}
}

func textKey(get func(entry) string) func(entry) listing.Key {
	return func(r entry) listing.Key { return listing.Key{Text: get(r)} }
}

func timeKey(get func(entry) model.Time) func(entry) listing.Key {
	return func(r entry) listing.Key { return listing.Key{Number: int64(get(r))} }
}

// idOf returns the key of a job or a service.
func idOf(r entry) listing.Key {
	if r.Service != nil {
		return listing.Key{Text: string(r.Service.ID)}
	}
	return listing.Key{Number: int64(r.Job.ID)}
}

// stateKey orders states as a job passes through them.
func stateKey(r entry) listing.Key {
	return listing.Key{Number: int64(slices.Index(intake.StateNames(), r.State()))}
}

// onNode is a filter for jobs on any of several nodes.
func onNode(text string) (func(entry) bool, error) {
	list := strings.Split(text, ",")
	return func(r entry) bool {
		return r.Service == nil && slices.ContainsFunc(r.Nodes(), func(id string) bool { return slices.Contains(list, id) })
	}, nil
}
