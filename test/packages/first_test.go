package packages

import (
	"flag"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// firstRuns is how often TestFirstJob measures: go test ./test/packages -run TestFirstJob -v -first.runs=5
var firstRuns = flag.Int("first.runs", 1, "how often the way from the package to the first job is measured")

// first is the way from the package to the end of the first job, on one machine, without systemd: programs are started by hand
// in its place. Each step is a line "step NAME MILLISECONDS".
const first = `set -eu
ip link set lo up; ip link add card type veth peer name other; ip link set other up; ip address add 10.9.9.1/24 dev card; ip link set card up
began=$(date +%s%N) last=$began
step() { now=$(date +%s%N); echo "step $1 $(((now - last) / 1000000))"; last=$now; }
dpkg -i /root/berth.deb > /dev/null
step package
berth init --id m1 --advertise 10.9.9.1 > /dev/null
berthd server --config /etc/berth/berth.yaml > /var/log/server 2>&1 &
until berth token join node --name m1 > /root/token 2> /dev/null; do sleep 0.02; done
step peer
berth join node --id m1 --advertise 10.9.9.1 --address 10.9.9.1:10000 < /root/token > /dev/null
sed -i 's/^agent:$/&\n  gpus: sim:4/' /etc/berth/berth.yaml # as the quick start has it for a machine without a driver
useradd -m ann
berthd agent --config /etc/berth/berth.yaml > /var/log/agent 2>&1 &
token=$(berth token create --user ann --role admin 2> /dev/null | grep ^berth_)
test "$(BERTH_TOKEN=$token berth run -g 1 -- echo done)" = done
step job
last=$began
step total
`

// From the package to the end of the first job. With -v the times are shown.
func TestFirstJob(t *testing.T) {
	deb := published(t, "berth_*_{arch}.deb")
	needsTools(t, "ip")
	r := newRoot(t, "iproute2")
	r.copyIn(deb, "/root/berth.deb")
	r.write("root/first", first)
	times := map[string][]int{}
	for range *firstRuns {
		out, err := run(t, "timeout", "--signal=KILL", "120", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-euc",
			`mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; exec chroot "$0" sh /root/first`, r.dir)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`step (\w+) (\d+)`).FindAllStringSubmatch(out, -1)
		if len(found) != 4 {
			t.Fatalf("steps are missing:\n%s", out)
		}
		for _, m := range found {
			ms, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			times[m[1]] = append(times[m[1]], ms)
		}
		r.ok("dpkg -P berth; rm -rf /var/lib/berth")
	}
	for _, name := range []string{"package", "peer", "job", "total"} {
		list := times[name]
		slices.Sort(list)
		t.Logf("%-8s median %d ms, %d to %d ms, %d runs", name, list[len(list)/2], list[0], list[len(list)-1], len(list))
	}
}
