package providers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// maxFile bounds what is read of one file.
const maxFile = 1 << 20

// paths are those that may be read, with links followed; nil: all.
type paths []string

func allowed(params map[string]string) (paths, error) {
	list := params["allowed.paths"]
	var out paths
	for p := range strings.SplitSeq(list, ",") {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("allowed.paths: %s is not an absolute path", p)
		}
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			return nil, fmt.Errorf("allowed.paths: following %s: %w", p, err)
		}
		out = append(out, real)
	}
	return out, nil
}

// read gives a file's content.
func (a paths) read(path string) (string, error) {
	if path == "" {
		return "", errors.New("it names no path: write ${provider:path:key}")
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return "", fmt.Errorf("following %s: %w", path, err)
	}
	if !a.hold(real) {
		return "", fmt.Errorf("%s is outside the provider's allowed.paths", path)
	}
	st, err := os.Stat(real)
	switch {
	case err != nil:
		return "", err
	case !st.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", path)
	case st.Size() > maxFile:
		return "", fmt.Errorf("%s has %d bytes, and %d are the most that is read", path, st.Size(), maxFile)
	}
	b, err := os.ReadFile(real)
	return string(b), err
}

func (a paths) hold(real string) bool {
	if a == nil {
		return true
	}
	for _, p := range a {
		if real == p || strings.HasPrefix(real, strings.TrimSuffix(p, "/")+"/") {
			return true
		}
	}
	return false
}

// file is Kafka's FileConfigProvider: path is a properties file, key a key of it.
type file struct{ allowed paths }

func (f file) get(path, key string) (string, error) {
	text, err := f.allowed.read(path)
	if err != nil {
		return "", err
	}
	props, err := Properties(text)
	if err != nil {
		return "", fmt.Errorf("%s, %w", path, err)
	}
	v, ok := props[key]
	if !ok {
		return "", fmt.Errorf("%s has no key %s", path, key)
	}
	return v, nil
}

// folder is Kafka's DirectoryConfigProvider: path is a folder, key the name of a file in it, whose content is the value.
type folder struct{ allowed paths }

func (f folder) get(path, key string) (string, error) {
	if path == "" || key == "" || key != filepath.Base(key) || key == ".." || key == "." {
		return "", errors.New("it must name a folder and a file in it, ${provider:folder:file}")
	}
	return f.allowed.read(filepath.Join(path, key))
}

// env is Kafka's EnvVarConfigProvider: key is the name of a variable, and there is no path.
type env struct{ allowed *regexp.Regexp }

func newEnv(params map[string]string) (provider, error) {
	pattern, ok := params["allowlist.pattern"]
	if !ok {
		return env{}, nil
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("allowlist.pattern: %w", err)
	}
	return env{re}, nil
}

func (e env) get(path, key string) (string, error) {
	switch {
	case path != "":
		return "", errors.New("a variable of the environment has no path: write ${provider:NAME}")
	case e.allowed != nil && !e.allowed.MatchString(key):
		return "", fmt.Errorf("the provider's allowlist.pattern does not let %s through", key)
	}
	v, ok := os.LookupEnv(key)
	if !ok {
		return "", fmt.Errorf("the worker's environment has no variable %s", key)
	}
	return v, nil
}
