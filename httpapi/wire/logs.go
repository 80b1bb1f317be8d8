package wire

// The headers of logs.
const (
	HeaderAttempt   = "X-Berth-Attempt"    // of a log: whose output the answer is
	HeaderLogOffset = "X-Berth-Log-Offset" // of a log in bytes: where in the output the answer begins; later than asked for if bytes were not kept
	HeaderLogSize   = "X-Berth-Log-Size"   // of the output when the answer began, with what was not kept
	HeaderLogEnded  = "X-Berth-Log-Ended"  // true if nothing more will be written
	HeaderLogNext   = "X-Berth-Log-Next"   // of a search: the offset for the next one
)

// Bounds of requests for a log, in bytes.
const (
	MaxLogPiece  = 16 << 20 // of an answer with a limit
	MaxLogSearch = 256      // of the text that is searched
)
