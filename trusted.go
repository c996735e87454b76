package main

import (
	"errors"
	"os"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/httpapi"
)

// loadServer reads the settings of a server, and the manifest of the documents that clients' builds know, if there is one.
func loadServer(environ []string) (cfg config.Config, trusted httpapi.Trusted, err error) {
	cfg, err = config.Load(environ, config.Check{Variable: "TAGGIE_TRUSTED_DOCUMENTS", Do: func(c config.Config) (err error) {
		trusted, err = trustedDocuments(c)
		return err
	}})
	return cfg, trusted, err
}

func trustedDocuments(cfg config.Config) (httpapi.Trusted, error) {
	if cfg.TrustedDocuments == "" {
		return httpapi.Trusted{}, nil
	}
	manifest, err := os.ReadFile(cfg.TrustedDocuments)
	if err != nil {
		return httpapi.Trusted{}, errors.New("expected the path of a file that can be read")
	}
	return httpapi.ReadTrusted(manifest, httpapi.TrustMode(cfg.TrustedMode))
}
