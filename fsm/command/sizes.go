package command

// Bounds of a log entry.
const (
	MaxEntry    = 1536 << 10 // bytes; a submission with its environment and its script fits
	MaxCommands = 4096       // in an entry
	envelopeCap = 64         // bytes around a body, at most, in addition to actor, request id and address
	taskWeight  = 40         // bytes that a task of an array counts for: what it costs to apply
)
