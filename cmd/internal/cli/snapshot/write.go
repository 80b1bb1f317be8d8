package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The state files.
const (
	fileCluster      = "cluster_state.json"
	fileQueue        = "job_queue.json"
	fileOrchestrator = "orchestrator_state.json"
	fileAllocation   = "gpu_allocation.json"
)

func stateFiles() []string {
	return []string{fileCluster, fileQueue, fileOrchestrator, fileAllocation}
}

// prepare makes the folder, and refuses to overwrite files, before the cluster is asked.
func prepare(folder string, replace bool) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder for the state files: %w", err)
	}
	for _, name := range stateFiles() {
		_, err := os.Lstat(filepath.Join(folder, name))
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && replace:
		case err != nil:
			return err
		default:
			return fmt.Errorf("%s exists already: give another folder, or --replace", filepath.Join(folder, name))
		}
	}
	return nil
}

// writeSnapshot writes all files under temporary names and renames them at the end: a full disk
// leaves the old files intact.
func writeSnapshot(folder string, s *wire.Snapshot) (*exported, error) {
	var temps []string
	defer func() {
		for _, temp := range temps {
			_ = os.Remove(temp) // those that were not renamed
		}
	}()
	for i, content := range []any{&s.ClusterState, &s.JobQueue, &s.Orchestrator, &s.Allocation} {
		temp, err := writeTemp(folder, stateFiles()[i], content)
		if temp != "" {
			temps = append(temps, temp)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot write %s; nothing was replaced: %w", filepath.Join(folder, stateFiles()[i]), err)
		}
	}
	for i, name := range stateFiles() {
		if err := os.Rename(temps[i], filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	if err := smallfile.SyncFolder(folder); err != nil {
		return nil, err
	}
	return &exported{Folder: folder, Files: stateFiles(), Index: s.JobQueue.Saved.Index, Jobs: len(s.JobQueue.Saved.Jobs)}, nil
}

// writeTemp writes a file that only its owner may read, and syncs it to the disk.
func writeTemp(folder, name string, content any) (temp string, err error) {
	f, err := os.CreateTemp(folder, "."+name+".*")
	if err != nil {
		return "", err
	}
	e := json.NewEncoder(f)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return f.Name(), errors.Join(e.Encode(content), f.Sync(), f.Close())
}
