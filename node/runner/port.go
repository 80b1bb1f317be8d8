package runner

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// Port is a port of this host that is reserved for a rank: the meeting point of its gang.
type Port struct {
	Number uint16

	listener net.Listener
	mark     net.Listener // holds the number among all supervisors of this host
}

// Ports are looked for between these, outside of those that the kernel gives to connections.
const (
	lowestPort  = 20_000
	highestPort = 65_535
	fewestPorts = 1_000 // that a part outside must have to be used
)

// portRange is where Linux says which ports it gives to connections: from the first number to the second.
const portRange = "/proc/sys/net/ipv4/ip_local_port_range"

// ReservePort reserves a free port. It is held until [Port.Open], and free for the rank then. From there to when the rank binds it, which
// may take as long as a program needs to load, the kernel gives it to no connection, because it is outside of the range for these, and no
// other rank gets it until [Port.Close]. Nil: there is no free port.
func ReservePort() *Port {
	first, last := outside(os.ReadFile(portRange))
	n := last - first + 1
	start := rand.IntN(n) //nolint:gosec // any will do
	for i := range n {
		if p := reserve(first + (start+i)%n); p != nil {
			return p
		}
	}
	l, err := net.Listen("tcp", ":0") //nolint:gosec // as the program of the job will
	if err != nil {
		return nil
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return &Port{Number: uint16(a.Port), listener: l}
	}
	_ = l.Close()
	return nil
}

// outside returns the first and the last port to look for: below the ports that the kernel gives to connections, or above if there are too
// few. If it gives nearly all, as on some hosts with very many connections, they are looked for among the highest.
func outside(text []byte, err error) (first, last int) {
	low, high := 32_768, 60_999
	if err == nil {
		_, _ = fmt.Sscan(string(text), &low, &high) // otherwise the usual ones
	}
	switch {
	case low-lowestPort >= fewestPorts:
		return lowestPort, min(low-1, highestPort)
	case highestPort-high >= fewestPorts:
		return high + 1, highestPort
	}
	return highestPort - fewestPorts, highestPort
}

// reserve reserves a port; nil: it is taken.
func reserve(number int) *Port {
	text := strconv.Itoa(number)
	mark, err := net.Listen("unix", "@berth-port-"+text) // goes with this process
	if err != nil {
		return nil
	}
	l, err := net.Listen("tcp", ":"+text) // of all addresses: the rank may bind any
	if err != nil {
		_ = mark.Close()
		return nil
	}
	return &Port{Number: uint16(number), listener: l, mark: mark}
}

// Open frees the port for the rank.
func (p *Port) Open() {
	if p != nil {
		_ = p.listener.Close()
	}
}

// Close ends the reservation.
func (p *Port) Close() {
	p.Open()
	if p != nil && p.mark != nil {
		_ = p.mark.Close()
	}
}
