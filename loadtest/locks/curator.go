package locks

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed curator/CuratorBench.java
var curatorSource []byte

const curatorClass = "CuratorBench"

// curatorJars are the paths of the jars on Debian and Ubuntu.
func curatorJars() string {
	var jars []string
	for _, name := range []string{
		"curator-recipes", "curator-framework", "curator-client",
		"zookeeper", "zookeeper-jute", "guava", "slf4j-api", "slf4j-nop",
	} {
		jars = append(jars, filepath.Join("/usr/share/java", name+".jar"))
	}
	return strings.Join(jars, string(filepath.ListSeparator))
}

// compileCurator compiles the Java worker and returns the folder of its classes.
func compileCurator(ctx context.Context, dir string) (string, error) {
	for _, jar := range filepath.SplitList(curatorJars()) {
		if _, err := os.Stat(jar); err != nil {
			return "", fmt.Errorf("%w: install the package libcurator-recipes-java", err)
		}
	}
	javac, err := exec.LookPath("javac")
	if err != nil {
		return "", fmt.Errorf("%w: install the package default-jdk-headless", err)
	}
	source := filepath.Join(dir, curatorClass+".java")
	if err := os.WriteFile(source, curatorSource, 0o644); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, javac, "-cp", curatorJars(), "-d", dir, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("compile %s: %w\n%s", source, err, out)
	}
	return dir, nil
}

func curatorCommand(ctx context.Context, classes string, w Worker) *exec.Cmd {
	classpath := classes + string(filepath.ListSeparator) + curatorJars()
	return exec.CommandContext(ctx, "java", "-Xmx256m", "-cp", classpath, curatorClass, strings.Join(w.Servers, ","),
		w.Path, strconv.Itoa(w.Paths), strconv.Itoa(w.First), strconv.Itoa(w.Goroutines))
}
