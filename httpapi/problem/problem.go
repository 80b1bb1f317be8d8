// Package problem contains the errors of the HTTP API: one table from stable codes to statuses, what
// clients are told, and how errors of the peer, the state and the library become problems.
//
//berth:single
package problem

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// CodeProvider is the code of the problem while the identity provider cannot be asked.
const CodeProvider = "provider_unreachable"

// statuses is the one table from a stable code to an HTTP status. A code that is
// not in it is a refusal of the state: 409.
var statuses = map[string]int{
	wire.CodeMalformed:       http.StatusBadRequest,
	wire.CodeUnauthenticated: http.StatusUnauthorized,
	wire.CodeTooSlow:         http.StatusRequestTimeout,
	wire.CodeMisdirected:     http.StatusMisdirectedRequest,
	wire.CodeTooLarge:        http.StatusRequestEntityTooLarge,
	wire.CodeInvalid:         http.StatusUnprocessableEntity,
	wire.CodeNeverFits:       http.StatusUnprocessableEntity,
	wire.CodeNotFound:        http.StatusNotFound,
	wire.CodeMethod:          http.StatusMethodNotAllowed,
	wire.CodeOverloaded:      http.StatusTooManyRequests,
	wire.CodeRateLimited:     http.StatusTooManyRequests,
	wire.CodeNoSpace:         http.StatusInsufficientStorage,
	wire.CodeNoLeader:        http.StatusServiceUnavailable,
	wire.CodeOutcomeUnknown:  http.StatusServiceUnavailable,
	wire.CodeDiverged:        http.StatusServiceUnavailable,
	wire.CodeBehind:          http.StatusServiceUnavailable,
	wire.CodeNoArchive:       http.StatusServiceUnavailable,
	wire.CodeUnreachable:     http.StatusBadGateway,
	CodeProvider:             http.StatusBadGateway,
	wire.CodeInternal:        http.StatusInternalServerError,

	model.CodeDenied.String():          http.StatusForbidden,
	model.CodeLimit.String():           http.StatusForbidden,
	model.CodeRequestExpired.String():  http.StatusGone,
	model.CodeRequestsFull.String():    http.StatusServiceUnavailable,
	model.CodeNotBootstrapped.String(): http.StatusServiceUnavailable,
	model.CodeClock.String():           http.StatusServiceUnavailable,
}

// said maps codes of faults to the text that clients get; the faults' own errors are for the log.
var said = map[string]string{
	wire.CodeNoLeader:       "there is no leader at the moment; nothing was done: try again",
	wire.CodeOutcomeUnknown: "it is not known whether this was carried out: try again with the same Idempotency-Key",
	wire.CodeOverloaded:     "too many requests are waiting; nothing was done: try again later",
	wire.CodeNoSpace:        "the leader's disk is nearly full; nothing was done: free some space there",
	wire.CodeDiverged:       "the peers' states differ; no requests are accepted until an operator has repaired this",
	wire.CodeBehind:         "this peer's state did not become new enough in time: try again, or another peer",
	wire.CodeNoArchive:      "this peer's archive cannot be read at the moment, the cause is in its log: try again, or another peer",
	wire.CodeInternal:       "a defect of Berth; details are in the peer's log",
}

// Failure is a problem as an answer.
type Failure struct {
	*wire.Problem

	wait time.Duration // before the next try; 0: not known
}

// RetryIn sets how long a caller should wait before the next try, for the header Retry-After.
func (f *Failure) RetryIn(wait time.Duration) { f.wait = wait }

// GetStatus returns the HTTP status.
func (f *Failure) GetStatus() int { return f.Status }

// ContentType returns that of problems.
func (f *Failure) ContentType(string) string { return wire.ProblemType }

// GetHeaders returns the code, for programs that read headers only, and how long to wait if waiting
// helps.
func (f *Failure) GetHeaders() http.Header {
	h := http.Header{wire.HeaderCode: {f.Code}}
	if f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", f.retryAfter())
	}
	if f.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="berth"`)
	}
	return h
}

// Refuse returns a problem with a code.
func Refuse(code, detail string, fields ...wire.FieldDetail) *Failure {
	status, known := statuses[code]
	if !known {
		status = http.StatusConflict
	}
	return &Failure{Problem: &wire.Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail, Errors: fields}}
}

// Usual returns the problem of a code with the text that clients usually get.
func Usual(code string) *Failure { return Refuse(code, said[code]) }

// Invalid returns the problem of one field.
func Invalid(field, message string) *Failure {
	return Refuse(wire.CodeInvalid, "a value is not allowed", wire.FieldDetail{Field: field, Message: message})
}

// Denied returns the problem of a caller without the right to do something.
func Denied(detail string) *Failure { return Refuse(model.CodeDenied.String(), detail) }

// Refused returns the problem of a command that was not carried out.
func Refused(r *command.Result) *Failure {
	if r.Code == model.CodePanic {
		return Usual(wire.CodeInternal)
	}
	return Refuse(r.Code.String(), r.Detail)
}

// Of converts any error to a problem. Internal errors are logged and not sent.
func Of(log *slog.Logger, err error) *Failure {
	if f, is := errors.AsType[*Failure](err); is {
		return f
	}
	if p, is := errors.AsType[*model.Problem](err); is {
		return Invalid(apiField(p.Field), "must be "+p.Want)
	}
	if errors.Is(err, command.ErrTooLarge) {
		return Refuse(wire.CodeInvalid, "the request exceeds the size of one log entry: make script, environment or array smaller")
	}
	code := wire.CodeInternal
	if f, is := errors.AsType[*Fault](err); is {
		code = f.Code
	}
	if code == wire.CodeInternal {
		log.Error("a request failed", "err", err)
	} else {
		log.Debug("a request was not carried out", "code", code, "err", err)
	}
	return Usual(code)
}

// Unsure converts the error of a proposal, which may have been carried out unless the error is a
// fault.
func Unsure(err error) error {
	if _, is := errors.AsType[*Fault](err); is || err == nil {
		return err
	}
	return &Fault{Code: wire.CodeOutcomeUnknown, Err: err}
}

// apiField returns the API's name of a field that has another name in the model.
func apiField(field string) string {
	switch field {
	case "gpus":
		return "gpu_count"
	case "gpu_model":
		return "gpu_type"
	case "array":
		return "array_size"
	case "request id":
		return wire.HeaderRequestID
	}
	return field
}

// Write writes the problem as the answer.
func (f *Failure) Write(w http.ResponseWriter) {
	h := w.Header()
	for k, v := range f.GetHeaders() {
		h[k] = v
	}
	h.Set("Content-Type", wire.ProblemType)
	data, err := json.Marshal(f.Problem)
	if err != nil { // texts and numbers only
		data = []byte(`{"code":"internal"}`)
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write(append(data, '\n')) // a client that has left needs no answer
}

// Renamed returns the problem of a value under the name that it has here.
func Renamed(field string, err error) error {
	if p, is := errors.AsType[*model.Problem](err); is {
		return Invalid(field, "must be "+p.Want)
	}
	return err
}

// retryAfter returns how long to wait, for problems without a better value.
func (f *Failure) retryAfter() string {
	return strconv.Itoa(max(1, int((f.wait+time.Second-1)/time.Second)))
}

// Under adds the path in a body to the fields that an error names.
func Under(path string, err error) error {
	f, is := errors.AsType[*Failure](err)
	if p, wrong := errors.AsType[*model.Problem](err); wrong && !is {
		f, is = Invalid(apiField(p.Field), "must be "+p.Want), true
	}
	if !is {
		return err
	}
	if len(f.Errors) == 0 {
		f.Errors = []wire.FieldDetail{{Field: path, Message: f.Detail}}
		return f
	}
	for i := range f.Errors {
		f.Errors[i].Field = path + "." + f.Errors[i].Field
	}
	return f
}

// Nth returns the path of an item of a list.
func Nth(list string, n int) string { return list + "[" + strconv.Itoa(n) + "]" }

// Fault is why a peer did not carry out a request: a code of the API, and the peer's own error,
// which is logged and not sent.
type Fault struct {
	Code string
	Err  error
}

// Error returns the code and the peer's error.
func (f *Fault) Error() string { return f.Code + ": " + f.Err.Error() }

// Unwrap returns the peer's error.
func (f *Fault) Unwrap() error { return f.Err }
