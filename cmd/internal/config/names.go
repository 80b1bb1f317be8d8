package config

import (
	"fmt"
	"net"
	"strconv"
)

// Other is another name that is accepted: it stands for a setting, or has no effect.
type Other struct {
	Name string // in a file; may be empty
	Env  string // in the environment; may be empty
	To   string // the setting that it stands for; empty: none
	// Read converts the given text to the setting's text; now is the setting's value before. nil:
	// they are the same.
	Read func(text, now string) (string, error)
	// Weak reports whether any other value for the setting wins over such a text. nil: never.
	Weak func(text string) bool
	// Why explains the conversion, or why the name has no effect.
	Why string
}

// otherNames returns them in the order of the documentation.
func otherNames() []Other {
	return append(otherServer(), otherCluster()...)
}

func otherServer() []Other {
	return []Other{
		{Name: "server.port", Env: "PORT", To: "server.http", Read: port, Why: "the port alone; the address stays"},
		{Name: "server.read_timeout", Read: anySpan, Why: "each kind of request has its own limits, since some wait on purpose"},
		{Name: "server.write_timeout", Read: anySpan, Why: "each kind of request has its own limits, since some wait on purpose"},
		{Name: "workload_defaults", To: "workloads.defaults", Why: "the same"},
		{Name: "monitoring.alert_thresholds.temperature", To: "agent.gpu_hot", Why: "in °C"},
		{Name: "monitoring.alert_thresholds.utilization", Read: anyNumber, Why: "full use of a GPU is not a fault"},
		{Name: "monitoring.alert_thresholds.memory", Read: anyNumber, Why: "full use of memory is not a fault"},
		{Name: "monitoring.interval_seconds", Read: anyNumber, Why: "every GPU is checked each second"},
		{Name: "monitoring.metrics_retention_days", Read: anyNumber, Why: "the scraper of /metrics keeps them; agents keep 15 minutes"},
		{Env: "RESEARCH_AGENT_RAY_HEAD_NODE", Why: "agents start jobs themselves, without Ray"},
		{Name: "address", To: "client.address", Why: "the same"},
	}
}

func otherCluster() []Other {
	return []Other{
		{Env: "RESEARCH_AGENT_GPU_ORCHESTRATION_ENABLED", To: "scheduling.enabled", Why: "the same"},
		{Name: "scheduling.algorithm", Env: "RESEARCH_AGENT_SCHEDULING_POLICY", To: "scheduling.policy", Why: "the same"},
		{Name: "scheduling.max_retries", To: "jobs.max_retries", Why: "the same"},
		{Name: "scheduler.max_queue_size", Env: "RESEARCH_AGENT_MAX_QUEUE_SIZE", To: "scheduling.max_queue_size", Why: "the same"},
		{Name: "scheduler.queue_check_interval", Read: anySpan, Why: "the scheduler is started by events, not by a clock"},
		{Name: "scheduling.default_priority", To: "jobs.default_priority", Read: priority, Why: "5 is normal, 6 to 8 high, 9 and 10 critical; 1 to 4 are themselves"},
		{Name: "cluster.total_gpus", Read: anyNumber, Why: "GPUs are those that agents find"},
		{Name: "policies.max_gpus_per_user", To: "allocation.max_gpus_per_user", Why: "the same"},
		{Name: "policies.max_job_duration_hours", To: "jobs.max_run_time", Read: unit("h"), Why: "in hours"},
		{Name: "policies.enable_preemption", To: "scheduling.preempt", Read: oneOf("lower", "nobody"), Why: "true: lower; false: nobody, and scheduling.no_preemption"},
		{Name: "policies.enable_preemption", To: "scheduling.no_preemption", Read: oneOf("false", "true"), Why: "the opposite"},
		{Name: "fault_tolerance.enable_checkpointing", Read: isSwitch, Why: "every job has a folder for checkpoints, and gets its checkpoint signal if it has one"},
		{Name: "fault_tolerance.checkpoint_interval_minutes", To: "jobs.checkpoint_interval", Read: unit("m"), Why: "in minutes"},
		{Name: "fault_tolerance.max_retries", To: "jobs.max_retries", Why: "the same"},
		{
			Name: "fault_tolerance.auto_retry_failed_jobs", To: "jobs.max_retries", Read: oneOf("3", "0"), Weak: isTrue,
			Why: "true: 3, unless max_retries says how many; false: 0",
		},
	}
}

// port replaces the port of an address.
func port(text, now string) (string, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("must be a port, 1 to 65535, not %q", text)
	}
	host, _, err := net.SplitHostPort(now)
	if err != nil {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, text), nil
}

// priority converts the ten priorities of services to the four of jobs.
func priority(text, _ string) (string, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	switch {
	case err != nil || n < 1 || n > 10:
		return "", fmt.Errorf("must be 1 to 10, not %q", text)
	case n >= 9:
		n = 4
	case n >= 6:
		n = 3
	case n == 5:
		n = 2
	}
	return strconv.FormatUint(n, 10), nil
}

// unit returns a converter from a number of a unit to a time.
func unit(name string) func(text, now string) (string, error) {
	return func(text, now string) (string, error) {
		if _, err := anyNumber(text, now); err != nil {
			return "", err
		}
		return text + name, nil
	}
}

// oneOf returns a converter for true and false.
func oneOf(yes, no string) func(text, now string) (string, error) {
	return func(text, _ string) (string, error) {
		var on bool
		if err := Switch(&on).Set([]string{text}); err != nil {
			return "", err
		}
		if on {
			return yes, nil
		}
		return no, nil
	}
}

func isTrue(text string) bool {
	word, _ := oneOf("true", "false")(text, "")
	return word == "true"
}

func isSwitch(text, now string) (string, error) { return oneOf("true", "false")(text, now) }

func anyNumber(text, _ string) (string, error) {
	if n, err := strconv.ParseFloat(text, 64); err != nil || !(n >= 0 && n <= 1e9) {
		return "", fmt.Errorf("must be a number from 0 on, without a unit, not %q", text)
	}
	return text, nil
}

func anySpan(text, _ string) (string, error) {
	_, err := span(text)
	return text, err
}
