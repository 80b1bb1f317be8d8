#!/bin/bash
# The cases of test/vm, run by berth-vm.service in a Debian with systemd. Results are lines on the second serial port:
# "case NAME", then "pass TEXT", "fail TEXT" and "note TEXT", then "end NAME"; "over" is the last line.
set -u
exec > /dev/console 2>&1
export HOME=/root BERTH_ADDRESS=127.0.0.1:10000 LC_ALL=C
patience=240 # seconds that a wait may take; an emulated machine is slow
data=/var/lib/berth-vm
slice=/sys/fs/cgroup/system.slice
jobs=$slice/berth-jobs.service

say() { printf '%s\n' "$*" > /dev/ttyS1; }
note() { say "note $*"; }

# check TEXT COMMAND... passes if the command succeeds.
check() {
	local text=$1
	shift
	if "$@"; then say "pass $text"; else say "fail $text"; fi
}

# equal TEXT WANTED GOT
equal() {
	if [ "$2" = "$3" ]; then say "pass $1: $3"; else say "fail $1: $3, not $2"; fi
}

# within TEXT COMMAND... waits until the command succeeds.
within() {
	local text=$1 from=$SECONDS
	shift
	until "$@"; do
		if [ $((SECONDS - from)) -gt $patience ]; then
			say "fail not within $patience s: $text"
			return 1
		fi
		sleep 0.3
	done
	say "pass $text (after $((SECONDS - from)) s)"
}

not() { ! "$@"; }
show() { systemctl show "$1" -p "$2" --value; }
is() { [ "$(show "$1" "$2")" = "$3" ]; }
born() { cut -d ' ' -f 22 "/proc/$1/stat" 2> /dev/null; }
group() { sed -n 's/^0:://p' "/proc/$1/cgroup" 2> /dev/null; }
journal() { journalctl --no-pager -o cat "$@"; }

# field JOB NAME prints a value of a job's description.
field() {
	# shellcheck disable=SC2016 # variables of perl
	berth show "$1" -o json | perl -MJSON::PP -e 'local $/; my $d = decode_json(<STDIN>); print $d->{$ARGV[0]} // ""' "$2"
}
state_is() { [ "$(field "$1" state)" = "$2" ]; }
attempts_are() { [ "$(field "$1" attempts)" = "$2" ]; }
queued_as() { berth queue | grep -Eq "^ *$1 .*$2"; }

# submit NAME [save] submits a job that ticks, tick waits until it runs.
submit() {
	mkdir -p "$data/$1"
	job=$(berth submit --parsable -g 1 -J "$1" -- bash /mnt/tick.sh "$data/$1" "${2-}") || say "fail the job $1 cannot be submitted"
}
tick() {
	submit "$@"
	within "the job $1 runs" test -s "$data/$1/ticks"
}
process() { tail -n 1 "$data/$1/starts" | cut -d ' ' -f 2; }
attempt() { tail -n 1 "$data/$1/starts" | cut -d ' ' -f 1; }
ticks() { stat -c %s "$data/$1/ticks"; }
beyond() { [ "$(ticks "$1")" -gt "$2" ]; }
ticking() { within "the job $1 goes on" beyond "$1" $(($(ticks "$1") + 2)); }

# remember notes what must not change: the job "long", its process, the unit of the jobs and the agent.
remember() {
	pid=$(process long) start=$(born "$pid") tries=$(field "$long" attempts)
	holder=$(show berth-jobs MainPID) agent=$(show berth-agent MainPID)
	note "job $long: process $pid, started at $start, attempt $tries; berth-jobs $holder, berth-agent $agent"
}

# logged TEXT succeeds if the journal has the text from the running agent, as a line of berth-agent.
logged() { journal _SYSTEMD_UNIT=berth-agent.service "_PID=$(show berth-agent MainPID)" | grep -q "$1"; }
agent_up() { is berth-agent ActiveState active && logged registered; }

# survived RESTARTS checks that the job "long" has not noticed anything, and that an agent works.
survived() {
	within "the agent is active, and its registration is in its journal" agent_up
	equal "the result of berth-agent" success "$(show berth-agent Result)"
	equal "restarts of berth-agent by systemd" "$1" "$(show berth-agent NRestarts)"
	equal "the group of the agent" /system.slice/berth-agent.service "$(group "$(show berth-agent MainPID)")"
	equal "the main process of berth-jobs" "$holder" "$(show berth-jobs MainPID)"
	equal "the process of the job" "$pid $start" "$(process long) $(born "$pid")"
	ticking long
	equal "starts of the job" 1 "$(wc -l < "$data/long/starts")"
	within "berth show has the job in attempt $tries" attempts_are "$long" "$tries"
	within "berth queue lists the job as running" queued_as "$long" running
}
replaced() { check "another agent runs" test "$(show berth-agent MainPID)" != "$agent"; }

setup() {
	cp /mnt/berth /mnt/berthd /mnt/berth-supervisor /usr/bin/
	mkdir -p /usr/lib/systemd/system /etc/berth "$data"
	cp /mnt/*.service /usr/lib/systemd/system/
	cat > /etc/berth/berth.yaml <<-Y
		server:
		  id: p1
		  data_dir: /var/lib/berth/server
		  http: 127.0.0.1:10000
		  listen: 127.0.0.1:7001
		  bootstrap: [p1=127.0.0.1:7001]
		  min_free_mib: 16
		agent:
		  node: gpu1
		  data_dir: /var/lib/berth/agent
		  peers: [127.0.0.1:10000]
		  gpus: sim:4
		  shared_account: true
	Y
	check "a cluster is made" berth init --id p1 --no-config --advertise 127.0.0.1 --no-start
	check "the certificate of the node is issued" berth cert issue node gpu1 --from /var/lib/berth/server --out /var/lib/berth/agent/trust
	note "$(systemctl --version | head -n 1), Linux $(uname -r)"
	check "berth runs here: $(berth version | head -n 1)" berth version
	systemctl daemon-reload
	check "the units are started" systemctl enable --now berth-server berth-jobs berth-agent
	within "the agent is registered" agent_up
	tick long
	long=$job
	echo "$long" > "$data/id"
	remember
	equal "the group of the job" "$(basename "$(dirname "$(group "$pid")")" | cut -d - -f 1)" berth
	check "the job's group is one of berth-jobs" test "${jobs#/sys/fs/cgroup}" = "$(dirname "$(dirname "$(group "$pid")")")"
	equal "the group of the supervisor" "${jobs#/sys/fs/cgroup}/supervisors" "$(group "$(cut -d ' ' -f 4 "/proc/$pid/stat")")"
	equal "the group of the unit's own process" "${jobs#/sys/fs/cgroup}/unit" "$(group "$holder")"
	equal "controllers of the jobs" "cpu memory pids" "$(cat "$jobs/cgroup.subtree_control")"
	survived 0
}

# examine writes what berth doctor says to a file, finding CHECK ABOUT prints the result of one line of that, with the message.
examine() { berth doctor -o json > "$data/doctor.json"; }
finding() {
	# shellcheck disable=SC2016 # variables of perl
	perl -MJSON::PP -e 'local $/; my $d = decode_json(<STDIN>);
		for (@{$d->{findings}}) { print "$_->{result}: $_->{message}" . ($_->{remedy} ? " ($_->{remedy})" : "") if $_->{check} eq $ARGV[0] && $_->{about} eq $ARGV[1] }' "$1" "$2" < "$data/doctor.json"
}
# found TEXT PATTERN CHECK ABOUT
found() {
	local got
	got=$(finding "$3" "$4")
	if [[ $got =~ $2 ]]; then say "pass $1: $got"; else say "fail $1: $got, not $2"; fi
}

# Of a machine whose units run berth doctor finds no fault. The agent's unit starts berth-jobs, which need not be enabled.
examined() {
	check "systemctl disable berth-jobs" systemctl disable berth-jobs
	examine
	equal "the exit code of berth doctor" 0 $?
	note "berth doctor: $(berth doctor | grep -E '^ *(warning|fault)|(warning|fault)' | tr '\n' '|')"
	found "the unit of the peer" '^ok: active, enabled$' units berth-server.service
	found "the unit of the agent" '^ok: active, enabled$' units berth-agent.service
	found "the unit of the jobs" '^ok: active, started by berth-agent.service$' units berth-jobs.service
	found "control groups" '^ok: .*cpu.*memory.*pids' cgroups jobs
	found "open files of the peer" '^ok: ' limits "berthd server: nofile"
	found "open files of the agent" '^ok: ' limits "berthd agent: nofile"
	found "locked memory of the agent" '^ok: unlimited' limits "berthd agent: memlock"
}

restart() {
	remember
	check "systemctl restart berth-agent" systemctl restart berth-agent
	survived 0
	replaced
}

# The package goes over the programs that were installed by hand, and touches nothing that runs. Installed again, as an upgrade
# is, it lets the agent go over to its programs, and the job goes on below the supervisor of the former ones.
packaged() {
	remember
	local before=$agent
	check "dpkg installs the package" dpkg -i /mnt/berth.deb
	equal "the agent after the first installation" "$before" "$(show berth-agent MainPID)"
	note "$(berth version | head -n 1)"
	check "dpkg upgrades the package" dpkg -i /mnt/berth.deb
	within "another agent runs" not is berth-agent MainPID "$before"
	survived 0
	within "the peer answers" berth peers
	equal "berth-server" active "$(show berth-server ActiveState)"
	rm /etc/needrestart/conf.d/berth.conf # the case needrestart begins without
}

killed() {
	remember
	kill -9 "$agent"
	within "systemd has started another agent" is berth-agent NRestarts 1
	survived 1
	replaced
}

stopped() {
	remember
	check "systemctl stop berth-agent" systemctl stop berth-agent
	equal "berth-agent" inactive "$(show berth-agent ActiveState)"
	equal "the result of the stop" success "$(show berth-agent Result)"
	ticking long
	equal "berth-jobs" active "$(show berth-jobs ActiveState)"
	check "systemctl start berth-agent" systemctl start berth-agent
	survived 0
	replaced
}

reloaded() {
	remember
	check "systemctl daemon-reload" systemctl daemon-reload
	survived 0
	equal "the agent" "$agent" "$(show berth-agent MainPID)"
	equal "controllers of the jobs" "cpu memory pids" "$(cat "$jobs/cgroup.subtree_control")"
	check "systemctl reload berth-agent" systemctl reload berth-agent
	survived 0
	equal "the agent" "$agent" "$(show berth-agent MainPID)"
}

reexecuted() {
	remember
	check "systemctl daemon-reexec" systemctl daemon-reexec
	survived 0
	equal "the agent" "$agent" "$(show berth-agent MainPID)"
	check "systemctl restart berth-agent" systemctl restart berth-agent
	survived 0
	replaced
}

# renew FILE replaces a file by a copy, as an upgrade does: processes keep the old one.
renew() { cp -a "$1" "$1.new" && mv "$1.new" "$1"; }
outdated() { needrestart -b -l -r l < /dev/null | tee /dev/console | grep -q "^NEEDRESTART-SVC: $1"; }

upgraded() {
	remember
	export DEBIAN_FRONTEND=noninteractive
	echo "\$nrconf{override_rc}{qr(^berth-vm)} = 0; # which runs this script" > /etc/needrestart/conf.d/test.conf
	renew /lib/x86_64-linux-gnu/libc.so.6
	renew /usr/bin/berthd
	check "needrestart takes berth-jobs for outdated" outdated berth-jobs
	cp /mnt/needrestart-berth.conf /etc/needrestart/conf.d/berth.conf
	needrestart -l -r a < /dev/null
	within "the agent was restarted" not is berth-agent MainPID "$agent"
	survived 0
}

starved() {
	remember
	local hungry
	hungry=$(berth submit --parsable -g 1 -J hungry --mem 0.1 -- tail /dev/zero)
	within "a job beyond its limit of memory fails" state_is "$hungry" failed
	check "berth show names the cause" grep -q "signal 9, out of memory" <<< "$(berth show "$hungry")"
	equal "berth-jobs" "active success" "$(show berth-jobs ActiveState) $(show berth-jobs Result)"
	survived 0
	equal "the agent" "$agent" "$(show berth-agent MainPID)"
}

# ended PID START succeeds if the process is gone.
ended() { [ "$(born "$1")" != "$2" ]; }
again() { [ "$(attempt long)" -gt "$1" ]; }

# runs_again checks that the job "long" runs in another attempt, in the groups of berth-jobs.
runs_again() {
	within "the job runs in another attempt" again "$tries"
	note "attempt $(attempt long); its retries are $(field "$long" retry_count)"
	within "the cluster has it as running" state_is "$long" running
	ticking long
	check "its group is one of berth-jobs" test "${jobs#/sys/fs/cgroup}" = "$(dirname "$(dirname "$(group "$(process long)")")")"
	equal "retries that it was charged" 0 "$(field "$long" retry_count)"
	equal "groups of ranks" 1 "$(find "$jobs" -mindepth 2 -maxdepth 2 -type d | wc -l)"
}

holder_back() { is berth-jobs ActiveState active && not is berth-jobs MainPID "$holder"; }

ended_all() {
	remember
	tick saver save
	local from=$SECONDS saver=$job
	check "systemctl stop berth-jobs" systemctl stop berth-jobs
	from=$((SECONDS - from))
	check "the stop took the grace of the jobs, and no more: $from s" test $from -lt 60
	check "the process of the job has ended" ended "$pid" "$start"
	within "berth-jobs is active again, by Upholds= of berth-agent" holder_back
	equal "the agent" "active $agent" "$(show berth-agent ActiveState) $(show berth-agent MainPID)"
	equal "the attempt of a job that saved what it had, when it was asked to end" 1 "$(cat "$data/saver/saved")"
	within "that job runs in another attempt, too" attempts_are "$saver" 2
	berth cancel "$saver"
	within "a job that was canceled ends" state_is "$saver" canceled
	runs_again
}

degraded() { berth nodes -o json | grep -q "start that unit"; }

# While the unit is away no job starts, and the log has the remedy; later the jobs run.
absent() {
	remember
	systemctl mask --runtime --now berth-jobs
	check "the process of the job has ended" ended "$pid" "$start"
	submit waits
	within "the log of the agent names the unit" logged "start that unit"
	within "the node is degraded, and berth nodes has the remedy" degraded
	note "job $long: $(berth queue | grep -E "^ *$long ")"
	examine
	equal "the exit code of berth doctor" 1 $?
	found "the unit of the jobs" '^fault: .*masked .*systemctl unmask --runtime' units berth-jobs.service
	found "control groups" '^fault: .*does not run.*systemctl start berth-jobs' cgroups jobs
	check "no attempt after another was made of the job that waits: $(field "$job" attempts)" test "$(field "$job" attempts)" -le 1
	check "the job waits in the queue: $(field "$job" state)" state_is "$job" queued
	equal "the agent" "active $agent" "$(show berth-agent ActiveState) $(show berth-agent MainPID)"
	systemctl unmask --runtime berth-jobs
	check "systemctl start berth-jobs" systemctl start berth-jobs
	within "the job that waited runs" test -s "$data/waits/ticks"
	note "job $job: attempt $(attempt waits)"
	berth cancel "$job"
	within "a job that was canceled ends" state_is "$job" canceled
	runs_again
}

# Without deploy/needrestart-berth.conf: this shows that the case above can fail.
unprotected() {
	remember
	rm /etc/needrestart/conf.d/berth.conf
	renew /lib/x86_64-linux-gnu/libc.so.6
	needrestart -l -r a < /dev/null
	within "berth-jobs was restarted" holder_back
	check "the process of the job has ended" ended "$pid" "$start"
	runs_again
}

rebooted() {
	within "the agent is registered" agent_up
	check "this is another boot" test "$(cat /proc/sys/kernel/random/boot_id)" != "$(cat "$data/boot")"
	long=$(cat "$data/id") tries=$(cat "$data/tries")
	runs_again
	equal "groups below berth-jobs" 3 "$(find "$jobs" -mindepth 1 -maxdepth 1 -type d | wc -l)"
	remember
	check "systemctl restart berth-agent" systemctl restart berth-agent
	within "the agent is registered" agent_up
	equal "the process of the job" "$pid $start" "$(process long) $(born "$pid")"
}

refused() { journal -u berth-agent | grep -q 219/CGROUP; }

# The arrangement without berth-jobs, which does not survive a restart: this shows that the cases above can fail.
former() {
	berth cancel "$long"
	within "the job has ended" state_is "$long" canceled
	systemctl stop berth-agent
	systemctl mask --runtime --now berth-jobs
	mkdir -p /run/systemd/system/berth-agent.service.d
	printf '[Service]\nDelegate=yes\n' > /run/systemd/system/berth-agent.service.d/delegate.conf
	systemctl daemon-reload
	check "systemctl start berth-agent" systemctl start berth-agent
	within "the agent is registered" agent_up
	tick former
	check "its group is one of berth-agent" grep -q "^/system.slice/berth-agent.service/berth-" <<< "$(group "$(process former)")"
	note "systemctl restart berth-agent: $(systemctl restart berth-agent 2>&1 | head -n 1)"
	within "the restart fails with 219/CGROUP" refused
	check "no agent runs" not is berth-agent ActiveState active
	ticking former
	systemctl stop berth-agent
	rm -r /run/systemd/system/berth-agent.service.d
	systemctl unmask --runtime berth-jobs
	systemctl daemon-reload
	echo 1 > $slice/berth-agent.service/cgroup.kill
	check "once the jobs have ended the new units work: systemctl start berth-agent" systemctl start berth-agent
	within "the agent is registered" agent_up
	within "berth-jobs is active" is berth-jobs ActiveState active
}

# run NAME FUNCTION carries out a case.
run() {
	say "case $1"
	"$2"
	say "end $1"
}

finish() {
	journal -b -u berth-agent | tail -n 60
	say over
	sync
	poweroff -f
}

if ! [ -e "$data/boot" ]; then
	run setup setup
	for name in doctor=examined restart package=packaged kill=killed stop-start=stopped daemon-reload=reloaded daemon-reexec=reexecuted \
		needrestart=upgraded out-of-memory=starved stop-berth-jobs=ended_all no-berth-jobs=absent needrestart-alone=unprotected; do
		run "${name%=*}" "${name#*=}"
	done
	field "$long" attempts > "$data/tries"
	cat /proc/sys/kernel/random/boot_id > "$data/boot"
	say "case reboot"
	sync
	systemctl reboot
	exit
fi
rebooted
say "end reboot"
run former-units former
finish
