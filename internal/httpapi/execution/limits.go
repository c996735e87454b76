package execution

import (
	"github.com/taggie/taggie/internal/lean"
	"github.com/taggie/taggie/internal/limit"
)

const (
	maxErrors = 20       // in one answer
	maxAnswer = 64 << 20 // bytes of the parts of an answer together; internal/lean bounds each while it is written
)

// Limits are those of answers.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Size, all parts together", Of: "an answer", Most: limit.Bytes(min(maxAnswer, lean.MaxAnswer)), Code: limit.Exhausted},
		{What: "Errors that are told", Of: "an answer", Most: limit.Count(maxErrors), Then: "counted in `extensions.omittedErrors`"},
	}
}
