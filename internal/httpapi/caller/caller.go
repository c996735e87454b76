// Package caller knows who calls: by what name, and from which network, as far as proxies that are trusted say so.
//
// It knows viewers, addresses and the headers of proxies. It must not know GraphQL, budgets or limits, which only need the name. Start
// reading at [Name].
package caller

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/taggie/taggie/internal/viewer"
)

// Name returns the name of a caller in budgets, and wherever else callers are told apart. All who are anonymous and of one network are one.
func Name(v viewer.Viewer) string {
	switch {
	case v.UserID != "":
		return "user:" + string(v.UserID)
	case v.Identity.Subject != "":
		sum := sha256.Sum256([]byte(v.Identity.Issuer + "\x00" + v.Identity.Subject))
		return "subject:" + hex.EncodeToString(sum[:16])
	}
	return "network:" + v.Network
}
