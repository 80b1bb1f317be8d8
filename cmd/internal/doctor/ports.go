package doctor

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// What a port has answered; the words are those of the API (POST /cluster/probe).
const (
	Answers  = "answers"
	Refused  = "refused"
	NoAnswer = "no_answer"
	Failed   = "failed"
)

// Listener is a port that a role of this machine listens on.
type Listener struct {
	Role    string // peer or node
	Port    string // raft, api, agent or gossip
	Network string // tcp
	Address string
	Setting string // its name among the settings
	Owner   string // the program that listens there; empty: none, or it is not known
	Taken   bool   // something listens there
	Runs    bool   // the unit, or the program, of the role runs
}

// Listeners judges the ports of this machine.
func Listeners(list []Listener) (out []Finding) {
	for _, l := range list {
		a := about{CheckPorts, "this machine: " + l.Port + ", " + strings.ToUpper(l.Network)}
		own := l.Owner == "" || l.Owner == "berthd" || l.Owner == "berth"
		switch {
		case l.Taken && !own:
			out = append(out, a.fault("stop that program, or choose another port with "+l.Setting, "%s listens on %s, which is the port of this %s", l.Owner, l.Address, l.Role))
		case l.Taken:
			out = append(out, a.ok("berthd listens on %s", l.Address))
		case l.Runs:
			out = append(out, a.fault("restart the unit, and look at its log: journalctl -u "+Unit(l.Role), "the %s runs, and nothing listens on %s", l.Role, l.Address))
		default:
			out = append(out, a.ok("%s is free for the %s, which does not run", l.Address, l.Role))
		}
	}
	return out
}

// Unit returns the unit of a role.
func Unit(role string) string {
	if role == "node" {
		return "berth-agent.service"
	}
	return "berth-server.service"
}

// Reach is a try to reach one port of another machine, or the try of another machine to reach one here.
type Reach struct {
	Other   string // the other member: "peer p2"
	Port    string // raft, api, agent or gossip
	Network string // tcp
	Address string
	Back    bool   // the other member has tried to reach this machine
	Result  string // see the constants
	Detail  string
}

// Reaches judges connections between this machine and others.
func Reaches(list []Reach) (out []Finding) {
	for _, r := range list {
		network := strings.ToUpper(r.Network)
		to, from, opens := r.Other, "this machine", r.Other
		a := about{CheckPorts, "to " + r.Other + ": " + r.Port + ", " + network}
		if r.Back {
			to, from, opens = "this machine", r.Other, "this machine"
			a.about = "from " + r.Other + ": " + r.Port + ", " + network
		}
		remedy := fmt.Sprintf("let %s port %s through firewalls from %s to %s (nft list ruleset and firewall-cmd --list-all on %s show rules)", network, portOf(r.Address), from, to, opens)
		detail := ""
		if r.Detail != "" {
			detail = ": " + r.Detail
		}
		switch r.Result {
		case Answers:
			out = append(out, a.ok("%s answers", r.Address))
		case Refused:
			out = append(out, a.fault("start the program of "+to+", or correct the address that the cluster has of it", "%s refuses: nothing listens there", r.Address))
		case NoAnswer:
			out = append(out, a.fault(remedy, "no answer from %s", r.Address))
		default:
			out = append(out, a.fault("make sure that "+to+" itself runs at this address", "%s cannot be reached%s", r.Address, detail))
		}
	}
	return out
}

func portOf(address string) string {
	if _, port, err := net.SplitHostPort(address); err == nil {
		return port
	}
	return address
}

// Host is a host name in an address that a member uses.
type Host struct {
	Name string // as it is written in the setting
	Used string // what for: "server.join", "API of peer p2"
	Own  bool   // it should lead to this machine
	IPs  []string
	Err  error // it has no address
}

// Names judges whether hosts in addresses can be resolved, and whether those of this machine lead here. own lists the addresses of this
// machine; translated reports whether a member reaches this machine at its address from outside, as through a router with address
// translation.
func Names(hosts []Host, own []string, translated bool) (out []Finding) {
	for _, h := range hosts {
		a := about{CheckNames, h.Used + ": " + h.Name}
		here := slices.ContainsFunc(h.IPs, func(ip string) bool { return slices.Contains(own, ip) })
		switch {
		case h.Err != nil:
			out = append(out, a.fault("add the name to the name server or to /etc/hosts (getent hosts "+h.Name+"), or use an IP address", "the name has no address: %v", h.Err))
		case h.Own && !here && translated:
			out = append(out, a.ok("%s is no address of this machine, and peers reach the machine there", strings.Join(h.IPs, ",")))
		case h.Own && !here:
			out = append(out, a.fault("correct "+h.Used+" to one of "+strings.Join(own, ", "), "%s is no address of this machine", strings.Join(h.IPs, ",")))
		case h.Own:
			out = append(out, a.ok("it is an address of this machine"))
		default:
			out = append(out, a.ok("it resolves to %s", strings.Join(h.IPs, ",")))
		}
	}
	return out
}
