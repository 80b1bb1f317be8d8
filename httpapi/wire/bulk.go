package wire

// Bulk is the body of POST /queue/bulk: one change of many jobs.
type Bulk struct {
	Action   string      `json:"action" enum:"cancel,hold,release,requeue,priority" doc:"what to do with each job"`
	IDs      []string    `json:"ids" nullable:"false" empty:"never" doc:"of the jobs, each once, at most 1000"`
	Note     string      `json:"note,omitempty" empty:"text" doc:"why, for the timelines of the jobs; at most 512 bytes"`
	Priority *int64      `json:"priority,omitempty" minimum:"1" maximum:"10" doc:"with the action priority: the new one"`
	Before   string      `json:"before,omitempty" maxLength:"32" doc:"with the action priority, in place of priority, from operators: another job that waits; the jobs go directly ahead of it, in the order of ids"`
	Expect   *BulkExpect `json:"expect,omitempty" doc:"what the caller was shown of the jobs: nothing is done if it holds no more"`
}

// BulkExpect is what the sender of a change of many jobs was shown of them. What is left out is not compared.
type BulkExpect struct {
	Count  *int64   `json:"count,omitempty" minimum:"0" doc:"how many of the jobs have not ended"`
	Users  []string `json:"users,omitempty" nullable:"false" doc:"the owners of those that have not ended"`
	States []string `json:"states,omitempty" nullable:"false" doc:"the states that those that have not ended may be in"`
}

// BulkDone is the answer to POST /queue/bulk.
type BulkDone struct {
	Success bool         `json:"success" doc:"all were carried out"`
	Done    int64        `json:"done"`
	Refused int64        `json:"refused"`
	Results []BulkResult `json:"results" nullable:"false" doc:"one for each id, in the order of the request"`
}

// BulkResult is what became of the change of one job.
type BulkResult struct {
	JobID   string `json:"job_id"`
	Success bool   `json:"success"`
	Code    string `json:"code,omitempty" doc:"why it was refused, as in problems"`
	Status  int    `json:"status,omitempty" doc:"of a refusal: the status of the answer to the same request for this job alone"`
	Message string `json:"message,omitempty"`
	State   string `json:"state,omitempty" doc:"present state of the job"`
}
