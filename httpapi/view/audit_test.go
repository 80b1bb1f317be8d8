package view

import "testing"

// The names of what is shown are those of the API.
func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"Job": "job", "TimeLimit": "time_limit", "GPUs": "gpus", "GPUsPerJob": "gpus_per_job", "GPUModel": "gpu_model", "ID": "id",
		"IDs": "ids", "GPU": "gpu", "CancelIDs": "cancel_ids",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s is told as %s, want %s", name, got, want)
		}
	}
}
