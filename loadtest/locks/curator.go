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

const curatorFile = "CuratorBench.java"

// startCurator starts the Java worker, whose source is in dir.
func startCurator(ctx context.Context, dir string, w Worker) (*Process, error) {
	var jars []string
	for _, name := range []string{
		"curator-recipes", "curator-framework", "curator-client",
		"zookeeper", "zookeeper-jute", "guava", "slf4j-api", "slf4j-nop",
	} {
		jar := filepath.Join("/usr/share/java", name+".jar") // on Debian and Ubuntu
		if _, err := os.Stat(jar); err != nil {
			return nil, fmt.Errorf("%w: install the package libcurator-recipes-java", err)
		}
		jars = append(jars, jar)
	}
	if _, err := exec.LookPath("javac"); err != nil {
		return nil, fmt.Errorf("%w: install the package default-jdk-headless", err)
	}
	return start(exec.CommandContext(ctx, "java", "-Xmx256m", "-cp", strings.Join(jars, string(filepath.ListSeparator)),
		filepath.Join(dir, curatorFile), strings.Join(w.Servers, ","), w.Path, strconv.Itoa(w.Paths),
		strconv.Itoa(w.First), strconv.Itoa(w.Goroutines)))
}
