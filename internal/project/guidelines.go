package project

import (
	"context"
	"strconv"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// MaxGuidelinesBytes is how large the text of guidelines can be.
const MaxGuidelinesBytes = 64 << 10

// Guidelines tell the members of a project how to label. They are kept apart from the project, which is read far more often. The zero value,
// whose version is 0, is that nobody has written any.
type Guidelines struct {
	Project   ID
	Text      string // Markdown
	Version   int
	UpdatedAt time.Time
	UpdatedBy UserID
}

// GuidelinesConflict says that the guidelines are not at the expected version. Current is what they are.
type GuidelinesConflict struct{ Current Guidelines }

// Error says what happened, for people.
func (*GuidelinesConflict) Error() string {
	return "the guidelines are not at the version that was expected: they were changed meanwhile"
}

// GuidelinesStore keeps the guidelines of projects.
type GuidelinesStore interface {
	// GuidelinesOf returns the guidelines of each project, or why they could not be read, in the order of ids; the zero value where there are none. It
	// sees every acknowledged write.
	GuidelinesOf(ctx context.Context, ids []ID) ([]Guidelines, []error)
	// PutGuidelines replaces before by after and records the tasks, on condition that the member is as it was read. *[GuidelinesConflict] when before is not the
	// current version, or the member is another one. It is atomic.
	PutGuidelines(ctx context.Context, m Member, before, after Guidelines, follow []task.Task, once idempotency.Key) error
}

// GuidelinesOf returns the guidelines of each project, or the error, in the order of refs; the zero value where nobody has written any. NotFound for who is
// no member.
func (s *Service) GuidelinesOf(ctx context.Context, refs []Ref[ID]) ([]Guidelines, []error) {
	return byRef(ctx, s, refs, Taggie, "project", s.o.Store.GuidelinesOf, func(*Guidelines, proof) {})
}

// UpdateGuidelines is the input of [Service.UpdateGuidelines].
type UpdateGuidelines struct {
	Project         ID
	Text            string  // at most MaxGuidelinesBytes
	ExpectedVersion *int    // 0 expects that there are none
	IdempotencyKey  *string `json:"-"`
}

// UpdateGuidelines replaces the guidelines of a project, for managers, and tells its members. It returns the guidelines after the change, and
// *[GuidelinesConflict] as an expected outcome. The same text again changes nothing.
func (s *Service) UpdateGuidelines(ctx context.Context, in UpdateGuidelines) (Guidelines, error) {
	// White space around the text is kept: in Markdown it can matter, and the author finds what was sent.
	if _, err := ParseText("input.text", "the text", in.Text); err != nil {
		return Guidelines{}, err
	}
	if len(in.Text) > MaxGuidelinesBytes {
		return Guidelines{}, fault.Invalidf("input.text", "guidelines have at most %d bytes", MaxGuidelinesBytes)
	}
	return once(ctx, s, "updateGuidelines", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Guidelines, error) {
		var me Member
		return domain.Edit[*GuidelinesConflict](s.turns.Until(ctx, string(in.Project)), "these guidelines", func() (Guidelines, error) {
			p, err := s.get(ctx, in.Project, Manager)
			if err != nil {
				return Guidelines{}, err
			}
			me = p.Member
			before, err := domain.First(s.GuidelinesOf(ctx, []Ref[ID]{p.Ref()}))
			if err == nil && in.ExpectedVersion != nil && *in.ExpectedVersion != before.Version {
				err = &GuidelinesConflict{Current: before}
			}
			return before, err
		}, func(before Guidelines) (Guidelines, error) {
			after := before
			if in.Text != before.Text || before.Version == 0 {
				after = Guidelines{Project: in.Project, Text: in.Text, Version: before.Version + 1, UpdatedAt: domain.Later(s.o.Now, before.UpdatedAt), UpdatedBy: me.User}
			}
			err := s.o.Store.PutGuidelines(ctx, me, before, after, s.telling(in.Project, toldGuidelines+strconv.Itoa(after.Version)), key.With(string(in.Project)))
			if err == nil && after.Version != before.Version {
				s.tellGuided(ctx, after)
			}
			return after, err
		})
	}, func(ctx context.Context, _ []string) (Guidelines, error) {
		return domain.Gone(domain.First(s.GuidelinesOf(ctx, []Ref[ID]{{ID: in.Project}})))
	})
}
