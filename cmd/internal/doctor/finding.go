package doctor

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/table"
)

// Result is what a check has found.
type Result string

// The results.
const (
	OK      Result = "ok"
	Warning Result = "warning"
	Fault   Result = "fault"
	Skipped Result = "skipped" // the check could not be carried out, see the message
)

// The names of the checks.
const (
	CheckSettings     = "settings"
	CheckClock        = "clock"
	CheckDisk         = "disk"
	CheckPorts        = "ports"
	CheckNames        = "names"
	CheckCertificates = "certificates"
	CheckLogin        = "login"
	CheckGroups       = "cgroups"
	CheckUnits        = "units"
	CheckLimits       = "limits"
	CheckDriver       = "driver"
	CheckAccounts     = "accounts"
	CheckVersions     = "versions"
	CheckPeer         = "peer"
)

// Finding is the result of one check of one thing.
type Finding struct {
	Check   string `json:"check"`
	About   string `json:"about"` // what was checked: "peer p2: gossip, TCP"
	Result  Result `json:"result"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // absent: nothing has to be done
}

// Role is a role that a machine has in a cluster.
type Role struct {
	Role string `json:"role"` // peer, node or client
	Name string `json:"name,omitempty"`
}

// Report is what was found on a machine.
type Report struct {
	Host     string    `json:"host"`
	Version  string    `json:"version"` // of the program
	At       time.Time `json:"at"`
	Roles    []Role    `json:"roles"`
	Faults   int       `json:"faults"`
	Warnings int       `json:"warnings"`
	Skipped  int       `json:"skipped"`
	Findings []Finding `json:"findings"`
}

// Add adds findings and counts them.
func (r *Report) Add(findings ...Finding) {
	for _, f := range findings {
		switch f.Result {
		case Fault:
			r.Faults++
		case Warning:
			r.Warnings++
		case Skipped:
			r.Skipped++
		case OK:
		}
		r.Findings = append(r.Findings, f)
	}
}

// Write prints a report: one line for each finding, and below the remedies of those that are not ok.
func (r *Report) Write(w io.Writer) error {
	var roles []string
	for _, v := range r.Roles {
		roles = append(roles, strings.TrimSpace(v.Role+" "+v.Name))
	}
	fmt.Fprintf(w, "%s, %s, berth %s\n\n", table.Clean(r.Host), strings.Join(roles, " and "), r.Version)
	t := table.New("RESULT", "CHECK", "ABOUT", "FINDING")
	for _, f := range r.Findings {
		t.Add(string(f.Result), f.Check, f.About, f.Message)
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	for _, of := range []Result{Fault, Warning} {
		for _, f := range r.Findings {
			if f.Result == of {
				fmt.Fprintf(w, "\n%s: %s, %s: %s\n  remedy: %s\n", of, f.Check, table.Clean(f.About), table.Clean(f.Message), table.Clean(f.Remedy))
			}
		}
	}
	_, err := fmt.Fprintf(w, "\n%s, %s, %s.\n", count(r.Faults, "fault"), count(r.Warnings, "warning"), count(r.Skipped, "check")+" skipped")
	return err
}

// count formats a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// about makes findings of one check about one thing.
type about struct{ check, about string }

func (a about) ok(format string, args ...any) Finding {
	return Finding{a.check, a.about, OK, fmt.Sprintf(format, args...), ""}
}

func (a about) skipped(format string, args ...any) Finding {
	return Finding{a.check, a.about, Skipped, fmt.Sprintf(format, args...), ""}
}

func (a about) warning(remedy, format string, args ...any) Finding {
	return Finding{a.check, a.about, Warning, fmt.Sprintf(format, args...), remedy}
}

func (a about) fault(remedy, format string, args ...any) Finding {
	return Finding{a.check, a.about, Fault, fmt.Sprintf(format, args...), remedy}
}

// Skip returns the finding of a check that could not be carried out.
func Skip(check, of, format string, args ...any) Finding {
	return about{check, of}.skipped(format, args...)
}
