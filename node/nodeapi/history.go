package nodeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Bounds of a history.
const (
	MaxMinutes = 15  // that it goes back
	MaxSteps   = 180 // of each GPU
)

// History has the measurements of the node's GPUs. Its methods may be called from any goroutine.
type History interface {
	// Past returns the measurements from back ago to now, in that number of steps.
	Past(back time.Duration, steps int) *wire.NodeHistory
}

func (s *Server) serveHistory(w http.ResponseWriter, r *http.Request) {
	back, steps, err := parseHistory(r.URL.Query())
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit)) // a writer without deadlines has no slow client
	_ = json.NewEncoder(w).Encode(s.from.History.Past(back, steps))                // a peer that has gone needs no answer
}

// parseHistory parses minutes, 1 to MaxMinutes, and steps, 1 to MaxSteps; both are required, once, and other
// parameters are refused.
func parseHistory(values url.Values) (back time.Duration, steps int, err error) {
	minutes, err := bounded(values, "minutes", MaxMinutes)
	if err != nil {
		return 0, 0, err
	}
	if steps, err = bounded(values, "steps", MaxSteps); err != nil {
		return 0, 0, err
	}
	if len(values) > 2 {
		return 0, 0, fmt.Errorf("only minutes and steps are known parameters")
	}
	return time.Duration(minutes) * time.Minute, steps, nil
}

func bounded(values url.Values, name string, most int) (int, error) {
	list := values[name]
	if len(list) != 1 {
		return 0, fmt.Errorf("%s: must be given once", name)
	}
	n, err := strconv.Atoi(list[0])
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s: must be a number from 1 to %d", name, most)
	}
	return n, nil
}
