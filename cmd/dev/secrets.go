package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"
)

func secretsCommand() *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Write .env for docker-compose, with a random value for each password and token",
		Long: `Write .env for docker-compose, with a random value for each password and token.

The other settings are those of .env.example. An .env that is there stays as it is: MySQL keeps the passwords
that it was first started with. To begin anew, remove the stack with its data first (docker-compose down -v).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := filepath.Join(root, ".env")
			if err := writeSecrets(filepath.Join(root, ".env.example"), path); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "wrote", path)
			return nil
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "folder of docker-compose.yml")
	return cmd
}

var secret = regexp.MustCompile(`(?m)^(\w+_(?:PASSWORD|TOKEN))=.*$`)

// writeSecrets writes the settings of example to path, which must not exist, for its owner alone. Each secret
// has 130 random bits, in letters and digits.
func writeSecrets(example, path string) (err error) {
	settings, err := os.ReadFile(example)
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and MySQL may have its passwords; to begin anew, run "+
			"\"docker-compose down -v\" and remove it", path)
	}
	if err != nil {
		return fmt.Errorf("write the secrets: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.Write(secret.ReplaceAllFunc(settings, func(line []byte) []byte {
		return fmt.Appendf(nil, "%s=%s", secret.FindSubmatch(line)[1], rand.Text())
	}))
	return err
}
