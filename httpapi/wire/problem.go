package wire

import "fmt"

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// Problem is every error of the API (RFC 9457), with a code that does not change.
type Problem struct {
	Type   string        `json:"type,omitempty"`
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Code   string        `json:"code" doc:"stable; see docs/api.md"`
	Detail string        `json:"detail" doc:"what, where, and what to do"`
	Errors []FieldDetail `json:"errors,omitempty" nullable:"false"`
}

// FieldDetail describes the error of one field. It never quotes the value.
type FieldDetail struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error returns the problem in one line.
func (p *Problem) Error() string {
	line := p.Detail
	if line == "" {
		line = p.Title
	}
	for _, e := range p.Errors {
		line += fmt.Sprintf("; %s: %s", e.Field, e.Message)
	}
	return line
}

// The headers of the API.
const (
	HeaderIndex     = "X-Berth-Index" // of the state that an answer is about
	HeaderRequestID = "Idempotency-Key"
	HeaderLeader    = "X-Berth-Leader"        // the leader, as far as the answering peer knows
	HeaderCode      = "X-Berth-Code"          // of a problem
	HeaderTime      = "X-Berth-Time"          // of the peer when the answer began, in milliseconds since 1970
	HeaderVersion   = "X-Berth-Version"       // of the peer's program
	HeaderExpires   = "X-Berth-Token-Expires" // when the token of the request expires, if that is within a week
	HeaderSource    = "X-Berth-Source"        // of a log: "node", or "tail" for the end of it that peers keep
	// TrailerProblem is a trailer of a followed log that ends because the caller has lost the right
	// to read on: a [Problem] on one line. Clients that announce TE: trailers get it in place of a
	// last line of text.
	TrailerProblem = "X-Berth-Problem"
)

// Stable codes that are not those of the state.
const (
	CodeNoLeader       = "no_leader"           // 503: nothing was done
	CodeOutcomeUnknown = "outcome_unknown"     // 503: ask again with the same Idempotency-Key
	CodeOverloaded     = "overloaded"          // 429
	CodeNoArchive      = "archive_unavailable" // 503: at the peer that was asked
	CodeNoSpace        = "no_space"            // 507
	CodeDiverged       = "diverged"            // 503
	CodeBehind         = "behind"              // 503: this peer cannot answer in time
	CodeRateLimited    = "rate_limited"        // 429: this caller exceeds its rate
	CodeMalformed      = "malformed"           // 400
	CodeMisdirected    = "misdirected"         // 421: the Host header does not name this server

	CodeUnauthenticated = "unauthenticated" // 401

	CodeInvalid     = "invalid"   // 422
	CodeTooLarge    = "too_large" // 413
	CodeTooSlow     = "too_slow"  // 408
	CodeNotFound    = "not_found" // 404
	CodeMethod      = "method_not_allowed"
	CodeInternal    = "internal"
	CodeNeverFits   = "never_fits" // 422: no node of the cluster could ever run it
	CodeUnreachable = "node_unreachable"
)
