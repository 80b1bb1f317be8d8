package wire

// Foreign is the body of POST /nodes/{node_id}/foreign/kill and /adopt.
type Foreign struct {
	Job string `json:"job_id,omitempty" doc:"only attempts of this job; all of the node by default"`
}
