package blocker

import (
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxNamed bounds the models that a text lists.
const maxNamed = 8

// ModelsOf returns the models of the cluster's GPUs that a requested model matches, in order.
func ModelsOf(s *state.State, asked string) (names []string) {
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

// SeveralModels returns the models that a request matches if one of its texts matches more than one, else an empty
// string.
func SeveralModels(s *state.State, asked string) string {
	for one := range strings.SplitSeq(asked, "|") {
		if one != "" && len(ModelsOf(s, one)) > 1 {
			return strings.Join(ModelsOf(s, asked), " or ")
		}
	}
	return ""
}

// ModelText returns a requested model in words, followed by the models that match if there are any given.
func ModelText(asked, found string) string {
	text := strings.ReplaceAll(asked, "|", " or ")
	if found != "" {
		text += " (" + found + ")"
	}
	return text
}
