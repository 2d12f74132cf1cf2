package main

import (
	"github.com/agentruntimecontrolprotocol/go-sdk/client"
	"github.com/agentruntimecontrolprotocol/go-sdk/messages"
)

func list(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	listed := map[string]int{}
	var jobs []*client.JobHandle
	for range 3 {
		job, err := f.start(one, "echo", object{})
		if err != nil {
			return err
		}
		if _, err := job.Wait(f.ctx); err != nil {
			return err
		}
		jobs = append(jobs, job)
	}
	request := client.ListJobsRequest{Filter: messages.ListJobsFilter{Agent: "echo"}, Limit: 2}
	for {
		page, err := one.ListJobs(f.ctx, request)
		if err != nil {
			return err
		}
		for _, row := range page.Jobs {
			if row.Status == messages.StatusSuccess {
				listed[row.JobID]++
			}
		}
		if request.Cursor = page.NextCursor; request.Cursor == "" {
			break
		}
	}
	for _, job := range jobs {
		if err := expect(listed[job.ID()] == 1, "a job that ended is listed %d x", listed[job.ID()]); err != nil {
			return err
		}
	}
	return nil
}

// observe follows a job of another session to its end. What it ends with is in a frame: a
// Subscription says only that it ended.
func observe(f *fixture, withHistory bool) error {
	owner, err := f.connect()
	if err != nil {
		return err
	}
	observer, err := f.connect()
	if err != nil {
		return err
	}
	job, err := f.startGated(owner)
	if err != nil {
		return err
	}
	seen, err := observer.Subscribe(f.ctx, job.ID(), client.SubscribeOptions{History: withHistory})
	if err != nil {
		return err
	}
	if err := expect(seen.Replayed() == withHistory, "subscribed with replayed as %v", seen.Replayed()); err != nil {
		return err
	}
	next := uint64(2)
	if withHistory {
		next = 1
	}
	for ; next <= 3; next++ {
		if next == 2 {
			f.openGate()
		}
		if err := f.progress(seen.Events(), next); err != nil {
			return err
		}
	}
	select {
	case <-seen.Done():
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
	if err := seen.Err(); err != nil {
		return err
	}
	return f.alive(observer)
}

func subscribe(f *fixture) error { return observe(f, false) }

func history(f *fixture) error { return observe(f, true) }
