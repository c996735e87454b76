package fleets

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/taggie/taggie/internal/campaign"
)

// maker makes things while a campaign goes on, and reads in the end what is stored of them.
type maker interface {
	Run(ctx context.Context)
	Stored(ctx context.Context, s *campaign.Stored) error
}

// makes has the first labellers make scores, which are followed, entities and files besides, from [expedition.begins] on.
func (e *expedition) makes() {
	of := func(n int) campaign.Maker {
		return campaign.Maker{Work: e.work, User: e.Labellers[n].ID, Rand: rngOf(e.seed, uint64(1000+n))}
	}
	var ctx context.Context
	ctx, e.unfollow = context.WithCancel(e.fleet.t.Context())
	e.makers = []maker{&campaign.Composer{Maker: of(0), Begun: func(score string) { e.follows(ctx, e.Labellers[0].ID, score) }}, &campaign.Curator{Maker: of(1)}, &campaign.Librarian{Maker: of(2), Uploader: e}}
}

// Upload sends a file to S3.
func (e *expedition) Upload(ctx context.Context, request campaign.Signed, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, e.waits)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, request.Method, request.URL, bytes.NewReader(content))
	if err != nil {
		return err
	}
	for _, h := range request.Headers {
		r.Header.Set(h.Name, h.Value)
	}
	response, err := e.web.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err == nil && response.StatusCode != http.StatusOK && response.StatusCode != http.StatusPreconditionFailed { // it may be there already
		err = fmt.Errorf("status %d: %.200s", response.StatusCode, text)
	}
	return err
}
