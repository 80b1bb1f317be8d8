// Package event has the JSON shapes of events, as webhooks and the HTTP API deliver them, and nothing else.
package event

import (
	"encoding/json"
	"time"
)

// Notice is one event, as GET /events and webhooks deliver it.
type Notice struct {
	ID        string     `json:"id" doc:"the same on every peer; Last-Event-ID to continue after it"`
	Type      string     `json:"type" doc:"such as job.started"`
	Timestamp time.Time  `json:"timestamp" doc:"by the cluster's clock"`
	Actor     string     `json:"actor,omitempty" doc:"the cause, such as user:alice or node:n1"`
	Target    string     `json:"target" doc:"the target, such as job 17"`
	Result    string     `json:"result,omitempty" doc:"the result, in words"`
	Data      NoticeData `json:"data"`
}

// NoticeData is what an event is about, for programs.
type NoticeData struct {
	JobID        string    `json:"job_id,omitempty"`
	Task         *int64    `json:"task,omitempty" doc:"of an array; absent: the array as a whole"`
	Attempt      int64     `json:"attempt,omitempty"`
	NodeID       string    `json:"node_id,omitempty"`
	GPUUUID      string    `json:"gpu_uuid,omitempty"`
	AllocationID string    `json:"allocation_id,omitempty"`
	PeerID       string    `json:"peer_id,omitempty"`
	Name         string    `json:"name,omitempty" doc:"of the job or the service"`
	User         string    `json:"user,omitempty"`
	Project      string    `json:"project,omitempty"`
	Priority     int64     `json:"priority,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	Detail       string    `json:"detail,omitempty"`
	SubmittedAt  time.Time `json:"submitted_at,omitzero"`
	WaitSeconds  *float64  `json:"wait_seconds,omitempty" doc:"from when the job could have run to its start, or from the request to a grant"`
	GPUIDs       []int64   `json:"gpu_ids,omitempty" nullable:"false" doc:"of an allocation: the GPUs' indices on the node"`
	Queued       int64     `json:"queued,omitempty" doc:"tasks that wait"`
}

// Granted is what the webhook of an allocation gets.
type Granted struct {
	Status      string            `json:"status"`
	RequestID   string            `json:"request_id"`
	Allocation  GrantedAllocation `json:"allocation"`
	SubmittedAt time.Time         `json:"submitted_at"`
	AllocatedAt time.Time         `json:"allocated_at"`
	WaitSeconds json.Number       `json:"wait_time_seconds"`
}

// GrantedAllocation is the allocation in Granted.
type GrantedAllocation struct {
	ID          string    `json:"id"`
	ServiceName string    `json:"service_name"`
	GPUIDs      []int64   `json:"gpu_ids"`
	AllocatedAt time.Time `json:"allocated_at"`
	Priority    int64     `json:"priority"`
}
