package doctor

import (
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/table"
)

// Certificate is the certificate of this machine, and the folder with its keys.
type Certificate struct {
	Role, Name string // of the member
	Folder     string
	// the folder cannot be used: a file is missing, damaged, or open to others; key and certificate do not belong together
	Err        error
	Holder     string    // of the certificate: "node gpu1"
	From, Till time.Time // from which instant and until which the certificate counts
	Names      []string  // host names and addresses in it
	API        string    // host of the API that the certificate is shown at; empty: none

	Generation uint64 // that this machine has seen
	Newest     uint64 // of the cluster's certificates
	Refused    string // why the cluster refuses the certificate, and what to do, as a peer answers; empty: no peer has answered that
	Issues     bool   // the key of the authority is there
	Signed     bool   // by one of the authorities that this machine trusts
	Open       []OpenFile
	Sealing    *Sealing // nil: a node has none
}

// Sealing is the file of the keys by which a peer seals texts of users.
type Sealing struct {
	File string
	Keys int
	Err  error // the file cannot be used
}

// OpenFile is a file of keys that other accounts may read.
type OpenFile struct {
	Path string
	Mode fs.FileMode
}

// Certificates judges the certificate of this machine.
func Certificates(c *Certificate, now time.Time) (out []Finding) {
	a := about{CheckCertificates, c.Role + ": " + c.Folder}
	if c.Err != nil {
		return []Finding{a.fault("follow the message; a machine whose keys are lost joins again: berth token join on a peer, and berth join here", "%v", c.Err)}
	}
	out = append(out, life(a, c, now))
	if c.Refused != "" {
		out = append(out, a.fault("follow the message: other keys of this machine do not help", "the cluster refuses this certificate: %s", c.Refused))
	}
	if want := c.Role + " " + c.Name; c.Holder != want {
		out = append(out, a.fault("put the certificate of this member back, or correct the name in the settings", "the certificate is of %s, and the settings are of %s", c.Holder, want))
	}
	for _, f := range c.Open {
		out = append(out, a.fault("chmod 600 "+f.Path, "%s is open to other accounts (mode %04o)", f.Path, f.Mode.Perm()))
	}
	switch {
	case !c.Signed:
		out = append(out, a.fault("let this machine join again: berth token join on a peer, and berth join here", "the certificate was not signed by an authority that this machine trusts"))
	case c.Newest > 0 && c.Newest < c.Generation:
		out = append(out, a.fault("if no recovery took place, this machine was misled: berth token join "+c.Role+" --name "+c.Name+" on a peer, and berth join "+c.Role+" --renew here with that token; "+
			"find out which machines and users have the key of the authority, and rotate it (berth cluster rotate ca)", "this machine follows generation %d of the cluster, and the peers that answer are at %d", c.Generation, c.Newest))
	case c.Newest > c.Generation && c.Role == "node":
		out = append(out, a.fault("if the cluster was recovered, berth token join node --name "+c.Name+" on a peer, and berth join node --renew here with that token; an agent that runs follows one recovery by itself, in seconds",
			"this machine knows generation %d of the cluster, and a peer shows generation %d", c.Generation, c.Newest))
	case c.Newest > c.Generation:
		out = append(out, a.fault("let this machine join again: the cluster was recovered or restored", "this machine knows generation %d of the cluster, and the cluster is at %d", c.Generation, c.Newest))
	default:
		out = append(out, a.ok("the key belongs to the certificate, which a trusted authority has signed; generation %d", c.Generation))
	}
	if c.API != "" {
		out = append(out, covers(a, c))
	}
	if c.Sealing != nil {
		out = append(out, sealingKeys(c.Sealing))
	}
	return out
}

func sealingKeys(s *Sealing) Finding {
	a := about{CheckCertificates, "key of secrets: " + s.File}
	switch {
	case s.Err != nil:
		return a.fault("follow the message: the peer does not start with such a file", "%v", s.Err)
	case s.Keys == 0:
		return a.warning("start the peer: it gets the key from the others; if none has the key, restore the file from a backup (berth init --from-backup has it)",
			"this peer has no key by which scripts, environments and secrets are sealed")
	}
	return a.ok("it is there, readable for its owner only")
}

func life(a about, c *Certificate, now time.Time) Finding {
	const remedy = "look why the member does not renew it: journalctl of its unit; it does so by itself while it runs and reaches a peer"
	left := c.Till.Sub(now)
	switch {
	case now.Before(c.From):
		return a.fault("set the clock of this machine right", "the certificate counts from %s on", c.From.Local().Format(time.DateTime))
	case left <= 0 && c.Issues:
		return a.fault("if the clock of this machine is right, start the peer, which renews its certificate by the key of the authority: systemctl start berth-server", "the certificate has expired on %s", c.Till.Local().Format(time.DateTime))
	case left <= 0:
		return a.fault("berth token join "+c.Role+" --name "+c.Name+" on a peer, and berth join "+c.Role+" --renew here with that token", "the certificate has expired on %s", c.Till.Local().Format(time.DateTime))
	case left < c.Till.Sub(c.From)/3:
		return a.warning(remedy, "the certificate expires in %s, on %s: less than a third of its life is left", table.About(left), c.Till.Local().Format(time.DateTime))
	}
	return a.ok("the certificate is good until %s", c.Till.Local().Format(time.DateTime))
}

func covers(a about, c *Certificate) Finding {
	ip := net.ParseIP(c.API)
	if slices.ContainsFunc(c.Names, func(n string) bool {
		return strings.EqualFold(n, c.API) || ip != nil && ip.Equal(net.ParseIP(n))
	}) || ip != nil && ip.IsLoopback() || c.API == "localhost" {
		return a.ok("the certificate names the host of the API, %s", c.API)
	}
	return a.warning("berth cluster rotate leaf after server.advertise_http is right; programs that know the cluster's authority, such as berth, do not compare the name",
		"the certificate names %s, and not the host of the API, %s", strings.Join(c.Names, ", "), c.API)
}

// Session is what a user's machine knows of its cluster, and what the cluster answers.
type Session struct {
	Name      string // of the login; empty: none is stored
	Addresses []string
	Err       error // no peer answers
	Refused   bool  // a peer answers with a certificate of another authority
	Plain     bool  // without encryption, on this machine only

	Asks    bool // the cluster asks for tokens
	Token   bool // one is stored or in the environment
	Bad     bool // it is not accepted
	User    string
	Role    string
	Expires time.Time // zero: never
}

// Login judges how this machine reaches its cluster.
func Login(s *Session, now time.Time) (out []Finding) {
	a := about{CheckLogin, "cluster " + s.Name}
	if s.Name == "" {
		a.about = "cluster at " + strings.Join(s.Addresses, ",")
	}
	again := "berth login"
	if s.Name != "" {
		again += " " + s.Name
	}
	again += " --address HOST:PORT --pin HASH (berth cert pin prints the hash on a peer)"
	switch {
	case s.Refused:
		return []Finding{a.fault(again+", if the cluster was made again; otherwise another server answers at this address", "the peer is of another authority than the one that is stored here: %v", s.Err)}
	case s.Err != nil && !s.Bad:
		return []Finding{a.fault("check address, network and firewalls, and whether a peer runs there", "no peer answers: %v", s.Err)}
	}
	encrypted := "the peer's certificate is of the stored authority"
	if s.Plain {
		encrypted = "a peer of this machine answers, without encryption"
	}
	out = append(out, a.ok("%s", encrypted))
	t := about{CheckLogin, "token"}
	switch left := s.Expires.Sub(now); {
	case !s.Asks && !s.Bad:
		out = append(out, t.ok("the cluster does not ask for tokens"))
	case !s.Token:
		out = append(out, t.fault("ask an admin for a token (berth token create --user NAME) and store it: "+again, "the cluster asks for tokens, and none is stored here"))
	case s.Bad:
		out = append(out, t.fault("ask an admin for another (berth token create --user NAME) and store it: "+again, "the token is not accepted: %v", s.Err))
	case !s.Expires.IsZero() && left < 7*24*time.Hour:
		out = append(out, t.warning("ask an admin for another: berth token create --user "+s.User, "the token of %s expires in %s", s.User, table.About(left)))
	case s.Expires.IsZero():
		out = append(out, t.ok("the token is of %s, with the role %s; it has no end", s.User, s.Role))
	default:
		out = append(out, t.ok("the token is of %s, with the role %s, good until %s", s.User, s.Role, s.Expires.Local().Format(time.DateTime)))
	}
	return out
}
