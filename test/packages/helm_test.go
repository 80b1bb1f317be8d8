package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The chart renders, and what it renders is valid for the oldest and the newest Kubernetes of kubernetes-validate.
func TestHelm(t *testing.T) {
	t.Parallel()
	needsTools(t, "helm", "kubernetes-validate")
	const chart = "deploy/helm/berth"
	has(t, ok(t, "helm", "lint", "--strict", chart), "0 chart(s) failed")
	for name, args := range map[string][]string{
		"defaults": nil, // jobs run as root, as the notes say
		"other": {
			"--set", "peers.replicas=5,peers.partition=4,peers.storageClass=fast,agents.gpus=sim:4,agents.runtimeClassName=,image.tag=1", "--set-string", "peers.renamed.1=berth-1b",
			"--set", "peers.env.BERTH_LOG_LEVEL=debug", "--set", "service.type=LoadBalancer", "--set", "agents.runAsUsers=true",
			"--set", "agents.extraVolumes[0].name=passwd,agents.extraVolumes[0].hostPath.path=/etc/passwd", "--set", "agents.extraVolumeMounts[0].name=passwd,agents.extraVolumeMounts[0].mountPath=/etc/passwd",
		},
		"peers alone": {"--set", "agents.enabled=false"},
	} {
		out := ok(t, append([]string{"helm", "template", "berth", chart, "--namespace", "gpu"}, args...)...)
		has(t, out, "podManagementPolicy: Parallel", "publishNotReadyAddresses: true", "maxUnavailable: 1", "path: /readyz", "path: /healthz")
		file := filepath.Join(t.TempDir(), "rendered.yaml")
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, version := range []string{"1.28", "1.37"} {
			if said, err := run(t, "kubernetes-validate", "--strict", "--kubernetes-version", version, file); err != nil {
				t.Errorf("%s: %v\n%s", name, err, said)
			}
		}
		if name == "other" {
			has(t, out, `{name: BERTH_AGENT_RUN_AS_USERS, value: "true"}`, `{name: BERTH_AGENT_SHARED_ACCOUNT, value: "false"}`, "mountPath: /etc/passwd")
			has(t, out, "id=berth-1b", "berth-4.berth-peers.gpu.svc:10000", "storageClassName: fast", "partition: 4", "BERTH_LOG_LEVEL")
		}
		if name == "peers alone" {
			hasNot(t, out, "kind: DaemonSet")
		}
	}
}

// The sidecar makes a token for each pod that waits and has none, and only where the peer leads.
func TestInvite(t *testing.T) {
	t.Parallel()
	needsTools(t, "jq")
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("berth.yaml", "server:\n  id: berth-0\n")
	write("berth", `#!/bin/sh
case "$*" in
"peers -o json") echo '{"leader": "'$LEADER'", "peers": [{"name": "berth-0"}, {"name": "berth-1"}]}' ;;
*) echo "berth $*" >> "$LOG"; echo "TOKEN-$*" | tr ' ' - ;;
esac
`)
	write("curl", `#!/bin/sh
case "$*" in
*PATCH*) cat >> "$LOG" ;;
*/pods*) echo '{"items": [
	{"metadata": {"name": "berth-1", "labels": {"app.kubernetes.io/component": "peer"}}, "status": {"initContainerStatuses": [{"name": "join", "state": {"running": {}}}]}},
	{"metadata": {"name": "berth-2", "labels": {"app.kubernetes.io/component": "peer"}}, "status": {"initContainerStatuses": [{"name": "join", "state": {"terminated": {}}}]}},
	{"metadata": {"name": "berth-agent-x", "labels": {}}, "spec": {"nodeName": "gpu7"}, "status": {"initContainerStatuses": [{"name": "join", "state": {"running": {}}}]}},
	{"metadata": {"name": "berth-agent-y", "labels": {}}, "spec": {"nodeName": "gpu8"}, "status": {"initContainerStatuses": [{"name": "join", "state": {"running": {}}}]}}]}' ;;
*/secrets/*) echo "{\"metadata\": {\"annotations\": {\"berth.made/gpu8\": \"$(date +%s)\"}}}" ;;
esac
`)
	for leader, want := range map[string][]string{
		"berth-0": {"berth token join peer\n", "berth token join node --name gpu7\n", `"berth-1": "TOKEN-token-join-peer"`, `"gpu7": "TOKEN-token-join-node---name-gpu7"`},
		"berth-1": nil,
	} {
		log := filepath.Join(dir, "calls-"+leader)
		if _, err := runIn(t, top, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "LOG=" + log, "LEADER=" + leader, "CONFIG=" + filepath.Join(dir, "berth.yaml"), "NAMESPACE=n", "RELEASE=berth", "SECRET=s"},
			"sh", "deploy/helm/berth/files/invite", "once"); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(log)
		if want == nil {
			if err == nil {
				t.Errorf("a follower has made tokens: %s", text)
			}
			continue
		}
		has(t, string(text), want...)
		if strings.Contains(string(text), "gpu8") || strings.Contains(string(text), "berth-2") {
			t.Errorf("tokens were made for pods that have one or do not wait: %s", text)
		}
	}
}
