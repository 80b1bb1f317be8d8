package agent_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// A gang over two nodes starts when both are ready, and finds its meeting point.
func TestGang(t *testing.T) {
	c := newCluster(t)
	newHost(t, c, "n1", 1).start(t)
	newHost(t, c, "n2", 1).start(t)
	c.free(t, 2)
	job := c.submit(t, func(b *command.Submit) {
		b.Spec.GPUs, b.Spec.Nodes = 2, 2
		b.Spec.Command = `[ "$BERTH_NNODES $BERTH_NODELIST $WORLD_SIZE $MASTER_ADDR" = "2 n1,n2 2 127.0.0.1" ] && [ "$MASTER_PORT" -gt 0 ]`
	})
	if task := c.ended(t, job); task.State != model.TaskCompleted {
		t.Errorf("the task is %s, rank ended with %d", task.State, task.ExitCode)
	}
	c.free(t, 2)
}

// A job ends with rank 0: the other rank, which would go on, is stopped. Each rank finds the secret of the attempt.
func TestAJobEndsWithItsLead(t *testing.T) {
	c := newCluster(t)
	newHost(t, c, "n1", 1).start(t)
	newHost(t, c, "n2", 1).start(t)
	c.free(t, 2)
	dir := t.TempDir()
	job := c.submit(t, func(b *command.Submit) {
		b.Spec.GPUs, b.Spec.Nodes, b.Spec.Lead = 2, 2, true
		b.Env = []string{"DIR=" + dir}
		b.SubmitEnv = []string{"PHRASE=from the shell"}
		b.Spec.Command = `grep secret "$BERTH_GANG" > "$DIR/secret.$BERTH_NODE_RANK"
[ "$BERTH_NODE_RANK" = 1 ] && { touch "$DIR/up"; exec sleep 600; }
while [ ! -e "$DIR/up" ]; do :; done
[ "$PHRASE" = "from the shell" ] && grep -q '"secret": "[0-9a-f]' "$DIR/secret.0" && cmp "$DIR/secret.0" "$DIR/secret.1"`
	})
	if task := c.ended(t, job); task.State != model.TaskCompleted {
		t.Errorf("the task is %s, rank ended with %d", task.State, task.ExitCode)
	}
	c.free(t, 2)
}
