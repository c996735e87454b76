package signin_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/signin"
	"github.com/taggie/taggie/internal/viewer"
)

// tokens knows one token.
type tokens struct{}

func (tokens) Authenticate(_ context.Context, authorization []string) (viewer.Identity, error) {
	if len(authorization) == 1 && authorization[0] == "Bearer ada" {
		return viewer.Identity{Issuer: "https://issuer.example", Subject: "ada"}, nil
	}
	return viewer.Identity{}, fault.New(fault.Unauthenticated, "this is no token of ours")
}

func ExampleService_Identify() {
	s := signin.Service{Auth: tokens{}, Timeout: time.Second, Log: slog.New(slog.DiscardHandler), SignIn: func(_ context.Context, i viewer.Identity) (viewer.Viewer, error) {
		return viewer.Viewer{Identity: i, UserID: "1"}, nil
	}}
	v, err := s.Identify(context.Background(), []string{"Bearer ada"}, "192.0.2.0/24")
	fmt.Println(v.UserID, v.Network, err)
	_, err = s.Identify(context.Background(), []string{"Bearer eve"}, "192.0.2.0/24")
	fmt.Println(err)
	// Output:
	// 1 192.0.2.0/24 <nil>
	// unauthenticated: this is no token of ours
}
