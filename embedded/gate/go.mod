module github.com/taggie/taggie/embedded/gate

go 1.26.0
