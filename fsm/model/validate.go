package model

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what users and agents may send. They are checked before the log and again in Apply, so that no
// row can grow past what a snapshot and a log entry carry.
const (
	MaxName      = 128 // names of jobs, users, projects, nodes, signals
	MaxText      = 512 // reasons and details
	MaxCommand   = 4 << 10
	MaxPath      = 1 << 10
	MaxScript    = 64 << 10
	MaxStdin     = 48 << 10 // as base64 as long as a script
	MaxEnv       = 32 << 10
	MaxData      = 8 << 10
	MaxTasks     = 10_000  // of an array
	MaxIndex     = 999_999 // a task's number in an array
	MaxIndices   = 4 << 10 // bytes of an array's numbers, as text
	MaxSweep     = 4 << 10 // bytes of a sweep
	MaxAfter     = 64      // jobs that one waits for
	MaxGPUs      = 8_192   // of one task
	MaxDuration  = 366 * 24 * time.Hour
	MaxRetries   = 1_000
	MaxDevices   = 64 // of a node
	MaxURL       = 2 << 10
	MaxRequestID = 128
	MaxCPUs      = 1 << 16    // cores of a node
	MaxMemoryGB  = 1 << 20    // of a GPU or a node
	MaxRetained  = 10_000_000 // ended jobs that are kept
	MinRetained  = time.Minute
)

// Problem is a value that is not allowed: its field, and what is allowed.
type Problem struct {
	Field string // as in the API: "gpus"
	Want  string // "1 to 8192"
}

// Error returns "field: must be want".
func (p *Problem) Error() string { return p.Field + ": must be " + p.Want }

func want(field, format string, args ...any) error {
	return &Problem{Field: field, Want: fmt.Sprintf(format, args...)}
}

func absolute(path string) bool {
	return strings.HasPrefix(path, "/") && len(path) <= MaxPath && !strings.ContainsRune(path, 0) && utf8.ValidString(path)
}

// exitCodes reports whether s lists exit codes in rising order, or none.
func exitCodes(s string) bool {
	if s == "" {
		return true
	}
	last, n := uint64(0), 0
	for v := range strings.SplitSeq(s, ",") {
		code, err := strconv.ParseUint(v, 10, 8)
		if err != nil || code <= last || strconv.FormatUint(code, 10) != v {
			return false
		}
		last = code
		n++
	}
	return n <= maxExitCodes
}

const maxExitCodes = 32

// ServiceName reports whether s can be the name of a service that requests GPUs: 1 to 100 letters, digits,
// dots, hyphens and underscores, which leaves room for a number and needs no quoting in paths.
func ServiceName(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
}

// WebURL reports whether s is an http or https URL with a host and without credentials.
func WebURL(s string) bool {
	if len(s) > MaxURL || !Text(s, MaxURL) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

func signalName(s string) bool {
	return len(s) <= 12 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-'
	})
}

// Clip cuts a text to MaxText bytes, between characters, and leaves out what [Text] does not allow.
func Clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if runeFault(r) != "" {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	for len(s) > MaxText {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// SealedPrefix begins a text that is sealed (package fsm/sealing): a byte that no other text of a user may contain.
const SealedPrefix = "\x00sealed:"

// Sealed reports whether a text is sealed.
func Sealed(text string) bool { return strings.HasPrefix(text, SealedPrefix) }
