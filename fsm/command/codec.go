package command

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/fsm/model"
)

// Command is one requested change.
type Command struct {
	Actor     string // such as "user:alice", "node:gpu1", "peer:p2"
	RequestID string // of a request that may be repeated; empty: none
	From      string // address of the client, see [Command.FromClient]; empty: unknown
	Body      Body
	Err       error // the body could not be read; Apply refuses the command as malformed

	kind Kind
	raw  []byte
}

// Entry is the content of one log entry.
type Entry struct {
	At       model.Time // by the proposer's clock
	By       string     // the proposing peer
	Commands []Command
	Hash     model.Hash // of the entry's bytes
}

// UnknownError means that an entry was written by a newer program.
type UnknownError struct{ What string }

// Error returns what is unknown and the remedy.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("the log holds %s, which this program does not know: run the version that wrote it", e.What)
}

// ErrTooLarge means that a command does not fit into a log entry.
var ErrTooLarge = errors.New("the command is too large for a log entry")

type envelope struct {
	Kind    uint16          `cbor:"1,keyasint"`
	Actor   string          `cbor:"2,keyasint,omitempty"`
	Request string          `cbor:"3,keyasint,omitempty"`
	Body    cbor.RawMessage `cbor:"4,keyasint"`
	From    string          `cbor:"5,keyasint,omitempty"`
}

type frame struct {
	Version  uint8      `cbor:"1,keyasint"`
	At       int64      `cbor:"2,keyasint"`
	By       string     `cbor:"3,keyasint,omitempty"`
	Commands []envelope `cbor:"4,keyasint"`
}

// version is that of the encoding.
func (frame) version() uint8 { return 1 }

// modes write and read entries.
var modes = struct {
	enc cbor.EncMode
	dec cbor.DecMode
}{
	must(cbor.CoreDetEncOptions().EncMode()),
	must(cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxArrayElements: 4096, MaxMapPairs: 64, MaxNestedLevels: 12,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField, UTF8: cbor.UTF8RejectInvalid,
	}.DecMode()),
}

func must[T any](v T, err error) T {
	if err != nil {
		return *new(T) // fixed options: a test shows that both modes exist
	}
	return v
}

// New returns a command with its encoded body. It fails if the body is not valid by itself or does not fit
// into an entry.
func New(actor string, b Body) (Command, error) {
	if err := b.Validate(); err != nil {
		return Command{}, err
	}
	if !model.Text(actor, model.MaxName) {
		return Command{}, &model.Problem{Field: "actor", Want: "one line of at most 128 bytes"}
	}
	raw, err := modes.enc.Marshal(b)
	if err != nil {
		return Command{}, fmt.Errorf("encoding a %s command: %w", b.Kind(), err)
	}
	if c := (Command{Actor: actor, Body: b, kind: b.Kind(), raw: raw}); c.Size() <= c.kind.limit() {
		return c, nil
	}
	return Command{}, fmt.Errorf("%s of %d bytes: %w (at most %d)", b.Kind(), len(raw), ErrTooLarge, b.Kind().limit())
}

// WithRequest returns the command under a request id, 1 to 128 bytes of text.
func (c Command) WithRequest(id string) (Command, error) {
	if id == "" || !model.Text(id, model.MaxRequestID) {
		return Command{}, &model.Problem{Field: "request id", Want: "1 to 128 bytes of text on one line"}
	}
	c.RequestID = id
	return c, nil
}

// Kind returns the command's kind, also when its body could not be read.
func (c *Command) Kind() Kind { return c.kind }

// Size returns the space that the command takes in an entry: at most its bytes, and for an array something
// for each task, so that few bytes cannot make the applying of one entry long.
func (c *Command) Size() int {
	size := len(c.raw) + len(c.Actor) + len(c.RequestID) + len(c.From) + envelopeCap
	if b, ok := c.Body.(interface{ tasks() int }); ok && c.Err == nil {
		size += b.tasks() * taskWeight
	}
	return size
}

// BodyHash returns the start of the SHA-256 of the encoded body, by which a repeated request is compared.
func (c *Command) BodyHash() [16]byte {
	sum := sha256.Sum256(c.raw)
	return [16]byte(sum[:16])
}

func (k Kind) limit() int {
	switch {
	case k.Lane() == LaneControl:
		return MaxControlEntry - envelopeCap
	case k.large():
		return MaxEntry - envelopeCap
	}
	return k.Lane().Room() - envelopeCap
}

// large reports whether one command of the kind may be as large as an entry: with the environment of a submission. Lists of other
// commands grow when they are decoded.
func (k Kind) large() bool { return k == KindSubmit || k == KindImportJobs }

// Encode packs commands into the bytes of one log entry.
func Encode(at model.Time, by string, commands []Command) ([]byte, error) {
	f := frame{Version: frame{}.version(), At: int64(at), By: by, Commands: make([]envelope, len(commands))}
	var left room
	left.clear()
	for i := range commands {
		c := &commands[i]
		if !left.take(c.kind.Lane(), c.Size(), left.begin(c.kind)) {
			return nil, fmt.Errorf("an entry with so much in its %d commands: %w", len(commands), ErrTooLarge)
		}
		f.Commands[i] = envelope{uint16(c.kind), c.Actor, c.RequestID, c.raw, c.From}
	}
	data, err := modes.enc.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encoding a log entry: %w", err)
	}
	if len(data) > MaxEntry || len(commands) > MaxCommands {
		return nil, fmt.Errorf("an entry of %d commands and %d bytes: %w", len(commands), len(data), ErrTooLarge)
	}
	return data, nil
}

// Decode decodes the bytes of a log entry. It never panics, whatever they are. An *[UnknownError] means a
// newer program's entry; any other error means that the bytes are not an entry at all.
func Decode(data []byte) (Entry, error) {
	if len(data) > MaxEntry {
		return Entry{}, fmt.Errorf("an entry of %d bytes: %w", len(data), ErrTooLarge)
	}
	var f frame
	if err := modes.dec.Unmarshal(data, &f); err != nil {
		return Entry{}, unknownOr(err, "a field of an entry")
	}
	if f.Version != f.version() {
		return Entry{}, &UnknownError{fmt.Sprintf("an entry of version %d", f.Version)}
	}
	e := Entry{At: model.Time(f.At), By: f.By, Hash: sha256.Sum256(data)}
	e.Commands = make([]Command, len(f.Commands))
	var left room
	left.clear()
	for i, v := range f.Commands {
		if err := e.Commands[i].read(v, &left); err != nil {
			return Entry{}, err
		}
	}
	return e, nil
}

// room is the space that commands of each lane still have in an entry. It applies when an entry is written
// and again when it is read: lists of the control lane's commands grow a hundredfold when they are decoded.
//
// The first command of the user lane, if it is of a large kind, may take all of the entry and more: others are refused then.
type room struct {
	left [LaneCount]int
	user bool // a command of the user lane was taken
}

func (r *room) clear() {
	*r = room{left: [LaneCount]int{LaneUser: LaneUser.Room(), LaneControl: 2 * LaneControl.Room()}}
}

// begin notes that a command of a kind comes next, and returns how many bytes its lane may be overdrawn by that command.
func (r *room) begin(k Kind) (overdraft int) {
	if k.large() && !r.user {
		overdraft = MaxEntry
	}
	r.user = r.user || k.Lane() == LaneUser
	return overdraft
}

// take takes space of a lane, and reports whether there was enough.
func (r *room) take(l Lane, size, overdraft int) bool {
	r.left[l] -= size
	return r.left[l] >= -overdraft
}

func (c *Command) read(v envelope, left *room) error {
	*c = Command{Actor: v.Actor, RequestID: v.Request, From: v.From, kind: Kind(v.Kind), raw: slices.Clone(v.Body)}
	b := c.kind.Fresh()
	if b == nil {
		return &UnknownError{fmt.Sprintf("a command of kind %d", v.Kind)}
	}
	size, overdraft := c.Size(), left.begin(c.kind)
	if !left.take(c.kind.Lane(), size, overdraft) {
		c.Err = ErrTooLarge
		return nil
	}
	if err := modes.dec.Unmarshal(v.Body, b); err != nil {
		err = unknownOr(err, "a field of a "+c.kind.String()+" command")
		if _, ok := errors.AsType[*UnknownError](err); ok {
			return err
		}
		c.Err = err
		return nil
	}
	c.Body = b
	switch {
	case !model.Text(c.Actor, model.MaxName):
		c.Err = &model.Problem{Field: "actor", Want: "one line of at most 128 bytes"}
	case !model.Text(c.RequestID, model.MaxRequestID):
		c.Err = &model.Problem{Field: "request id", Want: "at most 128 bytes of text on one line"}
	case !model.Text(c.From, MaxAddress):
		c.Err = &model.Problem{Field: "from", Want: "at most 64 bytes of text on one line"}
	default:
		c.Err = b.Validate()
	}
	if c.Err == nil && !left.take(c.kind.Lane(), c.Size()-size, overdraft) {
		c.Err = ErrTooLarge
	}
	return nil
}

func unknownOr(err error, what string) error {
	if e, ok := errors.AsType[*cbor.UnknownFieldError](err); ok {
		return &UnknownError{fmt.Sprintf("%s (number %d in its map)", what, e.Index)}
	}
	return fmt.Errorf("reading %s: %w", what, err)
}
