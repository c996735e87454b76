package httpapi

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/viewer"
)

// Issuer signs people in to pages.
type Issuer interface {
	// Configuration returns what a page needs to begin, as a JSON object without secrets. Fault: Unavailable.
	Configuration(ctx context.Context) ([]byte, error)
	// Token asks for tokens and returns the status and the JSON of the issuer's answer. Faults: Invalid for what is no such request, Unavailable.
	Token(ctx context.Context, request url.Values) (status int, answer []byte, err error)
}

const (
	// maxTokenRequest is how large the request of a page for tokens may be.
	maxTokenRequest = 32 << 10
	// tokenCost is what it takes from the budget of a network. That is its own for this, lest those who ask for something else without a token
	// keep others from signing in.
	tokenCost = 2_000
)

// issuer answers pages that sign people in at an issuer: GET returns how to begin, and POST is a token endpoint. With it, pages need to reach no
// other origin, and the secret of the client stays here.
type issuer struct{ o Options }

func (i issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, answer := http.StatusOK, []byte(nil)
	var err error
	switch {
	case r.Method == http.MethodGet:
		answer, err = i.o.Issuer.Configuration(r.Context())
	case !i.fromPage(r):
		err = fault.New(fault.Forbidden, "tokens are for pages of this server")
	default:
		r.Body = http.MaxBytesReader(w, r.Body, maxTokenRequest)
		if r.ParseForm() != nil {
			writeError(w, r, http.StatusBadRequest, refusal.Of(model.ErrorCodeBadRequest, "expected a form of at most %d bytes", maxTokenRequest))
			return
		}
		if err = i.charge(r); err == nil {
			status, answer, err = i.o.Issuer.Token(r.Context(), r.PostForm)
		}
	}
	if err != nil {
		if fault.Is(err, fault.Unavailable) {
			i.o.Log.WarnContext(r.Context(), "sign in at the issuer", "error", err)
		}
		writeError(w, r, statusOfLimit(w.Header(), gqlerror.List{gqlerror.Wrap(err)}), err)
		return
	}
	w.Header().Set("Content-Type", request.JSON)
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// charge takes a question to the token endpoint from the budget of the network that asks. Fault: Exhausted.
func (i issuer) charge(r *http.Request) error {
	if i.o.Budget == nil {
		return nil
	}
	who := "sign-in:" + caller.Name(viewer.Viewer{Network: caller.Proxies(i.o.TrustedProxies).Network(r)})
	question := rand.Text()
	if _, wait := i.o.Budget.Charge(r.Context(), who, question, tokenCost); wait > 0 {
		refused := fault.New(fault.Exhausted, "too many people of your network sign in at the moment: try again later")
		refused.RetryAfter = wait
		return refused
	}
	i.o.Budget.Settle(context.WithoutCancel(r.Context()), who, question, tokenCost)
	return nil
}

// fromPage reports whether a request does not come from a page of somebody else. Behind a proxy, our pages may have an origin that only the
// settings know.
func (i issuer) fromPage(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if site != "" {
		return site == "same-origin" || site == "none"
	}
	return origin == "" || origin == "http://"+r.Host || origin == "https://"+r.Host || slices.Contains(i.o.AllowedOrigins, origin)
}
