package jobs

import (
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// whereOf returns the nodes on which a job may run, in words; empty: any.
func whereOf(j *wire.Job) string {
	w := model.Where{Constraint: j.Constraint, Nodelist: strings.Join(j.Nodelist, ","), Exclude: strings.Join(j.Exclude, ",")}
	if text := w.String(); text != "" {
		return "nodes " + text
	}
	return ""
}

// gpusOf returns how many GPUs a job asks for, or has of them: "4 of 8".
func gpusOf(j *wire.Job) string {
	text := strconv.FormatInt(j.GPUs, 10)
	if has := len(j.AllocatedGPUs); has > 0 && int64(has) < j.GPUs {
		return strconv.Itoa(has) + " of " + text
	}
	return text
}
