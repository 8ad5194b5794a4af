package main

import (
	"github.com/spf13/cobra"
)

func newSecrets() *cobra.Command {
	return &cobra.Command{
		Use:   "secrets DIR FILE=TEXT...",
		Short: "Write files with random passwords and tokens, as docker-compose.yml does when it starts",
		Long: `Write each TEXT to its FILE in a folder of DIR, with $NAME replaced by the secret of that name.

The secret is the value of the variable NAME. If that is not set, it is derived from the random key in DIR/key. If
the key is missing, a new one is written. The secrets stay the same as long as the key does. Every user may read the
files, since images run as different users: keep others away from DIR.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { return writeSecrets(args[0], args[1:]) },
	}
}
