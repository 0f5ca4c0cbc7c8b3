package main

import (
	"errors"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/poolwright/poolwright/service/web"
)

// server is the service or the console.
type server interface {
	Listen() (net.Listener, error)
	Serve(l net.Listener, signals <-chan os.Signal) error
}

// listenAndServe serves until a signal comes. ready is called when the server listens.
func listenAndServe(s server, ready func(net.Listener) error) error {
	listener, err := s.Listen()
	var address *web.AddressError
	switch {
	case errors.As(err, &address):
		return usage("%v", err)
	case err != nil:
		return err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := ready(listener); err != nil {
		return err
	}
	return s.Serve(listener, signals)
}
