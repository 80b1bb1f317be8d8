package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The playbook is what ansible-lint and Ansible itself take for one.
func TestAnsibleLint(t *testing.T) {
	t.Parallel()
	needsTime(t)
	needsTools(t, "ansible-playbook", "ansible-lint")
	dir := filepath.Join(top, "deploy", "ansible")
	if _, err := runIn(t, dir, nil, "ansible-lint", "--offline", "--strict", "--profile", "production", "--nocolor", "."); err != nil {
		t.Error(err)
	}
	if _, err := runIn(t, dir, nil, "ansible-playbook", "-i", "inventory.example.yml", "--syntax-check", "cluster.yml"); err != nil {
		t.Error(err)
	}
}

// manager starts the programs of members once they have keys and the settings of the role, as systemd does where it runs.
const manager = `#!/bin/sh
for start in server,dir:..srv agent,gpus:.sim:2; do
	( until [ -e /var/lib/berth/${start%%,*}/trust ] && grep -q "${start##*,}" /etc/berth/berth.yaml; do sleep 0.2; done
	exec berthd ${start%%,*} --config /etc/berth/berth.yaml > /var/log/${start%%,*} 2>&1 ) &
done
`

// ansibleSettings are settings with all characters that mean something in the file of a unit.
const ansibleSettings = `{
  "berth_agent_settings": {"agent.gpus": "sim:2", "agent.umask": "027"},
  "berth_server_settings": {"log.level": "debug", "backup.dir": "/srv/a %i $HOME", "workloads.defaults_file": null},
  "berth_server_folders": ["/srv/a %i $HOME"]
}`

// The playbook, really run in a Debian in a folder with a network of its own: it installs the package, makes a cluster, lets
// the same machine join as a node, and changes nothing when it is run again. A job then runs.
func TestAnsible(t *testing.T) {
	t.Parallel()
	deb := published(t, "berth_*_{arch}.deb")
	needsTools(t, "ansible-playbook", "ip")
	r := newRoot(t, "python3", "python3-apt", "iproute2")
	program, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Fatal(err)
	}
	bin, err := filepath.EvalSymlinks(filepath.Dir(program))
	if err != nil {
		t.Fatal(err)
	}
	python, err := filepath.EvalSymlinks(filepath.Join(bin, "python"))
	if err != nil {
		t.Fatal(err)
	}
	r.copyIn(deb, "/root/"+filepath.Base(deb))
	ok(t, "cp", "-r", "deploy/ansible", filepath.Join(r.dir, "root", "ansible"))
	r.write("usr/local/bin/manager", manager)
	r.write("root/inventory.yml", "berth_peers: {hosts: {m1: {ansible_connection: local, ansible_host: 10.9.9.1}}}\nberth_nodes: {hosts: {m1: {}}}\n")
	r.write("root/settings.json", ansibleSettings)
	r.write("root/test", `set -eu
ip link set lo up; ip link add card type veth peer name other; ip link set other up; ip address add 10.9.9.1/24 dev card; ip link set card up
manager
cd /root/ansible
play() { `+filepath.Join(bin, "ansible-playbook")+` -i /root/inventory.yml cluster.yml -e berth_package=/root/`+filepath.Base(deb)+` \
	-e berth_advertise=10.9.9.1 -e @/root/settings.json 2>&1 || { tail -n 5 /var/log/server /var/log/agent; exit 1; }; }
play
play
cat /etc/systemd/system/berth-server.service.d/ansible.conf
stat --format '%U %a %n' '/srv/a %i $HOME'
grep -e umask: -e dir: /etc/berth/berth.yaml
berth cluster status
until berth nodes | grep -q 2/2; do sleep 1; done
useradd -m ann
BERTH_TOKEN=$(berth token create --user ann --role user 2> /dev/null | grep ^berth_)
export BERTH_TOKEN
berth run -g 1 -- echo the job has run
`)
	out, err := run(t, "timeout", "--signal=KILL", "300", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-euc", `
mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"
for folder in "$1" "$2"; do mkdir -p "$0$folder"; mount --rbind "$folder" "$0$folder"; done
exec chroot "$0" env LC_ALL=C.UTF-8 ANSIBLE_NOCOLOR=1 sh /root/test`, r.dir, filepath.Dir(bin), filepath.Dir(filepath.Dir(python)))
	if err != nil {
		t.Fatal(err)
	}
	has(t, out, "1 with a vote", "the job has run")
	has(t, out, `ReadWritePaths="-/srv/a %%i $HOME"`, "berth 700 /srv/a %i $HOME", "dir: /srv/a %i $HOME", `umask: "027"`)
	hasNot(t, out, "Environment=")
	recap := regexp.MustCompile(`m1 +: ok=\d+ +changed=(\d+) +unreachable=0 +failed=0`).FindAllStringSubmatch(out, -1)
	if len(recap) != 2 || recap[0][1] == "0" || recap[1][1] != "0" {
		t.Errorf("the plays ended as %v, want changes in the first and none in the second:\n%s", recap, strings.TrimSpace(out))
	}
}

// Settings go into the file of settings, by the command that checks them, and not into units, which every user of the machine can read.
func TestAnsibleWritesTheFile(t *testing.T) {
	t.Parallel()
	tasks, err := filepath.Glob(filepath.Join(top, "deploy", "ansible", "roles", "berth", "tasks", "*.yml"))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("%v, %v", tasks, err)
	}
	all := ""
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	has(t, all, "argv: [berth, config, write, /etc/berth/berth.yaml]", "stdin: \"{{ berth_settings | to_json }}\"")
	hasNot(t, all, "Environment")
}
