package fleet

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/listing"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// nodesInput is the input of GET /nodes.
type nodesInput struct {
	core.Watch
	Limit int    `query:"limit" minimum:"1" maximum:"100000" doc:"the most nodes of a page; all by default"`
	After string `query:"after" maxLength:"8192" doc:"next of the previous page"`
}

// nodeRow is a node before it is converted.
type nodeRow struct {
	state *state.State
	node  model.Node
	use   model.NodeUse
	gpu   string // the type of its first GPU
}

// nodeTable returns the fields of GET /nodes.
func nodeTable() *listing.Table[*nodeRow] {
	text := func(get func(*nodeRow) string) func(*nodeRow) listing.Key {
		return func(r *nodeRow) listing.Key { return listing.Key{Text: get(r)} }
	}
	number := func(name, doc string, get func(*nodeRow) int64) listing.Field[*nodeRow] {
		return listing.Field[*nodeRow]{
			Name: name, Doc: doc, Parse: listing.Numbers(get),
			Key: func(r *nodeRow) listing.Key { return listing.Key{Number: get(r)} },
		}
	}
	id := func(r *nodeRow) string { return string(r.node.ID) }
	inState := func(r *nodeRow) string { return view.NodeState(&r.node) }
	gpu := func(r *nodeRow) string { return r.gpu }
	return &listing.Table[*nodeRow]{
		Sort: "node_id", ID: text(id), Entry: reflect.TypeFor[wire.Node](),
		Fields: []listing.Field[*nodeRow]{
			{Name: "node_id", Key: text(id)},
			{Name: "ids", Doc: "with these ids; several are separated by commas", Parse: listing.Texts(id)},
			{Name: "state", Doc: "in this state; several are separated by commas", Parse: listing.Words(inState, view.NodeStates()...), Key: text(inState)},
			{Name: "label", Doc: "with labels that meet a constraint, as jobs have it, such as zone=a,ssd", Parse: byLabels},
			{Name: "gpu_type", Doc: "with this type of GPU; several are separated by commas", Parse: listing.Texts(gpu), Key: text(gpu)},
			number("gpu_count", "with so many GPUs; such as 4, 1,3, 2-8 or 8-", func(r *nodeRow) int64 { return int64(r.use.All) }),
			number("free_gpus", "with so many free GPUs; such as 0, or 1-", func(r *nodeRow) int64 { return int64(r.use.Free) }),
			{Name: "q", Doc: "of which id, host name, type of GPU or a label contains this text", Parse: listing.Search(func(r *nodeRow) []string {
				return []string{id(r), r.node.Hostname, r.gpu, r.node.Labels, r.node.Marks}
			})},
		},
	}
}

// byLabels is a filter for nodes whose labels meet a constraint.
func byLabels(text string) (func(*nodeRow) bool, error) {
	c, err := model.ParseConstraint(text)
	if err != nil {
		return nil, err
	}
	return func(r *nodeRow) bool { return c.Meets(r.node.Is()) }, nil
}

func (a fleet) nodes(ctx context.Context, in *nodesInput) (*core.Answer[wire.Nodes], error) {
	selected, err := nodeTable().Select(ctx)
	if err != nil {
		return nil, err
	}
	at, err := selected.Places("after", in.After, 1)
	if err != nil {
		return nil, err
	}
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicFleet, model.TopicNode, model.TopicSettings), nil)
	if err != nil {
		return nil, err
	}
	sort, desc := selected.Sort()
	page, next, total := listing.Page(selected, at[0], in.Limit, sort == "node_id" && !desc, nodeRows(&s),
		func(r *nodeRow) model.NodeID { return r.node.ID })
	soft := a.api.Samples(ctx)
	out := &wire.Nodes{Nodes: a.list(&s, &soft, page), Next: selected.Cursor(next), Layout: layoutOf(&s)}
	for i := range out.Nodes {
		if a.api.Config.Gossip != nil {
			out.Nodes[i].Gossip = a.api.Config.Gossip(trust.RoleNode, out.Nodes[i].ID)
		}
	}
	if selected.Counts() {
		out.Total = &total
	}
	out.Partitions, out.QOS = view.Partitions(&s)
	return &core.Answer[wire.Nodes]{Index: s.Index, Body: out}, nil
}

// list returns nodes with what only the leader knows.
func (a fleet) list(s *state.State, soft *agentwire.Samples, ids []model.NodeID) []wire.Node {
	out := view.Nodes(s, a.api.Now(s), view.ReadingsOf(soft.Readings), ids)
	for i := range out {
		addOther(&out[i], soft)
	}
	return out
}

// addOther adds to a node that two agents run for it.
func addOther(n *wire.Node, known *agentwire.Samples) {
	i := slices.IndexFunc(known.Refused, func(r agentwire.Refused) bool { return string(r.Node) == n.ID })
	if i < 0 {
		return
	}
	n.Health = wire.HealthTwoAgents
	n.Reason = strings.TrimPrefix(n.Reason+"; "+known.Refused[i].Why, "; ")
}

// nodeRows yields all nodes, by id, in one row that changes.
func nodeRows(s *state.State) iter.Seq[*nodeRow] {
	return func(yield func(*nodeRow) bool) {
		r := nodeRow{state: s}
		for id, n := range s.Nodes.All() {
			r.node, r.gpu = n, ""
			r.use, _ = s.NodeUse.Get(id)
			for k := range s.NodeGPUs.From(model.AddressKey{Node: id}) {
				if k.Node == id {
					g, _ := s.GPUs.Get(k.GPU)
					r.gpu = g.Model
				}
				break
			}
			if !yield(&r) {
				return
			}
		}
	}
}
