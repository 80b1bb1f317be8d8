package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// JobID parses a job's id. A text that is not valid is the id of no job.
func JobID(text string) (model.JobID, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, problem.Refuse(wire.CodeNotFound, "there is no such job: ids are numbers, as in the answers to submissions and GET /queue")
	}
	return model.JobID(n), nil
}

// hashOf returns the hash by which [wire.SavedJob] refers to a text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Role parses a role; an empty text gives no role.
func Role(name string) (model.Role, error) {
	role, known := model.RoleNamed(name)
	if !known && name != "" {
		return role, problem.Invalid("role", "must be viewer, user, operator or admin, or for a machine that joins agent or peer")
	}
	return role, nil
}

// States parses a list of states; empty: no states are picked.
func States(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	list := strings.Split(strings.ToLower(text), ",")
	for _, s := range list {
		if !slices.Contains(StateNames(), s) {
			return nil, problem.Invalid("state", "must be one of "+strings.Join(StateNames(), ", "))
		}
	}
	return list, nil
}

// StateNames returns the names of the states of tasks, as a task passes through them.
func StateNames() (names []string) {
	for s := model.TaskQueued; s <= model.TaskCanceled; s++ {
		names = append(names, s.String())
	}
	return names
}

func scopeNamed(kind, name string, cluster bool) (model.ScopeKey, error) {
	for _, k := range []model.ScopeKind{model.ScopeProject, model.ScopeUser} {
		if kind == k.String() {
			return model.ScopeKey{Kind: k, Name: name}, nil
		}
	}
	if c := model.ScopeCluster; cluster && kind == c.String() && name == "" {
		return model.ScopeKey{Kind: c}, nil
	}
	return model.ScopeKey{}, problem.Invalid("scope", "must be project or user with a name, or of a quota cluster without")
}
