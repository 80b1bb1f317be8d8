package core

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// TagOf returns a tag of a list, as far as the log determines the list: it changes with each change
// of its topics, and is the same on every peer.
func TagOf(s *state.State, set model.TopicSet) string {
	id := s.Settings().Incarnation
	return fmt.Sprintf(`W/"%x-%d"`, id[:4], LastOf(s, set))
}

// Unchanged returns the answer to a reader that has the list of this tag already; nil otherwise.
func Unchanged(ifNoneMatch, tag string) error {
	known := strings.Split(ifNoneMatch, ",")
	if !slices.ContainsFunc(known, func(t string) bool { return strings.TrimSpace(t) == tag }) {
		return nil
	}
	return &notModified{tag}
}

// notModified is an answer without a body.
type notModified struct{ tag string }

// Error returns a text for the log of a library.
func (n *notModified) Error() string { return "not modified" }

// GetStatus returns the HTTP status.
func (n *notModified) GetStatus() int { return http.StatusNotModified }

// GetHeaders returns the tag again.
func (n *notModified) GetHeaders() http.Header { return http.Header{"Etag": {n.tag}} }
