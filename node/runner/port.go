package runner

import (
	"cmp"
	"net"
)

// ReservePort reserves a free port for the gang's meeting point. The port is held until the job starts, and free
// for it then.
func ReservePort(address string) (net.Listener, uint16) {
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(address, "127.0.0.1"), "0"))
	if err != nil {
		return nil, 0
	}
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return l, 0
	}
	return l, uint16(a.Port)
}
