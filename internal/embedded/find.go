package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Binaries says where the engines' programs lie. The zero value looks in the usual places.
type Binaries struct {
	// DynamoDB, S3 and Redis name programs by path; an empty one is looked for.
	DynamoDB, S3, Redis string
	// Root is the directory of the project's sources, which has bin and embedded in it. Empty means the first
	// such directory from the working directory upwards, or else from that of the server's program.
	Root string
}

// ErrMissing is what the errors of [Start] wrap when a program was not found.
var ErrMissing = errors.New("program not found")

func findAll(o Options) ([]program, error) {
	var found []program
	var errs []error
	look := func(wanted bool, p program, named string) {
		if !wanted {
			return
		}
		path, err := p.find(named, o.Binaries.Root)
		if err != nil {
			errs = append(errs, err)
			return
		}
		p.path = path
		if p.name == DynamoDB && !o.InMemory {
			if p.gate, err = findGate(o.Binaries.Root); err != nil {
				errs = append(errs, err)
				return
			}
		}
		found = append(found, p)
	}
	look(o.DynamoDB, dynamoProgram(o.InMemory), o.Binaries.DynamoDB)
	look(o.S3, s3Program(), o.Binaries.S3)
	look(o.Redis, redisProgram(), o.Binaries.Redis)
	return found, errors.Join(errs...)
}

// find returns the absolute path of the program: the one that is named, or else the first that exists.
func (p program) find(named, root string) (string, error) {
	if named != "" {
		path, err := exec.LookPath(named)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return "", fmt.Errorf("the %s engine that %s names cannot be run: %w: %w", p.title, p.binaryVariable, ErrMissing, err)
		}
		return path, nil
	}
	server, working := whereabouts()
	places := p.places(root, server, working)
	for _, path := range places {
		if isProgram(path) {
			return path, nil
		}
	}
	if path, err := exec.LookPath(p.file); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("the %s engine: %w: looked for %s in %s and PATH; run `make engines` to get it, "+
		"or set %s to use another %s (%s names the program if it lies elsewhere)",
		p.title, ErrMissing, p.file, strings.Join(directories(places), ", "), p.endpointVariable, p.title, p.binaryVariable)
}

// findGate returns the absolute path of the program that stands in front of DynamoDB.
func findGate(root string) (string, error) {
	gate := program{name: "gate", file: "taggie-gate"}
	server, working := whereabouts()
	places := gate.places(root, server, working)
	for _, path := range places {
		if isProgram(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("the gate in front of DynamoDB: %w: looked for %s in %s; run `make engines` to get it", ErrMissing, gate.file, strings.Join(directories(places), ", "))
}

// places lists where the program may lie, best first: beside the server, where the build puts it, where npm puts it. The directories
// of the server's program and the working directory are "" where nobody knows them.
func (p program) places(root, server, working string) []string {
	file := p.file + executableSuffix()
	var places []string
	if server != "" {
		places = append(places, filepath.Join(server, file))
	}
	if working != "" {
		places = append(places, filepath.Join(working, "bin", file))
	}
	for _, dir := range []string{working, server} {
		if root == "" && dir != "" {
			root = sourceRoot(dir)
		}
	}
	if root != "" {
		places = append(places, filepath.Join(root, "bin", file))
		if p.npmScope != "" {
			places = append(places, filepath.Join(root, "embedded", p.name, "node_modules", p.npmScope, npmPlatform(runtime.GOOS, runtime.GOARCH), file))
		}
	}
	return places
}

// whereabouts returns the directory of the server's program and the working directory. Where the program was started through a symbolic
// link, the engines are beside what it points to.
func whereabouts() (server, working string) {
	if self, err := os.Executable(); err == nil {
		if file, err := filepath.EvalSymlinks(self); err == nil { // only Linux has done it already
			self = file
		}
		server = filepath.Dir(self)
	}
	working, _ = os.Getwd() // "" with an error
	return server, working
}

// sourceRoot returns the directory of the project's sources that dir lies in, or "". Tests run in the
// directory of their package, so that one has to look upwards; the engines' own modules lie below it.
func sourceRoot(dir string) string {
	for {
		_, errModule := os.Stat(filepath.Join(dir, "go.mod"))
		_, errEngines := os.Stat(filepath.Join(dir, "embedded", "dynamodb", "package.json"))
		if errModule == nil && errEngines == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}

func directories(paths []string) []string {
	var dirs []string
	seen := map[string]bool{}
	for _, path := range paths {
		if dir := filepath.Dir(path); !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func executableSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// npmPlatform spells operating system and processor as npm packages do; embedded/dynamodb/install.mjs does so too.
func npmPlatform(system, processor string) string {
	if system == "windows" {
		system = "win32"
	}
	if processor == "amd64" {
		processor = "x64"
	}
	return system + "-" + processor
}
