package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humamux"
	"github.com/gorilla/mux"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/front"
	"github.com/berth-gpu/berth/httpapi/listing"
	"github.com/berth-gpu/berth/httpapi/meter"
	"github.com/berth-gpu/berth/httpapi/places"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/signin"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// MaxBody bounds a user's request, in bytes.
const MaxBody = 3 << 20 // the environment of a submission has up to a third of this

// API answers requests. It is an http.Handler, and [API.Serve] makes it a server. Its exported fields do not change.
type API struct {
	Config   Config
	Peer     Peer
	Log      *slog.Logger
	Router   *mux.Router
	Forward  *forward.Forwarder
	Out      *http.Transport // to agents
	Places   *places.Cache
	Meter    *meter.Meter
	Sessions *signin.Sessions
	Began    time.Time // of this API

	front   http.Handler
	gate    *gate
	wakes   *wakes
	samples *mirror
	held    *heldRequests
	open    *openRequests
	readers readers
	life    life
	answers []func(*call.Server) // of calls, see AnswerCall
}

// New returns an API without paths.
func New(c Config) *API {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{
		Config: c, Peer: c.Peer, Log: c.Log, Router: mux.NewRouter(), Places: places.New(), wakes: newWakes(c.Peer.Reader), life: newLife(),
		gate: newGate(&c), Began: c.Now(), open: newOpenRequests(),
		Out: &http.Transport{
			DialContext: c.Dial, MaxIdleConns: 4096, MaxIdleConnsPerHost: 1024, IdleConnTimeout: 90 * time.Second,
			DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		},
	}
	a.front = withProfiles(front.Wrap(a.shared(a.Router), c.Version, c.Now))
	a.samples = newMirror(a.fetchSamples)
	AnswerCall(a, samples, a.ownSamples)
	a.Sessions = signin.New(signin.Config{
		Self: c.Self, Reader: c.Peer.Reader, Members: c.Peer.Members, Proposer: c.Peer.Proposer, Calls: c.Peer.Calls, Now: c.Now, Log: a.Log,
		Life: a.life.Ctx,
	})
	AnswerCall(a, signin.Renew, a.Sessions.Answer)
	AnswerCall(a, signin.Settle, a.gate.Accounts.Answer)
	a.Meter = meter.New(meter.Sources{
		Reader: c.Peer.Reader, Members: c.Peer.Members, Places: a.Places, Samples: a.presentSamples, Now: c.Now,
		Expires: c.Expires,
	}, c.Metrics...)
	a.life.Conns.proxy = a.gate.trusts
	a.life.Server.Handler, a.life.Server.ErrorLog = a, slog.NewLogLogger(a.Log.Handler(), slog.LevelDebug)
	a.held = newHeldRequests(a.gate, a.wakes)
	a.Forward = forward.New(forward.Config{
		Members: c.Peer.Members, Send: forward.Over(c.Peer.Calls), Sender: a.gate.describe,
		Refuse: func(w http.ResponseWriter, r *http.Request, code, detail string) {
			f := problem.Refuse(code, detail)
			a.noteRefusal(w, r, f.Status, code)
			f.Write(w)
		},
	})
	a.Router.UseEncodedPath().Use(decoded) // names may hold a slash, which is written %2F
	a.Router.NotFoundHandler = a.Around("", "", http.HandlerFunc(NotFound))
	a.Router.MethodNotAllowedHandler = a.Around("", "", http.HandlerFunc(a.wrongMethod))
	return a
}

// Complete adds the paths of the metrics and of the OpenAPI document, after those of all operations. Then the
// API has all its paths, and only now does it answer the calls of other peers.
func (a *API) Complete(doc huma.API) {
	a.Router.Path("/metrics").Methods(http.MethodGet).Handler(a.Around(http.MethodGet, "/metrics", a.Meter.Handler()))
	delete(doc.OpenAPI().Components.Schemas.Map(), "ErrorModel") // the library's, which ours replaces
	describeReasons(doc.OpenAPI().Components.Schemas)
	describe(a, doc.OpenAPI())
	a.answerCalls()
}

// HandleOpen adds a path that anyone may read, and that is no operation of the API.
func (a *API) HandleOpen(path string, h http.Handler) {
	a.Router.Path(path).Methods(http.MethodGet).Handler(a.Around(http.MethodGet, path, h))
}

// decoded passes on the unescaped names in a path. A name that is not UTF-8 matches nothing.
func decoded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		vars := mux.Vars(r)
		for name, text := range vars { // order-free: each by itself
			plain, err := url.PathUnescape(text)
			if err != nil || !utf8.ValidString(plain) {
				problem.Invalid(name, "must be UTF-8").Write(w)
				return
			}
			vars[name] = plain
		}
		next.ServeHTTP(w, r)
	})
}

// describe serves the OpenAPI document, which is made at the first request.
func describe(a *API, doc *huma.OpenAPI) {
	described := sync.OnceValues(func() ([]byte, error) { return json.Marshal(doc) })
	a.Router.Path("/openapi.json").Methods(http.MethodGet).Handler(a.Around(http.MethodGet, "/openapi.json",
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			text, err := described()
			if err != nil {
				problem.Of(a.Log, err).Write(w)
				return
			}
			w.Header().Set("Content-Type", "application/openapi+json")
			_, _ = w.Write(text)
		})))
}

// Document starts the OpenAPI document. Parameters are parsed and checked as described; bodies are
// parsed by strict.
func (a *API) Document() huma.API {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schemas.RegisterTypeAlias(reflect.TypeFor[wire.Duration](), reflect.TypeFor[durationSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[wire.Lifetime](), reflect.TypeFor[durationSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[wire.Tuning](), reflect.TypeFor[tuningSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[wire.OrNone[int64]](), reflect.TypeFor[countSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[wire.OrNone[float64]](), reflect.TypeFor[amountSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[wire.OrNone[bool]](), reflect.TypeFor[switchSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[wire.OrNone[wire.Duration]](), reflect.TypeFor[durationSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[json.RawMessage](), reflect.TypeFor[anySchema]())
	format := huma.Format{Marshal: writeJSON, Unmarshal: json.Unmarshal}
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Berth", Version: a.Config.Version,
				Description: "Queues jobs, allocates GPUs to them and runs them. Any peer accepts any request.",
			},
			Components: &huma.Components{Schemas: schemas},
		},
		Formats:                      map[string]huma.Format{jsonType: format, "json": format},
		DefaultFormat:                jsonType,
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{retell, listing.Project},
	}
	customize := humamux.WithRouteCustomizer(func(op *huma.Operation, route *mux.Route) {
		describeRights(op)
		h := strict.Query(route.GetHandler())
		if op.Method != http.MethodGet && op.Metadata[AnsweredHere] == nil {
			if op.RequestBody == nil {
				h = strict.Bodiless(a.Log, h)
			}
			h = Write{a.Forward.Wrap(a.noting(a.gate.Confirm(op.Method, op.Path, h)),
				forward.Rule{MaxBody: auth.MaxBody(op.Method, op.Path, MaxBody), Keyed: true})}
		}
		route.Handler(a.Around(op.Method, op.Path, h))
	})
	return humamux.New(a.Router, config, customize)
}

// Handle routes an operation, which returns an [Answer] or a [SignedIn], and converts its errors to problems.
func Handle[I, O any](a *API, doc huma.API, o huma.Operation, do func(context.Context, *I) (*O, error)) {
	o.Responses = map[string]*huma.Response{"default": ProblemResponse(doc)}
	huma.Register(doc, o, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if same, is := errors.AsType[*notModified](err); is {
			return nil, same
		}
		if err != nil {
			return nil, problem.Of(a.Log, err)
		}
		return out, nil
	})
}

func problemSchema(doc huma.API) *huma.Schema {
	return doc.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.Problem](), true, "")
}

// HandleBody is Handle for an operation with a body of type B, which is described here and parsed by
// strict.
func HandleBody[B, I, O any, P withRaw[I]](a *API, doc huma.API, o huma.Operation, do func(context.Context, P, *B) (*O, error)) {
	handleBody(a, doc, o, true, strict.New[B](), do)
}

// HandleParsed is HandleBody with a parser of the caller's.
func HandleParsed[B, I, O any, P withRaw[I]](a *API, doc huma.API, o huma.Operation, parser strict.Parser[B],
	do func(context.Context, P, *B) (*O, error),
) {
	handleBody(a, doc, o, true, parser, do)
}

// HandleMaybeBody is HandleBody for an operation without or with a body; without one, do gets a zero B.
func HandleMaybeBody[B, I, O any, P withRaw[I]](a *API, doc huma.API, o huma.Operation, do func(context.Context, P, *B) (*O, error)) {
	handleBody(a, doc, o, false, strict.New[B](), do)
}

func handleBody[B, I, O any, P withRaw[I]](a *API, doc huma.API, o huma.Operation, must bool, parser strict.Parser[B],
	do func(context.Context, P, *B) (*O, error),
) {
	content := &huma.MediaType{}
	if o.RequestBody != nil {
		content = o.RequestBody.Content[jsonType] // see Example
	}
	o.RequestBody = &huma.RequestBody{}
	Handle(a, doc, o, func(ctx context.Context, in *I) (*O, error) {
		raw := P(in).raw()
		if !must && len(bytes.TrimSpace(raw)) == 0 {
			return do(ctx, in, new(B))
		}
		body, err := parser.Decode(raw)
		if err != nil {
			return nil, err
		}
		return do(ctx, in, body)
	})
	o.RequestBody.Required = must // the library requires every body
	schemas := doc.OpenAPI().Components.Schemas
	ref := schemas.Schema(reflect.TypeFor[B](), true, "")
	describeBody(parser, schemas.SchemaFromRef(ref.Ref))
	content.Schema = ref
	o.RequestBody.Content = map[string]*huma.MediaType{jsonType: content}
}

// ProblemResponse describes every answer that is a problem.
func ProblemResponse(doc huma.API) *huma.Response {
	return &huma.Response{
		Description: "an error: a problem with a stable code",
		Content:     map[string]*huma.MediaType{wire.ProblemType: {Schema: problemSchema(doc)}},
	}
}
