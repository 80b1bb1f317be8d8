package config

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// DefaultHTTP is the default address of a peer's API.
const DefaultHTTP = "127.0.0.1:10000"

// Defaults of agents, as their packages have them: programs for users read this table, too, and link no agent.
const (
	defaultRunDir = "/dev/shm" // as node/runner.DefaultRunDir
	defaultHot    = 85         // °C, as node/gpu/judge.Defaults
)

// Config is the value of every setting. A program reads its own parts.
type Config struct {
	Log     Log
	Server  Server
	Agent   Agent
	Client  Client
	Cluster Cluster
}

// Log holds the settings of the log of peers and agents.
type Log struct {
	Level  slog.Level
	Format string // "text" or "json"
}

// Server holds the settings of a peer.
type Server struct {
	Addresses

	ID, DataDir     string
	SecretsKey      string // file; empty: next to the data folder
	Bootstrap, Join []string
	Proxies         []string // networks
	Timeouts        string   // "lan" or "wan"
	MinFree         uint64   // MiB; 0: the store's default
	LevelHold       time.Duration
	Auth            Auth
	OIDC            OIDC
	Audit           Audit
	Backup          Backup
	Advice          Advice
}

// SealingFile returns the file of the keys by which texts of users are sealed.
func (s *Server) SealingFile() string {
	return cmp.Or(s.SecretsKey, filepath.Join(filepath.Clean(s.DataDir)+".secrets", "sealing.key"))
}

// Addresses holds the addresses of a peer; Advertise, AdvertiseHTTP and PublicURL may be empty.
type Addresses struct {
	Listen, Advertise   string
	HTTP, AdvertiseHTTP string
	PublicURL           string
	Gossip
	Certificate, Key string   // files for clients of the API; empty: the cluster's own certificate
	Hosts            []string // other names of the API
}

// Gossip holds the addresses of a member for gossip; both may be empty.
type Gossip struct {
	GossipListen, GossipAdvertise string
}

// Auth holds the settings of authentication and of what jobs may run.
type Auth struct {
	On                 bool
	Keys, CommandRules string // files; empty: none
	Own, Header        string // the keys themselves, see [Part], and the header that holds them; not with Keys
	Rate               int64  // requests of a caller in a second; 0: any
}

// Audit holds the settings of the audit trail's files outside the archive.
type Audit struct {
	Dir  string // empty: nowhere
	MiB  int64  // of one file
	Keep int    // files
}

// Advice holds the settings of the analysis of workloads.
type Advice struct {
	Defaults          string // a file; empty: none
	Own               string // the content of such a file, see [Part]; both empty: the standard ones
	Deepagents, Graph string // addresses; empty: no service is asked
}

// Client holds the settings of commands that ask a cluster.
type Client struct {
	Address   []string
	Authority string // file; empty: plain text on this machine only
	Login     string // name of a stored cluster; empty: the current one
}

// New returns a configuration with all defaults.
func New() *Config {
	return &Config{
		Server: Server{
			Addresses: Addresses{Listen: "127.0.0.1:7000", HTTP: DefaultHTTP}, Timeouts: "lan", LevelHold: 24 * time.Hour, Auth: Auth{Rate: 300},
			OIDC: defaultOIDC(), Audit: Audit{MiB: 64, Keep: 16}, Backup: Backup{Every: 24 * time.Hour, Keep: 14},
		},
		Agent: Agent{
			Listen: "127.0.0.1:0", RunDir: defaultRunDir,
			GPUs:  GPUs{From: "auto", Hot: defaultHot},
			Ranks: defaultRanks(),
			Keep:  Keep{Bytes: 50e9},
		},
		Log:     Log{Format: "text"},
		Client:  Client{Address: []string{DefaultHTTP}},
		Cluster: defaultCluster(),
	}
}

// Settings returns the table: every setting, bound to its field of this configuration.
func (c *Config) Settings() []Setting {
	rows := []Setting{{
		Name: "log.level", For: OfServer | OfAgent, Flag: "log-level", Env: "BERTH_LOG_LEVEL", Reload: true,
		Means: "least weight of a line to be written: debug, info, warn or error", Value: level(&c.Log.Level),
	}, {
		Name: "log.format", For: OfServer | OfAgent, Flag: "log-format", Env: "BERTH_LOG_FORMAT",
		Means: "text, or json: each line is an object with time, level, msg and the other fields", Value: Choice(&c.Log.Format, "text", "json"),
	}}
	rows = append(rows, c.Server.settings()...)
	rows = append(rows, c.Server.Auth.settings()...)
	rows = append(rows, c.Server.OIDC.settings()...)
	rows = append(rows, c.Server.Audit.settings()...)
	rows = append(rows, c.Server.Backup.settings()...)
	rows = append(rows, c.Server.Advice.settings()...)
	rows = append(rows, c.Agent.settings()...)
	rows = append(rows, c.Client.settings()...)
	return append(rows, c.Cluster.Settings()...)
}

// of returns the rows of the table that may be for a program. A client starts often and has few.
func (c *Config) of(p Program) []Setting {
	if p == OfClient {
		return c.Client.settings()
	}
	return c.Settings()
}

// level returns a value for the level of the log.
func level(to *slog.Level) Value {
	var word string
	choice, words := Choice(&word, "debug", "info", "warn", "error"), func(l slog.Level) string { return strings.ToLower(l.String()) }
	return scalar[slog.Level]{to, choice.Kind(), func(s string) (l slog.Level, err error) {
		if err := choice.Set([]string{s}); err != nil {
			return l, err
		}
		return l, l.UnmarshalText([]byte(word))
	}, words}
}

// What the settings of gossip mean, for peers and agents alike.
const (
	gossipMeans          = "`address` (IP:port) for gossip with the other members, by which they notice within seconds that one is silent; empty: none"
	gossipAdvertiseMeans = "`address` (IP:port) under which other members reach --gossip (default: --gossip)"
)

func (s *Server) settings() []Setting {
	return slices.Concat([]Setting{
		{
			Name: "server.id", For: OfServer, Flag: "id",
			Means: "this peer's `name`, which must never change", Value: Text(&s.ID, "name"),
		},
		{
			Name: "server.data_dir", For: OfServer, Flag: "data-dir",
			Means: "`folder` for this peer's log and snapshots; also --data", Value: Text(&s.DataDir, "folder"),
		},
	}, s.Addresses.settings(), []Setting{
		{
			Name: "server.bootstrap", For: OfServer, Flag: "bootstrap",
			Means: "found a cluster of these peers: `id=address,...`", Value: List(&s.Bootstrap, "id=address"),
		},
		{
			Name: "server.join", For: OfServer, Flag: "join",
			Means: "join the cluster of the peers at these `address,...`", Value: List(&s.Join, "addresses"),
		},
		{
			Name: "server.trusted_proxies", For: OfServer, Flag: "trusted-proxies", Reload: true,
			Means: "`networks` of proxies whose X-Forwarded-For or Forwarded names the client: 10.1.2.3,10.0.0.0/8,...", Value: List(&s.Proxies, "networks"),
		},
		{
			Name: "server.raft_timeouts", For: OfServer, Flag: "raft-timeouts",
			Means: "lan or wan, by how far apart the peers are", Value: Choice(&s.Timeouts, "lan", "wan"),
		},
		{
			Name: "server.min_free_mib", For: OfServer, Flag: "min-free",
			Means: "`MiB` that must be free on the disk to start; 0: 512", Value: Number(&s.MinFree, "MiB", 0, 1<<40),
		},
		{
			Name: "server.secrets_key", For: OfServer, Flag: "secrets-key", Env: "BERTH_SECRETS_KEY",
			Means: "`file` of the keys by which scripts, environments and secrets of webhooks are sealed, outside of the data folder and best on another disk; empty: sealing.key in the folder with the name of the data folder and .secrets",
			Value: Text(&s.SecretsKey, "file"),
		},
		{
			Name: "server.level_hold", For: OfServer, Flag: "level-hold",
			Means: "`time` from the upgrade of the last peer until the cluster uses what is new and no peer can go back to the version before; the longest of all peers counts; 0: at once",
			Value: Span(&s.LevelHold, time.Minute, 90*24*time.Hour, true),
		},
	})
}

func (s *Addresses) settings() []Setting {
	return []Setting{
		{
			Name: "server.http", For: OfServer, Flag: "http",
			Means: "`address` of the HTTP API", Value: Text(&s.HTTP, "address"),
		},
		{
			Name: "server.advertise_http", For: OfServer, Flag: "advertise-http",
			Means: "`address` under which agents and other peers reach the API (default: --http)", Value: Text(&s.AdvertiseHTTP, "address"),
		},
		{
			Name: "server.public_url", For: OfServer, Flag: "public-url",
			Means: "`url` under which users and browsers reach this peer, such as that of a proxy: https://berth.example.org; its host is added to server.hosts",
			Value: Text(&s.PublicURL, "url"),
		},
		{
			Name: "server.tls_cert", For: OfServer, Flag: "tls-cert",
			Means: "`file` with a certificate chain (PEM) that browsers and clients without the cluster's authority are shown; read again when it changes; with --tls-key",
			Value: Text(&s.Certificate, "file"),
		},
		{
			Name: "server.tls_key", For: OfServer, Flag: "tls-key",
			Means: "`file` with its private key (PEM)", Value: Text(&s.Key, "file"),
		},
		{
			Name: "server.hosts", For: OfServer, Flag: "hosts",
			Means: "`name,...` under which clients may reach the API, in addition to the names of its addresses and of its certificate, and with authentication IP addresses: " +
				"requests with another name in their Host header are refused",
			Value: List(&s.Hosts, "names"),
		},
		{
			Name: "server.listen", For: OfServer, Flag: "listen",
			Means: "`address` to listen on for other peers", Value: Text(&s.Listen, "address"),
		},
		{
			Name: "server.advertise", For: OfServer, Flag: "advertise",
			Means: "`address` under which other peers reach this one (default: --listen)", Value: Text(&s.Advertise, "address"),
		},
		{
			Name: "server.gossip", For: OfServer, Flag: "gossip",
			Means: gossipMeans, Value: Text(&s.GossipListen, "address"),
		},
		{
			Name: "server.advertise_gossip", For: OfServer, Flag: "advertise-gossip",
			Means: gossipAdvertiseMeans, Value: Text(&s.GossipAdvertise, "address"),
		},
	}
}

func (a *Auth) settings() []Setting {
	return []Setting{
		{
			Name: "auth.enabled", For: OfServer, Flag: "auth",
			Means: "require authentication at the API, from now on and for ever; the same at all peers", Value: Switch(&a.On),
		},
		{
			Name: "auth.keys_file", For: OfServer, Flag: "auth-keys", Reload: true, File: true,
			Means: "`file` of API keys that are accepted in addition to tokens (YAML: header_name, api_keys); the same at all peers",
			Value: Text(&a.Keys, "file"),
		},
		{
			Name: "auth.api_keys", For: OfServer, Secret: true, Reload: true,
			Means: "the keys themselves, KEY: SERVICE or KEY: {user: NAME, role: ROLE}, instead of their file; the same at all peers",
			Value: Part(&a.Own),
		},
		{
			Name: "auth.header_name", For: OfServer, Reload: true,
			Means: "header that may hold such a key, in addition to X-API-Key, X-Auth-Token and Authorization", Value: Text(&a.Header, "header"),
		},
		{
			Name: "auth.rate_limit", For: OfServer, Flag: "rate-limit", Reload: true,
			Means: "with --auth: `requests` that a caller may make a second over all peers together, each of which allows its part; a node's agent may make four times as many; 0: any",
			Value: Number(&a.Rate, "requests", 0, 1_000_000),
		},
		{
			Name: "auth.command_rules", For: OfServer, Flag: "command-rules", Reload: true, File: true,
			Means: "`file` of rules for the commands of jobs (YAML); the same at all peers", Value: Text(&a.CommandRules, "file"),
		},
	}
}

func (a *Audit) settings() []Setting {
	return []Setting{
		{
			Name: "audit.dir", For: OfServer, Flag: "audit-dir",
			Means: "`folder` for files with every record of the audit trail as a line of JSON; empty: no files", Value: Text(&a.Dir, "folder"),
		},
		{
			Name: "audit.file_mib", For: OfServer, Flag: "audit-size",
			Means: "size of one file in `MiB`, after which the next is begun", Value: Number(&a.MiB, "MiB", 1, 1<<20),
		},
		{
			Name: "audit.keep", For: OfServer, Flag: "audit-keep",
			Means: "`number` of complete files that are kept", Value: Number(&a.Keep, "files", 1, 1_000_000),
		},
	}
}

func (a *Advice) settings() []Setting {
	return []Setting{
		{
			Name: "workloads.defaults_file", For: OfServer, Flag: "workload-defaults", Reload: true, File: true,
			Means: "YAML `file` with defaults for workloads without other data; see docs/workload.md; the same at all peers",
			Value: Text(&a.Defaults, "file"),
		},
		{
			Name: "workloads.defaults", For: OfServer, Reload: true,
			Means: "the same itself, TYPE: {default_memory_mb: N, default_priority: N, gpus: N}, instead of its file", Value: Part(&a.Own),
		},
		{
			Name: "services.deepagents_url", For: OfServer, Flag: "deepagents-url", Env: "DEEPAGENTS_URL", Reload: true,
			Means: "`URL` of a service that gives advice about workloads; empty: none", Value: Text(&a.Deepagents, "URL"),
		},
		{
			Name: "services.graph_service_url", For: OfServer, Flag: "graph-service-url", Env: "GRAPH_SERVICE_URL", Reload: true,
			Means: "`URL` of another such service; empty: none", Value: Text(&a.Graph, "URL"),
		},
	}
}

func (c *Client) settings() []Setting {
	return []Setting{{
		Name: "client.address", For: OfClient, Flag: "address", Env: "BERTH_ADDRESS",
		Means: "API `address,...` of peers, tried in turn, or unix:PATH for the socket of a peer on this machine; berth login stores them", Value: List(&c.Address, "addresses"),
	}, {
		Name: "client.authority", For: OfClient, Flag: "authority", Env: "BERTH_AUTHORITY", File: true,
		Means: "`file` with the certificates of the cluster's authority, for peers on other machines: berth cert authority prints them", Value: Text(&c.Authority, "file"),
	}, {
		Name: "client.login", For: OfClient, Flag: "login", Env: "BERTH_LOGIN",
		Means: "`name` of a cluster that berth login has stored (default: the last one)", Value: Text(&c.Login, "name"),
	}}
}
