package examine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// user examines the machine of a user: its login, and the way to each peer.
func user(ctx context.Context, c *cli.Connection, to *doctor.Report) {
	target, err := c.Target()
	to.Add(doctor.Settings("", err))
	if err != nil {
		return
	}
	s := session(ctx, c, target)
	to.Add(doctor.Login(s, time.Now())...)
	if target.Socket {
		return
	}
	programs := &doctor.Programs{Own: to.Version}
	var clocks []doctor.PeerClock
	var reaches []doctor.Reach
	var hosts []doctor.Host
	for _, address := range target.Addresses {
		if host, _, err := net.SplitHostPort(address); err == nil && net.ParseIP(host) == nil {
			h := doctor.Host{Name: host, Used: "address of a peer"}
			h.IPs, h.Err = (&net.Resolver{}).LookupHost(ctx, host)
			hosts = append(hosts, h)
		}
		clock, version, err := Greet(ctx, target.Dial, address)
		result, detail := Judge(err)
		reaches = append(reaches, doctor.Reach{Other: "peer " + address, Port: "api", Network: "tcp", Address: address, Result: result, Detail: detail})
		if err == nil {
			clock.Peer = address
			clocks = append(clocks, clock)
			programs.Peers = append(programs.Peers, doctor.Program{Member: "peer " + address, Version: version})
		}
	}
	to.Add(doctor.Reaches(reaches)...)
	to.Add(doctor.Names(hosts, nil, false)...)
	to.Add(doctor.Clocks(clocks)...)
	if len(clocks) == 0 {
		programs.Err = errors.New("no peer answers")
	}
	to.Add(doctor.Versions(programs)...)
}

// session asks the cluster about the user of this machine.
func session(ctx context.Context, c *cli.Connection, at *cli.Target) *doctor.Session {
	s := &doctor.Session{Name: at.Login, Addresses: at.Addresses, Plain: at.Plain, Token: at.Token}
	api, err := c.Dial()
	if err != nil {
		s.Err = err
		return s
	}
	defer api.Close()
	caller, err := client.PeopleOf(api).Whoami(ctx)
	if err != nil {
		p, refused := errors.AsType[*wire.Problem](err)
		s.Err, s.Refused = err, trust.FaultOf(err) != ""
		s.Bad = refused && (p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden)
		s.Asks = s.Bad
		return s
	}
	s.Asks, s.User, s.Role, s.Expires = caller.Authentication, caller.Name, caller.Role, caller.ExpiresAt
	return s
}
