// Package tutorial runs the commands of a tutorial as its reader would, so that
// no tutorial says what does not work.
//
// A tutorial is Markdown. Of its fences these count, the others are only read:
//
//	```sh          commands for bash -e; the working directory and exported variables carry over to the next block
//	```sh exit=2   the same, and the last command ends with exit code 2
//	```output      right after a block of commands: all that it prints, stdout and stderr;
//	               a line of ... is any number of lines, and ... in a line any text
//
// What others do between two commands, the controllers of a real cluster above
// all, is a comment that the reader does not see, and a Go function of the test:
//
//	<!-- meanwhile: reconcile -->
package tutorial
