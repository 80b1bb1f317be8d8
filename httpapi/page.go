package httpapi

import (
	"net/http"
	"strings"

	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/dashboard"
)

// page adds the paths of the page for browsers, which are open to all: what it shows comes from the API.
func page(a *core.API) {
	show, err := dashboard.Handler(a.Config.Version, a.Origins)
	if err != nil {
		a.Log.Error("there is no page for browsers: its files are missing in this program", "error", err)
		return
	}
	a.HandleOpen("/ui/{path:.*}", show)
	a.HandleOpen("/ui", http.RedirectHandler(dashboard.Root, http.StatusFound))
	a.HandleOpen("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			core.NotFound(w, r)
			return
		}
		http.Redirect(w, r, dashboard.Root, http.StatusFound)
	}))
}
