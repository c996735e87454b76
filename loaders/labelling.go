package loaders

import (
	"context"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// labellingLoaders read what the queues of projects say. Their keys are the viewer's own membership in a project, as the project that
// was shown carries it.
type labellingLoaders struct {
	QueueStates *Loader[project.Member, labelling.State]
	Rebuilds    *Loader[project.Member, *labelling.Progress]
	Claims      *Loader[project.Member, []labelling.Claim]
	Online      *Loader[project.Member, []labelling.Online]
	Top         *Loader[TopOf, []labelling.Used]
	Statistics  *Loader[StatisticsOf, labelling.Statistics]
}

// TopOf asks for the words of a project that are used most.
type TopOf struct {
	Viewer project.Member
	Words  labelling.Words
}

// StatisticsOf asks for the statistics of a team.
type StatisticsOf struct {
	Viewer project.Member
	Team   string
}

func newLabellingLoaders(r *response, service *labelling.Service) labellingLoaders {
	return labellingLoaders{
		QueueStates: registerList(r, "queues", func(ctx context.Context, m project.Member) (labelling.State, error) {
			return service.State(ctx, of(m))
		}),
		Rebuilds: registerList(r, "rebuilds", func(ctx context.Context, m project.Member) (*labelling.Progress, error) {
			return service.Rebuilding(ctx, of(m))
		}),
		Claims: registerList(r, "claims", func(ctx context.Context, m project.Member) ([]labelling.Claim, error) {
			return service.Claims(ctx, of(m))
		}),
		Online: registerList(r, "online", func(ctx context.Context, m project.Member) ([]labelling.Online, error) {
			return service.Online(ctx, of(m))
		}),
		Top: registerList(r, "top", func(ctx context.Context, k TopOf) ([]labelling.Used, error) {
			return service.Top(ctx, of(k.Viewer), k.Words)
		}),
		Statistics: register(r, "statistics", func(ctx context.Context, keys []StatisticsOf) ([]labelling.Statistics, []error) {
			return statistics(ctx, service, keys)
		}),
	}
}

// of is the project in which the viewer is a member, as far as the queues need it.
func of(m project.Member) project.Project { return project.Project{ID: m.Project, Member: m} }

// statistics reads those of one project's teams together.
func statistics(ctx context.Context, service *labelling.Service, keys []StatisticsOf) ([]labelling.Statistics, []error) {
	values, errs := make([]labelling.Statistics, len(keys)), make([]error, len(keys))
	at := map[project.Member][]int{}
	for i, k := range keys {
		at[k.Viewer] = append(at[k.Viewer], i)
	}
	for viewer, places := range at {
		teams := make([]string, len(places))
		for n, i := range places {
			teams[n] = keys[i].Team
		}
		all, err := service.Statistics(ctx, of(viewer), teams)
		for n, i := range places {
			if errs[i] = err; err == nil {
				values[i] = all[n]
			}
		}
	}
	return values, errs
}
