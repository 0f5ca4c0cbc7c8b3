package main

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/console"
	"github.com/poolwright/poolwright/service"
	"github.com/poolwright/poolwright/terminal"
)

const consoleLong = `Serve pages about the package DIR to a browser on this machine: what waits for a person, the
state of each spec, disks and why they may not be used, volumes and volume groups with their
room, pools, the plan, what a loss would do, and the history. The inventory of the package is
the state of the cluster: no cluster is read.

Forms create, change and delete specs. Each is previewed with its difference, plan and risk.
Each write is one commit on the current branch, with the spec and what it renders; it is never
pushed. What is staged stays staged. Without a Git work tree, a branch or an author, pages are
shown, and nothing is written.

On stdout is one line, the link that signs a browser in. Its token holds until the process
ends. A browser stays signed in for 8 hours. The files and the commit are read again when
they change.

The same is at /api/v1 for programs, with the token as a bearer token; /openapi.json
describes it.

Exit codes: 0 after a signal; 1 a failure, such as a port that is in use; 2 bad usage.`

const consoleExample = `  # Open the package of this folder in a browser
  poolwright console --open

  # The same for a program
  curl -H "Authorization: Bearer $TOKEN" 'http://127.0.0.1:8081/api/v1/disks?q=free&sort=-size'`

type consoleFlags struct {
	console.Config
	author string
	open   bool
}

func newConsole(s program) *cobra.Command {
	var f consoleFlags
	cmd := &cobra.Command{
		Use:               "console [DIR]",
		Short:             "Serve pages about a package to a browser",
		Long:              consoleLong,
		Example:           consoleExample,
		Args:              atMost(1, "console takes one DIR"),
		ValidArgsFunction: folders,
		RunE: func(_ *cobra.Command, args []string) error {
			f.Dir = dirArg(args)
			var err error
			if f.Author, err = authorOf(f.author); err != nil {
				return err
			}
			return runConsole(s, &f)
		},
	}
	cmd.Flags().StringVar(&f.Listen, "listen", "127.0.0.1:8081", "where to listen on this machine, HOST:PORT; port 0 is any free one")
	cmd.Flags().BoolVar(&f.open, "open", false, "open the link in the browser of the desktop")
	cmd.Flags().StringVar(&f.author, "author", "", `"NAME <EMAIL>" of the commits (default user.name and user.email of Git)`)
	complete(s, cmd, "listen")
	complete(s, cmd, "author")
	return cmd
}

// consoleGrowth is by how many percent the memory of a console grows between two collections: it runs long, and most of
// what it makes for a page is needed once.
const consoleGrowth = 30

func runConsole(s program, f *consoleFlags) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(consoleGrowth)
	}
	f.Function, f.Version, f.Log = s.function, thisBuild().Version, service.NewLog(s.err, "text")
	server, err := console.New(f.Config)
	if err != nil {
		return err
	}
	return listenAndServe(server, func(l net.Listener) error {
		link := server.Login(l)
		_, err := terminal.Println(s.out, link)
		if err == nil && f.open {
			openBrowser(s, link)
		}
		return err
	})
}

// openBrowser opens a link as the desktop does. The link is printed already, so that a failure is only reported.
func openBrowser(s program, link string) {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	cmd := exec.Command(program, link)
	if err := cmd.Start(); err != nil {
		terminal.Printf(s.err, "the link cannot be opened: %v; open it yourself\n", err)
		return
	}
	go func() { _ = cmd.Wait() }()
}
