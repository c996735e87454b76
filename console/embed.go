// Package console serves the pages that are built from the npm sources beside this file: GraphiQL at /, the live board of
// a project's queue at /board, the notes, files and scores of a user at /desk, a page for whoever comes first at /start, and
// the documentation below /docs/.
//
// It knows files, their types, how long a browser may keep them, and what the pages may do. It must not know the API, who
// is signed in, or any rule of Taggie: the pages ask the server over HTTP like every other client. Start reading at [Handler];
// the pages themselves start in src/main.jsx, src/board/main.tsx, src/desk/main.tsx and start.html.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dist holds only the placeholder .keep until `make console` has built the page; embedding nothing would not compile.
//
//go:embed all:dist
var dist embed.FS

//go:embed unbuilt.html unbuilt.css
var unbuilt embed.FS

// policy is the Content-Security-Policy of GraphiQL, and of every answer that is no page of people. Nothing is loaded from, or sent to, another origin. Scripts and workers
// are files of ours. Styles may be inline, because the Monaco editor writes its theme into <style> elements, and the style
// sheets of GraphiQL and Monaco carry fonts and small pictures as data.
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"font-src 'self' data:; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pages are the files of the pages, and where they are served.
var pages = map[string]string{"index.html": "/", "board.html": "/board", "desk.html": "/desk", "start.html": "/start"}

// strictPolicy is that of all pages but GraphiQL. They need no inline style, but show pictures, sounds and films of items, read texts from the
// bucket and upload files to it.
func strictPolicy(o Options) string {
	pictures := strings.Join(o.Pictures, " ")
	return "default-src 'none'; script-src 'self'; connect-src " + strings.TrimSpace("'self' "+o.Bucket) + "; style-src 'self'; img-src " +
		strings.TrimSpace("'self' data: "+pictures) + "; media-src " + strings.TrimSpace("'self' "+pictures) + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// Options are what the pages need of the server.
type Options struct {
	// Pictures lists the origins from which the pages other than GraphiQL may show pictures, besides our own.
	Pictures []string
	// Bucket is the origin to which these pages may upload files; empty for none.
	Bucket string
	// PathPrefix is the path below which the pages are served, such as "/taggie". It has been removed from requests.
	PathPrefix string
}

// Built reports whether the pages were built before the program was.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html")
	return err == nil
}

// Documents is a manifest of what the board and the desk ask, an object of hashes and texts; nil without built pages.
func Documents() []byte {
	manifest, err := fs.ReadFile(dist, "dist/.documents.json")
	if err != nil {
		return nil
	}
	return manifest
}

// Handler serves the pages at /, /board, /desk and /start, their files and the documentation below /, answers GET and HEAD, and
// knows no other path. Without built
// pages, all of them say how to get them.
func Handler(o Options) http.Handler {
	files, err := fs.Sub(dist, "dist")
	if err == nil {
		_, err = fs.Stat(files, "index.html")
	}
	if err != nil {
		return newHandler(unbuilt, map[string]string{"unbuilt.html": "/"}, o)
	}
	return newHandler(files, pages, o)
}

// newHandler serves all files of a file system that cannot change: the named ones at paths of their own, the others at their names.
func newHandler(files fs.FS, named map[string]string, o Options) http.Handler {
	served := make(map[string]page)
	walk := func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".html" { // what people read; all addresses in the pages are relative
			body = bytes.ReplaceAll(body, []byte("<code>/graphql</code>"), []byte("<code>"+o.PathPrefix+"/graphql</code>"))
		}
		at, found := named[name]
		if !found {
			at = "/" + strings.TrimSuffix(name, ".gz")
		}
		served[at] = newPage(name, body)
		return nil
	}
	if err := fs.WalkDir(files, ".", walk); err != nil {
		// Embedded files are memory: this is a broken build, not a state of the machine.
		panic(fmt.Sprintf("console: read the embedded files: %v", err))
	}
	for _, at := range pages {
		if _, found := served[at]; !found {
			served[at] = served["/"] // which says how to build them
		}
	}
	strict := strictPolicy(o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		if isPage(r.URL.Path) || strings.HasPrefix(r.URL.Path, "/docs/") {
			h.Set("Content-Security-Policy", strict)
		}
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		p, found := served[r.URL.Path]
		switch {
		case !found && isPage(strings.TrimSuffix(r.URL.Path, "/")):
			at := o.PathPrefix + strings.TrimSuffix(r.URL.Path, "/")
			http.Redirect(w, r, (&url.URL{Path: at, RawQuery: r.URL.RawQuery}).String(), http.StatusMovedPermanently)
		case !found:
			http.Error(w, fmt.Sprintf("There is no such page. Begin at %[1]s/start. GraphiQL is at %[1]s/, the board at %[1]s/board, notes, files and scores at %[1]s/desk, the API at %[1]s/graphql.", o.PathPrefix), http.StatusNotFound)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "This page answers GET and HEAD only. The API is at "+o.PathPrefix+"/graphql.", http.StatusMethodNotAllowed)
		default:
			p.serve(w, r)
		}
	})
}

// isPage reports whether a page other than GraphiQL is at the path.
func isPage(path string) bool {
	return path != "/" && slices.Contains(slices.Collect(maps.Values(pages)), path)
}

// page is one file as it is answered.
type page struct {
	body         []byte
	gzipped      bool // body is compressed; clients that do not take it so get it inflated
	contentType  string
	cacheControl string
	etag         string
}

func newPage(name string, body []byte) page {
	name, gzipped := strings.CutSuffix(name, ".gz")
	p := page{body: body, gzipped: gzipped, contentType: contentType(path.Ext(name))}
	if strings.HasPrefix(name, "assets/") {
		// The build puts a hash of the content into the name: what is kept need never be asked for again.
		p.cacheControl = "public, max-age=31536000, immutable"
		return p
	}
	sum := sha256.Sum256(body)
	p.cacheControl, p.etag = "no-cache", `"`+hex.EncodeToString(sum[:12])+`"`
	return p
}

func (p page) serve(w http.ResponseWriter, r *http.Request) {
	body := p.body
	h := w.Header()
	if p.gzipped {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
		} else {
			var err error
			if body, err = inflate(body); err != nil {
				http.Error(w, "This file is broken.", http.StatusInternalServerError)
				return
			}
		}
	}
	h.Set("Content-Type", p.contentType)
	h.Set("Cache-Control", p.cacheControl)
	if p.etag != "" {
		h.Set("ETag", p.etag)
	}
	// ServeContent knows HEAD, ranges and If-None-Match; embedded files have no time.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(quality), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}

func inflate(body []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// contentType has a list of its own: package mime asks files of the machine, which differ.
func contentType(ext string) string {
	switch ext {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ttf":
		return "font/ttf"
	case ".woff2":
		return "font/woff2"
	case ".json":
		return "application/json"
	default:
		return "application/octet-stream"
	}
}
