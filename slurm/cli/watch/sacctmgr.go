package watch

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/format"
	"github.com/berth-gpu/berth/slurm/option"
)

func sacctmgrOptions() []option.Option {
	return append([]option.Option{
		{Name: "h", Short: 'h'},
		{Name: "associations", Short: 's'},
		{Name: "immediate", Short: 'i'},
		{Name: "json"},
		{Name: "noheader", Short: 'n'},
		{Name: "parsable", Short: 'p'},
		{Name: "parsable2", Short: 'P'},
		{Name: "readonly", Short: 'r'},
		{Name: "yaml"},
	}, common()...)
}

// association is a project that a user may submit jobs in: what Slurm keeps as an account of a user.
type association struct {
	user    string
	project string
	role    string // of the user
	usual   string // the only project of the user; empty: there are others, or none
}

// cells returns the values of the columns of a row.
func (a association) cells(kind string) func(key string) string {
	return func(key string) string {
		switch key {
		case "account":
			return a.project
		case "defaultaccount":
			return a.usual
		case "adminlevel":
			return a.role
		case "cluster":
			return clusterName
		case "user":
			return a.user
		case "description", "organization":
			if kind == "qos" {
				return "Normal QOS default"
			}
			return a.project
		case "name":
			if kind == "qos" {
				return normalQOS
			}
		case "parentname":
			return "root"
		case "qos", "defaultqos":
			return normalQOS
		}
		return ""
	}
}

// entity is a kind of thing that sacctmgr lists.
type entity struct {
	names   []string // in the singular
	columns string   // by default
	long    string   // columns with associations; empty: the same
	rows    func([]association) []association
}

func entities() []entity {
	return []entity{
		{names: []string{"user"}, columns: "user,defaultaccount,adminlevel", long: "user,defaultaccount,adminlevel,cluster,account,partition,qos,defaultqos", rows: usersOf},
		{names: []string{"account"}, columns: "account,description,organization", long: "account,description,organization,cluster,parentname,user,qos,defaultqos", rows: accountsOf},
		{names: []string{"association", "assoc"}, columns: "cluster,account,user,partition,qos,defaultqos", rows: withProject},
		{names: []string{"cluster"}, columns: "cluster,qos,defaultqos", rows: oneRow},
		{names: []string{"qos"}, columns: "name,description", rows: oneRow},
	}
}

// withProject returns those with a project: all but that of a caller that may submit in any.
func withProject(all []association) []association {
	return slices.DeleteFunc(all, func(a association) bool { return a.project == "" })
}

// oneRow returns one row, whose cells do not depend on associations.
func oneRow([]association) []association { return []association{{}} }

// usersOf returns each user once, without projects.
func usersOf(all []association) (users []association) {
	for _, a := range all {
		if a.project = ""; !slices.Contains(users, a) {
			users = append(users, a)
		}
	}
	return users
}

// accountsOf returns each project once, without users.
func accountsOf(all []association) (list []association) {
	for _, a := range all {
		if a.project != "" && !slices.Contains(list, association{project: a.project}) {
			list = append(list, association{project: a.project})
		}
	}
	return list
}

// Sacctmgr lists the caller with the projects that it may submit jobs in, the cluster, and the QOS.
func Sacctmgr(h *host.Host, args []string, stdout, stderr io.Writer) int {
	return newProgram(h, "sacctmgr", stdout, stderr).runSacctmgr(args)
}

// runSacctmgr carries out a command line and returns the exit code.
func (p *program) runSacctmgr(args []string) int {
	return p.carryOut(args, sacctmgrOptions(), p.sacctmgr)
}

func (p *program) sacctmgr(line *option.Line) error {
	if line.Has("h") || len(line.Words) == 1 && line.Words[0] == "help" {
		_, err := io.WriteString(p.out, help("sacctmgr", sacctmgrOptions())+"Commands: show|list user|account|association|cluster|qos, version\n")
		return err
	}
	if err := without(line, "json", "yaml"); err != nil {
		return err
	}
	if len(line.Words) == 0 {
		return errors.New("there is no interactive mode: give a command, such as sacctmgr show user")
	}
	switch word := strings.ToLower(line.Words[0]); word {
	case "show", "list":
		return p.listAccounting(line, line.Words[1:])
	case "version":
		_, err := fmt.Fprintln(p.out, p.host.Slurm())
		return err
	case "add", "create", "modify", "delete", "remove":
		return fmt.Errorf("%s is not supported: berth token, berth quota and berth share change users, limits and shares", word)
	default:
		return fmt.Errorf("invalid command %q: it is show, list or version", line.Words[0])
	}
}

// selection is what the words after an entity ask for.
type selection struct {
	format   string
	with     bool // with associations
	users    []string
	accounts []string
}

// selected reads the words after an entity: names, and conditions KEY=VALUE.
func (e *entity) selected(words []string) (s selection, err error) {
	for _, word := range words {
		key, value, is := strings.Cut(word, "=")
		key = strings.ToLower(key)
		list := strings.Split(value, ",")
		if !is && (key == "where" || key == "withassoc") {
			s.with = s.with || key == "withassoc"
			continue
		}
		if !is || strings.HasPrefix(key, "name") { // names of the entity
			if !is {
				list = strings.Split(word, ",")
			}
			if key = e.names[0]; key == "association" {
				return s, fmt.Errorf("%q is no condition of associations: write user=NAME or account=NAME", word)
			}
		}
		switch strings.TrimSuffix(key, "s") {
		case "format":
			s.format = value
		case "user":
			for _, name := range list {
				s.users = append(s.users, userOf(name))
			}
		case "account":
			s.accounts = append(s.accounts, list...)
		case "cluster", "qo", "order", "partition":
		default:
			return s, fmt.Errorf("%q is no condition that is known: they are user=, account=, name= and cluster=", word)
		}
	}
	return s, nil
}

// listAccounting prints the rows of an entity.
func (p *program) listAccounting(line *option.Line, words []string) error {
	if len(words) == 0 {
		return errors.New("show what: user, account, association, cluster or qos")
	}
	kinds := entities()
	i := slices.IndexFunc(kinds, func(e entity) bool {
		word := strings.ToLower(words[0])
		return slices.Contains(e.names, word) || slices.Contains(e.names, strings.TrimSuffix(word, "s"))
	})
	if i < 0 {
		return fmt.Errorf("%q is not listed: entities are user, account, association, cluster and qos", words[0])
	}
	kind := kinds[i]
	s, err := kind.selected(words[1:])
	if err != nil {
		return err
	}
	s.with = s.with || line.Has("associations")
	text, rows := kind.columns, kind.rows
	if s.with && kind.long != "" {
		text, rows = kind.long, func(all []association) []association { return all }
	}
	if s.format != "" {
		text = s.format
	}
	columns, err := format.Sacctmgr(text, parsableOf(line))
	if err != nil {
		return err
	}
	all, err := p.associations()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(a association) bool {
		return len(s.users) > 0 && !slices.Contains(s.users, a.user) || len(s.accounts) > 0 && !slices.Contains(s.accounts, a.project)
	})
	var cells []func(string) string
	for _, a := range rows(all) {
		cells = append(cells, a.cells(kind.names[0]))
	}
	_, err = io.WriteString(p.out, columns.Print(!line.Has("noheader"), cells))
	return err
}

// parsableOf reads the options that separate columns.
func parsableOf(line *option.Line) format.Parsable {
	switch {
	case line.Has("parsable2"):
		return format.Between
	case line.Has("parsable"):
		return format.Trailing
	default:
		return format.Padded
	}
}

// associations returns those of the caller. One that may submit in any project has none: no list would hold them all.
func (p *program) associations() ([]association, error) {
	api, err := p.api()
	if err != nil {
		return nil, err
	}
	caller, err := client.PeopleOf(api).Whoami(p.ctx)
	if err != nil {
		return nil, refused("slurmdb_users_get", err)
	}
	role := "None"
	switch caller.Role {
	case "operator":
		role = "Operator"
	case "admin":
		role = "Administrator"
	}
	name := p.host.Me(p.ctx, api)
	if len(caller.Projects) == 0 {
		return []association{{user: name, role: role}}, nil
	}
	all := make([]association, len(caller.Projects))
	for i, project := range caller.Projects {
		all[i] = association{user: name, project: project, role: role}
		if len(all) == 1 {
			all[i].usual = project
		}
	}
	return all, nil
}
