// Package agentwire is the protocol between agents and peers on the API's paths under /agent/:
// requests and answers in CBOR, made of the model's own types, which have that encoding already.
//
// Every path is POST. The answer to a command carries a code of the state; a failure to answer (no
// leader, an overload) is an HTTP status with a problem, as everywhere in the API.
//
//berth:single
package agentwire

import (
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/fsm/model"
)

// MediaType is that of requests and answers.
const MediaType = "application/cbor"

// The paths.
const (
	PathRegister  = "/agent/register"  // Register -> Registered
	PathRenew     = "/agent/renew"     // Renew -> Renewed
	PathDesired   = "/agent/desired"   // Poll -> model.Desired
	PathReport    = "/agent/report"    // Report -> Reported
	PathInventory = "/agent/inventory" // Inventory -> Reported
	PathBlob      = "/agent/blob"      // Fetch -> Content
	PathTail      = "/agent/tail"      // Tail -> nothing
	PathSilence   = "/agent/silence"   // nothing -> Silence, of the peer that is asked

	PathCertificate = "/agent/certificate" // Certify -> Certified, of the peer that is asked
	PathTrust       = "/agent/trust"       // Trust -> nothing
)

// MaxBody bounds a request, in bytes.
const MaxBody = 4 << 20

// MaxTail bounds the last output of a rank that peers keep, in bytes.
const MaxTail = 64 << 10

// Register registers a node with the cluster, the first time or again.
type Register struct {
	Node     model.NodeID     `cbor:"1,keyasint"`
	Machine  string           `cbor:"2,keyasint,omitempty"`
	Boot     string           `cbor:"3,keyasint,omitempty"`
	Lineage  string           `cbor:"4,keyasint,omitempty"`
	Session  string           `cbor:"5,keyasint,omitempty"`
	Hostname string           `cbor:"6,keyasint,omitempty"`
	Address  string           `cbor:"7,keyasint,omitempty"` // where the agent listens
	Version  string           `cbor:"8,keyasint,omitempty"`
	CPUs     uint32           `cbor:"9,keyasint,omitempty"`
	MemoryMB uint32           `cbor:"10,keyasint,omitempty"`
	Devices  []model.Device   `cbor:"11,keyasint,omitempty"`
	Folders  []model.Folder   `cbor:"12,keyasint,omitempty"`
	Reports  []model.Progress `cbor:"13,keyasint,omitempty"`
	Cleaned  []model.Cleaned  `cbor:"14,keyasint,omitempty"`
	Features string           `cbor:"15,keyasint,omitempty"` // the host's features for the isolation of jobs
	Labels   string           `cbor:"16,keyasint,omitempty"` // as model.Labels writes them
	Follows  uint64           `cbor:"17,keyasint,omitempty"` // the epoch in which the agent takes the node to be; a guess is 1
	Trouble  string           `cbor:"18,keyasint,omitempty"` // why the agent cannot start jobs; empty: it can
	Accounts model.Accounts   `cbor:"19,keyasint,omitempty"` // under which it runs jobs
	Account  string           `cbor:"20,keyasint,omitempty"` // the agent's own
}

// Registered is the answer.
type Registered struct {
	Code        model.Code        `cbor:"1,keyasint,omitempty"`
	Detail      string            `cbor:"2,keyasint,omitempty"` // of a refusal
	Incarnation model.Incarnation `cbor:"3,keyasint,omitempty"`
	Epoch       uint64            `cbor:"4,keyasint,omitempty"` // with stale_epoch: the one to follow
	Index       uint64            `cbor:"5,keyasint,omitempty"` // of a state that holds the registration
	Verdicts    []model.Code      `cbor:"6,keyasint,omitempty"` // one for each report
	Peers       []string          `cbor:"7,keyasint,omitempty"` // API addresses of all peers
}

// Renew is one try to renew a lease. It is never repeated: the next try has another number.
type Renew struct {
	Node        model.NodeID      `cbor:"1,keyasint"`
	Incarnation model.Incarnation `cbor:"2,keyasint,omitempty"`
	Epoch       uint64            `cbor:"3,keyasint,omitempty"`
	Seq         uint64            `cbor:"4,keyasint,omitempty"`
	Samples     []model.Sample    `cbor:"5,keyasint,omitempty"` // telemetry of the GPUs; never in the log
	Urgent      bool              `cbor:"6,keyasint,omitempty"` // ranks wait for the answer: it is not batched with others
}

// Renewed is the answer.
type Renewed struct {
	Code   model.Code `cbor:"1,keyasint,omitempty"`
	Newest uint64     `cbor:"2,keyasint,omitempty"` // with stale_seq: number of the newest renewal in the log
	Index  uint64     `cbor:"3,keyasint,omitempty"` // of a state that holds the renewal
	Peers  []string   `cbor:"4,keyasint,omitempty"` // API addresses of all peers

	Voters []model.PeerID `cbor:"5,keyasint,omitempty"` // of the leader's configuration, sorted
	Trust  uint64         `cbor:"6,keyasint,omitempty"` // revision of what the cluster trusts: an agent with another has its certificate renewed
}

// Silence is what a peer knows of whether there is a leader.
type Silence struct {
	Peer   model.PeerID   `cbor:"1,keyasint"`
	For    time.Duration  `cbor:"2,keyasint,omitempty"` // how long the peer surely neither led nor had contact to a leader; 0: not known
	Voters []model.PeerID `cbor:"3,keyasint,omitempty"` // of its newest configuration, sorted
}

// Poll asks for the plan of a node, as soon as that has changed.
type Poll struct {
	Node  model.NodeID  `cbor:"1,keyasint"`
	After uint64        `cbor:"2,keyasint,omitempty"` // index of the set that the agent has; 0: answer at once
	Wait  time.Duration `cbor:"3,keyasint,omitempty"` // at most so long; then the set is answered as it is
	Fresh bool          `cbor:"4,keyasint,omitempty"` // nothing acknowledged before the poll may be missing
}

// Report carries a node's reports on its ranks and slots.
type Report struct {
	Node        model.NodeID      `cbor:"1,keyasint"`
	Incarnation model.Incarnation `cbor:"2,keyasint,omitempty"`
	Epoch       uint64            `cbor:"3,keyasint,omitempty"`
	Reports     []model.Progress  `cbor:"4,keyasint,omitempty"`
	Cleaned     []model.Cleaned   `cbor:"5,keyasint,omitempty"`
}

// Inventory carries the present GPUs of a node, and whether its agent can start jobs.
type Inventory struct {
	Node        model.NodeID      `cbor:"1,keyasint"`
	Incarnation model.Incarnation `cbor:"2,keyasint,omitempty"`
	Epoch       uint64            `cbor:"3,keyasint,omitempty"`
	Devices     []model.Device    `cbor:"4,keyasint,omitempty"`
	Trouble     string            `cbor:"5,keyasint,omitempty"` // why the agent cannot start jobs; empty: it can
	Missing     []string          `cbor:"6,keyasint,omitempty"` // users of its jobs whose account the host lacks
}

// Reported is the answer to a Report or an Inventory.
type Reported struct {
	Code     model.Code   `cbor:"1,keyasint,omitempty"`
	Detail   string       `cbor:"2,keyasint,omitempty"`
	Verdicts []model.Code `cbor:"3,keyasint,omitempty"` // one for each report
	Index    uint64       `cbor:"4,keyasint,omitempty"` // of a state that holds it
}

// Fetch asks for a script or an environment by hash.
type Fetch struct {
	Hash model.Hash `cbor:"1,keyasint"`
}

// Certify asks for another certificate of the caller's own node.
type Certify struct {
	Request []byte        `cbor:"1,keyasint"` // PKCS #10
	Life    time.Duration `cbor:"2,keyasint"` // at most
}

// Certified is the answer.
type Certified struct {
	Certificate []byte `cbor:"1,keyasint"`           // X.509
	Authorities []byte `cbor:"2,keyasint"`           // PEM
	Link        []byte `cbor:"4,keyasint,omitempty"` // X.509: the authority, signed by the one before
	Revision    uint64 `cbor:"5,keyasint,omitempty"` // of what the cluster trusts
}

// Trust reports that the caller's node uses a revision of what the cluster trusts.
type Trust struct {
	Revision uint64 `cbor:"1,keyasint"`
}

// Content is the answer. An environment is "NAME=value" texts joined by NUL.
type Content struct {
	Data   string `cbor:"1,keyasint,omitempty"`
	Opened bool   `cbor:"2,keyasint,omitempty"` // it is sealed in the state, and the hash is that of the sealed form
}

// Record is what a node has of a rank that it runs: the answer by which a restored cluster learns of a job that it has
// lost. Environments are "NAME=value" texts joined by NUL.
type Record struct {
	Rank      model.RankKey `cbor:"1,keyasint"`
	Placed    uint64        `cbor:"2,keyasint,omitempty"` // place of its placement in the log
	Spec      model.Spec    `cbor:"3,keyasint"`
	Script    string        `cbor:"4,keyasint,omitempty"`
	Env       string        `cbor:"5,keyasint,omitempty"`
	Stdin     string        `cbor:"6,keyasint,omitempty"` // base64; of rank 0 only
	SubmitEnv string        `cbor:"7,keyasint,omitempty"`
	Ranks     uint32        `cbor:"8,keyasint,omitempty"`  // of the attempt; 0: not known
	Secret    model.Hash    `cbor:"9,keyasint,omitempty"`  // the attempt's; zero: it has one rank
	GPUs      []model.GPUID `cbor:"10,keyasint,omitempty"` // in order of place
}

// Tail is the end of a rank's output, kept for the time when its node is away.
type Tail struct {
	Node   model.NodeID  `cbor:"1,keyasint"`
	Rank   model.RankKey `cbor:"2,keyasint"`
	Stdout []byte        `cbor:"3,keyasint,omitempty"`
	Stderr []byte        `cbor:"4,keyasint,omitempty"`
}

// Samples is the answer by which the leader gives other peers what only the leader knows: the newest sample of every GPU, the counts of its
// scheduler, and the nodes for which two agents run.
type Samples struct {
	Readings   []Reading     `cbor:"1,keyasint,omitempty"`
	Passes     uint64        `cbor:"2,keyasint,omitempty"`
	PassesTook time.Duration `cbor:"3,keyasint,omitempty"`
	Refused    []Refused     `cbor:"4,keyasint,omitempty"`
}

// Refused is why registrations of another agent for a node are refused.
type Refused struct {
	Node model.NodeID `cbor:"1,keyasint"`
	Why  string       `cbor:"2,keyasint"`
}

// Reading is a sample and its age.
type Reading struct {
	Sample model.Sample  `cbor:"1,keyasint"`
	Age    time.Duration `cbor:"2,keyasint,omitempty"`
}

// Encode encodes a request or an answer.
func Encode(v any) ([]byte, error) { return cbor.Marshal(v) }

// Decode decodes a request or an answer, and refuses input that is longer or deeper than any of
// them.
func Decode(data []byte, v any) error {
	mode, err := cbor.DecOptions{MaxNestedLevels: 16, MaxArrayElements: 16384, MaxMapPairs: 1024}.DecMode()
	if err != nil {
		return fmt.Errorf("options of the decoder: %w", err)
	}
	return mode.Unmarshal(data, v)
}
