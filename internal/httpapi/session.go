package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/refusal"
)

// Session is what a page of this machine needs to sign in as a person of the demo data.
type Session struct {
	Token     string        `json:"token"`
	User      SessionUser   `json:"user"`
	ExpiresAt time.Time     `json:"expiresAt"`
	People    []SessionUser `json:"people,omitempty"` // who else can be signed in
}

// SessionUser is for whom a session is.
type SessionUser struct {
	Email string `json:"email"`
	Name  string `json:"name"`
}

// session tells pages how they sign in.
func session(o Options) http.Handler {
	switch {
	case o.Session != nil:
		return only(localSession(o), http.MethodGet)
	case o.Issuer != nil:
		return only(issuer{o}, http.MethodGet, http.MethodPost)
	}
	return only(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeError(w, r, http.StatusNotFound, refusal.Of(model.ErrorCodeNotFound, "there is no local issuer: bring a token"))
	}), http.MethodGet)
}

// localSession hands out sessions to pages that this server itself has sent to this machine.
func localSession(o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) || !sameOrigin(r) || forwarded(r) {
			writeError(w, r, http.StatusForbidden, refusal.Of(model.ErrorCodeForbidden, "sessions are for pages of this server on this machine"))
			return
		}
		s, err := o.Session(r.Context(), r.URL.Query().Get("email"))
		if err != nil {
			if !fault.Is(err, fault.NotFound) {
				o.Log.ErrorContext(r.Context(), "make a session", "error", err)
			}
			writeError(w, r, 0, err)
			return
		}
		writeJSON(w, http.StatusOK, s)
	})
}

// forwarded reports whether a request says that it came through a proxy, behind which anybody may be. Proxies of all kinds add one of these
// headers. Only nginx must be told to, but without being told it speaks HTTP/1.0, which browsers and curl do not.
func forwarded(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) {
		return true
	}
	for name := range r.Header {
		switch {
		case name == "Forwarded", name == "Via", name == "Client-Ip", name == "True-Client-Ip",
			strings.HasPrefix(name, "X-Forwarded"), strings.HasPrefix(name, "X-Real-"), strings.HasPrefix(name, "X-Original-"),
			strings.HasPrefix(name, "X-Envoy-"), name == "X-Client-Ip", strings.HasPrefix(name, "Cf-"):
			return true
		}
	}
	return false
}

// sameOrigin reports whether a request comes from a page of this server, or from no page at all. Without a word about its
// origin it is no page: browsers add Sec-Fetch-Site to every request to a loopback address.
func sameOrigin(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	return (site == "" || site == "same-origin" || site == "none") &&
		(origin == "" || origin == "http://"+r.Host || origin == "https://"+r.Host)
}
