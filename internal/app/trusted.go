package app

import (
	"errors"
	"os"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/httpapi/document"
)

// LoadServer reads the settings of a server, checks that its certificate can be read, and reads the manifest of the documents that clients' builds know, if there is one. The board,
// whose documents are given, is such a client too.
func LoadServer(environ []string, board []byte) (cfg config.Config, trusted document.Trusted, err error) {
	cfg, err = config.Load(environ, config.Check{Variable: "TAGGIE_TRUSTED_DOCUMENTS", Do: func(c config.Config) (err error) {
		trusted, err = trustedDocuments(c, board)
		return err
	}}, config.Check{Variable: "TAGGIE_TLS_CERT", Do: checkCertificate}, config.Check{Variable: "TAGGIE_ALLOWANCES", Do: func(c config.Config) error { return dynamo.CheckAllowances(allowances(), c.Allowances) }})
	return cfg, trusted, err
}

func trustedDocuments(cfg config.Config, board []byte) (document.Trusted, error) {
	if cfg.TrustedDocuments == "" {
		return document.Trusted{}, nil
	}
	manifest, err := os.ReadFile(cfg.TrustedDocuments)
	if err != nil {
		return document.Trusted{}, errors.New("expected the path of a file that can be read")
	}
	manifests := [][]byte{manifest}
	if board != nil {
		manifests = append(manifests, board)
	}
	return document.ReadTrusted(document.TrustMode(cfg.TrustedMode), manifests...)
}
