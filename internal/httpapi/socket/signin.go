package socket

import (
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/viewer"
)

// initialise starts to sign in. Messages are read meanwhile, because a client may ping at any time.
func (s *socket) initialise(m message) {
	authorization, err := readAuthorization(m.Payload)
	if err != nil {
		s.Close(connection.CodeBadMessage, err.Error())
		return
	}
	s.mu.Lock()
	if authorization == nil {
		authorization = s.authorization
	}
	first := s.stage == stageOpened
	if first {
		s.stage = stageSigningIn
	}
	s.mu.Unlock()
	if !first {
		s.Close(connection.CodeSecondInit, "too many connection_init messages")
		return
	}
	go s.guard(func() { s.signIn(authorization) })
}

// signIn finds out whose the socket is, and acknowledges it. Who was deleted gets none: it would not notice that the user was brought back elsewhere.
func (s *socket) signIn(authorization []string) {
	leave, err := s.server.signIns.Enter(s.ctx, s.network)
	if err != nil {
		s.refuse(err)
		return
	}
	defer leave()
	v, err := s.server.options.SignIn.Identify(s.ctx, authorization, s.network)
	if err != nil {
		s.refuse(err)
		return
	}
	if v.Deletion.User != "" {
		s.Close(connection.CodeForbidden, "the user of this token was deleted: bring the user back by POST first")
		return
	}
	who := connection.OwnerOf(v)
	if !s.server.options.Registry.Admit(who) {
		s.Close(connection.CodeLater, "too many sockets of one user are open")
		return
	}
	s.server.options.Registry.Introduce(s)
	s.belongsTo(v)
	// It is in the registry: a revocation from now on finds it there.
	if err := s.server.options.SignIn.Again(s.ctx, v); err != nil {
		s.server.options.Registry.Dismiss(who)
		s.refuse(err)
		return
	}
	s.ready(v, who)
}

// refuse closes the socket of somebody who could not sign in.
func (s *socket) refuse(err error) {
	shown := present.Error(s.ctx, err)
	switch {
	case fault.Is(err, fault.Unauthenticated), fault.Is(err, fault.Forbidden):
		s.Close(connection.CodeForbidden, shown.Message)
	case refusal.CodeOf(shown) == model.ErrorCodeUnavailable, refusal.CodeOf(shown) == model.ErrorCodeExhausted:
		s.Close(connection.CodeLater, shown.Message)
	default:
		s.Close(connection.CodeInternal, shown.Message)
	}
}

// belongsTo makes known whose the socket is, so that a revocation finds it.
func (s *socket) belongsTo(v viewer.Viewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = viewer.With(s.ctx, v)
}

// ready acknowledges the socket of a viewer, which is counted among those of the owner.
func (s *socket) ready(v viewer.Viewer, who connection.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == stageClosing {
		s.server.options.Registry.Dismiss(who)
		return
	}
	s.stage, s.owner, s.admitted, s.expires = stageReady, who, true, v.Identity.ExpiresAt
	s.authorization = nil
	limit := int64(request.MaxBody)
	if v.Anonymous() { // who has nothing to say that is long, and may have many sockets
		limit = admission.BulkyBody
	}
	s.ws.SetReadLimit(limit)
	s.push(outgoing{data: ackMessage(s.expires, connection.PingInterval)})
	s.timer.Reset(connection.UntilTick(s.expires))
}
