package runner

import "strings"

// maxHost bounds the description of a host, in bytes.
const maxHost = 512

// Host is the isolation that a host allows, determined once, when an agent starts.
type Host struct {
	Cgroup      string   // "v2"; "hybrid": v2 and v1; "v1"; "none"
	Controllers []string // of cgroup v2 that limit ranks here: "cpu", "memory", "pids"
	Notes       []string // what is not as it could be, one short sentence each
}

// String returns one line of at most 512 bytes for the node's record, such as
// "cgroup v2 (cpu memory pids)" or "cgroup hybrid; jobs run as root".
func (h Host) String() string {
	text := "cgroup " + h.Cgroup
	if len(h.Controllers) > 0 {
		text += " (" + strings.Join(h.Controllers, " ") + ")"
	}
	for _, note := range h.Notes {
		text += "; " + note
	}
	if len(text) > maxHost {
		text = strings.ToValidUTF8(text[:maxHost], "")
	}
	return text
}
