package sched

import (
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxNamed bounds the models that a text lists.
const maxNamed = 8

// modelsOf lists the cluster's models of GPUs that one asked for may be, in order.
func modelsOf(s *state.State, asked string) (names []string) {
	for _, g := range s.GPUs.All() {
		if i, known := slices.BinarySearch(names, g.Model); !known && g.Model != "" && model.OfModel(asked, g.Model) {
			names = slices.Insert(names, i, g.Model)
		}
	}
	if len(names) > maxNamed {
		return append(names[:maxNamed], "others")
	}
	return names
}

// several are the models that one text among those asked for finds, if any finds more
// than one; else it is empty.
func several(s *state.State, asked string) string {
	for one := range strings.SplitSeq(asked, "|") {
		if one != "" && len(modelsOf(s, one)) > 1 {
			return strings.Join(modelsOf(s, asked), " or ")
		}
	}
	return ""
}

// typed is what is asked for in words, with the models that it finds if they are told.
func typed(asked, found string) string {
	text := strings.ReplaceAll(asked, "|", " or ")
	if found != "" {
		text += " (" + found + ")"
	}
	return text
}
