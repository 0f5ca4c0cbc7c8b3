package controller

import (
	"context"
	"sync"
	"time"
)

const (
	// workers are at as many objects at the same time.
	workers = 4
	// patience is how long an object has a worker's place. One that takes longer, because its device does not answer
	// or has terabytes to be erased, goes on and gives its place to another.
	patience = 30 * time.Second
)

// work has workers carry out what the queue hands out, until ctx ends. What they are at then is left to end, or
// to be gone on with by the next agent.
func (c *Controller) work(ctx context.Context) error {
	places := make(chan struct{}, workers)
	for {
		key, err := c.queue.Next(ctx)
		if err != nil {
			return nil // it was ended
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		leave := sync.OnceFunc(func() { <-places })
		go func() {
			slow := time.AfterFunc(patience, leave)
			c.handle(ctx, key)
			slow.Stop()
			c.queue.Done(key)
			leave()
			if c.queue.Empty() && len(places) == 0 {
				c.rest()
			}
		}()
	}
}

// rest gives back what only work needs.
func (c *Controller) rest() {
	c.Engine.Forget()
	c.Engine.Host.Apart.Rest()
	if c.Rest != nil {
		c.Rest()
	}
}
