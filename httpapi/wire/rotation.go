package wire

import "time"

// Rotate is the body of POST /cluster/rotation.
type Rotate struct {
	Rotation string `json:"rotation" enum:"ca,leaf" doc:"what is replaced: the authority that signs certificates, or the keys and certificates of all members"`
}

// Rotation is the answer: how far the replacement of keys and certificates is.
type Rotation struct {
	Rotation string    `json:"rotation,omitempty" doc:"what is being replaced: ca or leaf; absent: nothing is"`
	Step     int       `json:"step,omitempty" doc:"from 1. Step 1: all members learn the next one; step 2: all members use it, and accept the former one"`
	Steps    int       `json:"steps,omitempty"`
	Since    time.Time `json:"since,omitzero" doc:"begin of the step"`
	By       string    `json:"by,omitempty" doc:"actor that has begun the rotation"`
	Revision uint64    `json:"revision" doc:"of what the cluster trusts: rises with each step"`
	Members  int       `json:"members" doc:"peers and nodes whose certificates count"`
	Behind   []Member  `json:"behind" nullable:"false" doc:"members that have not reported to use this revision, up to 100"`
	Missing  int       `json:"missing" doc:"how many members have not"`
}

// Member is a peer or a node.
type Member struct {
	Role string `json:"role" doc:"peer or node"`
	Name string `json:"name"`
}
