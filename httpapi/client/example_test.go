package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// standIn answers as a peer of a cluster would that has queued one job.
func standIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/queue/submit" {
		fmt.Fprint(w, `{"success": true, "job_id": "1", "queue_position": 1, "job": {"id": "1", "state": "queued", "gpu_count": 2}}`)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, `{"status": 404, "code": "not_found", "title": "Not Found", "detail": "there is no job 7"}`)
}

// A job is submitted by way of any peer. A program gives the addresses of several.
func Example() {
	peer := httptest.NewServer(http.HandlerFunc(standIn))
	defer peer.Close()

	c, err := client.New(client.Options{Addresses: []string{peer.Listener.Addr().String()}, Token: "berth_..."})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	gpus := int64(2)
	done, err := c.Submit(context.Background(), &wire.Submit{User: "alice", Command: "python train.py", GPUs: &gpus}, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("job %s is %s at position %d\n", done.JobID, done.Job.State, done.QueuePosition)
	// Output: job 1 is queued at position 1
}

// What a peer refuses is a problem, whose code is stable.
func ExampleClient_Job() {
	peer := httptest.NewServer(http.HandlerFunc(standIn))
	defer peer.Close()

	c, err := client.New(client.Options{Addresses: []string{peer.Listener.Addr().String()}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	_, _, err = c.Job(context.Background(), "7", client.JobQuery{})
	if p, refused := errors.AsType[*wire.Problem](err); refused && p.Code == wire.CodeNotFound {
		fmt.Println(p.Detail)
	}
	// Output: there is no job 7
}
