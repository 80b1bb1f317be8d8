package watch

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/format"
	"github.com/berth-gpu/berth/slurm/option"
)

// usualSshare are the columns of sshare by default.
const usualSshare = "account,user,rawshares,normshares,rawusage,effectvusage"

func sshareOptions() []option.Option {
	v := option.TakesValue
	return append([]option.Option{
		{Name: "accounts", Short: 'A', Takes: v, Form: "NAMES"},
		{Name: "all", Short: 'a'},
		{Name: "format", Short: 'o', Takes: v, Form: "FIELDS"},
		{Name: "json"},
		{Name: "long", Short: 'l'},
		{Name: "noheader", Others: []string{"no-header"}, Short: 'n'},
		{Name: "h", Short: 'h'},
		{Name: "parsable", Short: 'p'},
		{Name: "parsable2", Short: 'P'},
		{Name: "users", Short: 'u', Takes: v, Form: "NAMES"},
		{Name: "Users", Short: 'U'},
		{Name: "yaml"},
	}, common()...)
}

// Sshare lists the shares and the recent use of projects and users.
func Sshare(h *host.Host, args []string, stdout, stderr io.Writer) int {
	return newProgram(h, "sshare", stdout, stderr).runSshare(args)
}

// runSshare carries out a command line and returns the exit code.
func (p *program) runSshare(args []string) int {
	return p.carryOut(args, sshareOptions(), p.sshare)
}

func (p *program) sshare(line *option.Line) error {
	if err := without(line, "json", "yaml"); err != nil {
		return err
	}
	text := strings.Join(line.All("format"), ",")
	if text == "" {
		text = usualSshare
	}
	columns, err := format.Sshare(text, parsableOf(line))
	if err != nil {
		return err
	}
	api, err := p.api()
	if err != nil {
		return err
	}
	list, err := api.Operator().Quotas().Shares(p.ctx)
	if err != nil {
		return refused("slurm_associations_get_shares", err)
	}
	users, accounts := listOf(line, "users", ""), listOf(line, "accounts", "")
	for i := range users {
		users[i] = userOf(users[i])
	}
	if len(users) == 0 && !line.Has("all") {
		users = []string{p.host.Me(p.ctx, api)}
	}
	if line.Has("Users") {
		all, err := p.associations()
		if err != nil {
			return err
		}
		users, list.Shares = []string{all[0].user}, sharesOf(withProject(all), list.Shares)
	}
	var cells []func(string) string
	for i := range list.Shares {
		s := &list.Shares[i]
		switch {
		case line.Has("Users") && s.User == "",
			s.User != "" && !line.Has("all") && !slices.Contains(users, s.User),
			len(accounts) > 0 && !slices.Contains(accounts, s.Project):
			continue
		}
		cells = append(cells, shareCells(s, list.Shares))
	}
	header := !line.Has("noheader") && !line.Has("h")
	_, err = io.WriteString(p.out, columns.Print(header, cells))
	return err
}

// sharesOf returns the rows of some users of projects, each after those of the other users of the project. One that has
// used nothing yet has the usual share.
func sharesOf(wanted []association, all []wire.Share) (rows []wire.Share) {
	const usual = 100
	for _, a := range wanted {
		found := false
		for i := range all {
			if s := &all[i]; s.Project == a.project {
				rows = append(rows, *s)
				found = found || s.User == a.user
			}
		}
		if !found {
			rows = append(rows, wire.Share{Project: a.project, User: a.user, Shares: usual})
		}
	}
	return rows
}

// shareCells returns the values of the columns of a row. Shares are relative to those of the other projects, or of the
// other users of the project; use is in seconds of GPUs, and relative to that of all projects.
func shareCells(s *wire.Share, all []wire.Share) func(key string) string {
	shares, hours := int64(0), 0.0
	for i := range all {
		o := &all[i]
		if (o.User == "") == (s.User == "") && (s.User == "" || o.Project == s.Project) {
			shares += o.Shares
		}
		if o.User == "" {
			hours += o.GPUHours
		}
	}
	part := func(n, of float64) string {
		if of <= 0 {
			n, of = 0, 1
		}
		return strconv.FormatFloat(n/of, 'f', 6, 64)
	}
	return func(key string) string {
		switch key {
		case "account":
			return s.Project
		case "cluster":
			return clusterName
		case "user":
			return s.User
		case "rawshares":
			return strconv.FormatInt(s.Shares, 10)
		case "normshares":
			return part(float64(s.Shares), float64(shares))
		case "rawusage":
			return strconv.FormatFloat(s.GPUHours*3600, 'f', 0, 64)
		case "effectvusage":
			return part(s.GPUHours, hours)
		default:
			return ""
		}
	}
}
