package main

import (
	"fmt"
	"os"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/httpapi"
)

// trustedDocuments reads the manifest of the documents that clients' builds know, if there is one.
func trustedDocuments(cfg config.Config) (httpapi.Trusted, error) {
	if cfg.TrustedDocuments == "" {
		return httpapi.Trusted{}, nil
	}
	manifest, err := os.ReadFile(cfg.TrustedDocuments)
	if err != nil {
		return httpapi.Trusted{}, fmt.Errorf("TAGGIE_TRUSTED_DOCUMENTS: %w", err)
	}
	trusted, err := httpapi.ReadTrusted(manifest, httpapi.TrustMode(cfg.TrustedMode))
	if err != nil {
		return httpapi.Trusted{}, fmt.Errorf("TAGGIE_TRUSTED_DOCUMENTS: %w", err)
	}
	return trusted, nil
}
