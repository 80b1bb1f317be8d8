package inspect

import (
	"cmp"
	"context"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/examine"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/trust"
)

// The roles of members.
const (
	rolePeer = string(trust.RolePeer)
	roleNode = string(trust.RoleNode)
)

// member is this machine in one role, by its settings.
type member struct {
	role, name  string
	file        string
	settings    *config.Loaded
	settingsErr error

	data     string // folder
	material *trust.Material
	trustErr error
	keys     *trust.Credentials // nil: they cannot be used

	daemon process // of the role
}

// open reads the settings and the keys of a role.
func open(o *examine.Place, role string) *member {
	m := &member{role: role}
	src := config.Source{Program: config.OfServer, File: o.File, Optional: true, Environ: os.Environ(), Flags: map[string][]string{}}
	if role == roleNode {
		src.Program = config.OfAgent
	}
	if o.DataDir != "" {
		src.Flags["data-dir"] = []string{o.DataDir}
	}
	m.settings, m.settingsErr = config.Load(src)
	m.file = m.settings.File
	if m.settingsErr != nil {
		m.file = cmp.Or(m.file, o.File)
	}
	m.name, m.data = m.settings.Server.ID, m.settings.Server.DataDir
	if role == roleNode {
		m.name, m.data = m.settings.Agent.Node, m.settings.Agent.DataDir
	}
	m.material, m.trustErr = trust.Load(m.trustDir())
	if m.trustErr == nil {
		m.keys, m.trustErr = trust.NewCredentials(m.material, time.Now, nil)
	}
	m.daemon = findDaemon(role, m.data)
	return m
}

func (m *member) trustDir() string { return filepath.Join(m.data, trust.Subfolder) }

// peers returns the addresses of the API of peers that the settings know.
func (m *member) peers() []string {
	if m.role == roleNode {
		return m.settings.Agent.Peers
	}
	return []string{cmp.Or(m.settings.Server.AdvertiseHTTP, m.settings.Server.HTTP)}
}

// gossip returns the setting and the address of gossip.
func (m *member) gossip() (listen, advertise string) {
	g := &m.settings.Server.Gossip
	if m.role == roleNode {
		g = &m.settings.Agent.Gossip
	}
	return g.GossipListen, cmp.Or(g.GossipAdvertise, g.GossipListen)
}

// client returns a client of the cluster: of a peer by the socket of this machine, and of a node by its certificate.
func (m *member) client() (*client.Client, error) {
	o := client.Options{Addresses: m.peers(), UserAgent: "berth/" + build.Version(), Version: build.Version(), Patience: time.Millisecond}
	switch {
	case m.role == rolePeer:
		o.Dial = cli.DialSocket(filepath.Join(m.data, trust.LocalSocket))
	case m.keys != nil:
		o.Dial = m.dial
	default:
		return nil, m.trustErr
	}
	return client.New(o)
}

// dial connects to a peer by the certificate of this machine.
func (m *member) dial(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.HTTPDialLimit)
	defer cancel()
	return trust.Dial(ctx, cli.DialPlain, address, m.keys.Client())
}

// certificate returns what there is to know of the certificate.
func (m *member) certificate(seen *answers) *doctor.Certificate {
	out := &doctor.Certificate{Role: m.role, Name: m.name, Folder: m.trustDir(), Err: m.trustErr}
	if m.trustErr != nil {
		return out
	}
	leaf, own := m.material.Certificate, m.keys.Own()
	out.Holder, out.From, out.Till, out.Names = string(own.Role)+" "+own.Name, leaf.NotBefore, leaf.NotAfter, trust.NamesOf(leaf)
	out.Generation, out.Newest = m.material.Generation, seen.generation
	out.Issues = len(m.material.Keys) > 0
	out.Refused = cmp.Or(seen.refused, m.keys.Later())
	for _, a := range m.material.Authorities {
		out.Signed = out.Signed || leaf.CheckSignatureFrom(a) == nil
	}
	if m.role == rolePeer {
		out.Sealing = &doctor.Sealing{File: m.settings.Server.SealingFile()}
		ring, err := sealing.Load(out.Sealing.File)
		if out.Sealing.Err = err; err == nil {
			out.Sealing.Keys = len(ring.Keys())
		}
		out.API, _, _ = net.SplitHostPort(cmp.Or(m.settings.Server.AdvertiseHTTP, m.settings.Server.HTTP))
	}
	files, _ := os.ReadDir(m.trustDir()) // that it can be read is known by now
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			out.Open = append(out.Open, doctor.OpenFile{Path: filepath.Join(m.trustDir(), f.Name()), Mode: info.Mode()})
		}
	}
	return out
}
