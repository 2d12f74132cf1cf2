package main

import (
	"slices"
	"time"

	arcp "github.com/agentruntimecontrolprotocol/go-sdk"
	"github.com/agentruntimecontrolprotocol/go-sdk/client"
	"github.com/agentruntimecontrolprotocol/go-sdk/messages"
)

func hello(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	if err := expect(one.Welcome().Runtime.Name != "", "the welcome names no runtime"); err != nil {
		return err
	}
	if err := expect(one.HasFeature("subscribe"), "subscribe was not negotiated"); err != nil {
		return err
	}
	isDefault := func(agent messages.AgentEntry) bool { return agent.Name == "greet" && agent.Default == "2.0.0" }
	if !slices.ContainsFunc(one.Welcome().Capabilities.Agents, isDefault) {
		return gap("the inventory of agents has no default version")
	}
	if f.isStdio() {
		return nil // a runtime trusts the process that starts it
	}
	_, _, err = f.link("wrong", nil)
	return refused(err, arcp.CodeUnauthenticated)
}

func ack(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	job, err := f.startGated(one)
	if err != nil {
		return err
	}
	if err := one.Ack(f.ctx, one.HighestSeq()); err != nil {
		return err
	}
	f.openGate()
	if err := f.resultsIn(job, "open"); err != nil {
		return err
	}
	return f.alive(one)
}

func beat(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	time.Sleep(5 * heartbeat / 2)
	if err := expect(len(f.received(messages.TypeSessionPing)) != 0, "no ping came"); err != nil {
		return err
	}
	return f.alive(one)
}

func closing(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	other, err := f.connect()
	if err != nil {
		return err
	}
	job, err := f.startGated(one)
	if err != nil {
		return err
	}
	if err := one.Close(f.ctx); err != nil {
		return gap("the close fails: " + err.Error())
	}
	f.openGate()
	return f.until(func() (bool, error) {
		page, err := other.ListJobs(f.ctx, client.ListJobsRequest{Filter: messages.ListJobsFilter{Agent: "gated"}})
		if err != nil {
			return false, err
		}
		at := slices.IndexFunc(page.Jobs, func(row messages.JobInfo) bool { return row.JobID == job.ID() })
		if at < 0 {
			return false, gap("the job is not listed after its session closed")
		}
		status := page.Jobs[at].Status
		return status == messages.StatusSuccess, expect(status == messages.StatusRunning || status == messages.StatusSuccess,
			"the job is %s after its session closed", status)
	})
}

// cutAfterEvents cuts the connection of a job that has sent events; returns the job, the state for a
// resume, and the last event_seq.
func cutAfterEvents(f *fixture) (string, *messages.ResumeRequest, error) {
	one, line, err := f.link(f.token, nil)
	if err != nil {
		return "", nil, err
	}
	job, err := f.startGated(one)
	if err != nil {
		return "", nil, err
	}
	state := &messages.ResumeRequest{SessionID: one.SessionID(), ResumeToken: one.Welcome().ResumeToken,
		LastEventSeq: one.HighestSeq()}
	return job.ID(), state, line.Close()
}

// resumeSession resumes; a runtime may need a moment to notice that a connection is closed.
func resumeSession(f *fixture, state *messages.ResumeRequest) error {
	one, _, err := f.link(f.token, state)
	if err != nil {
		return err
	}
	return expect(one.SessionID() == state.SessionID, "resumed as another session")
}

func upTo(last uint64) []uint64 {
	var numbers []uint64
	for number := uint64(1); number <= last; number++ {
		numbers = append(numbers, number)
	}
	return numbers
}

func resume(f *fixture) error {
	job, state, err := cutAfterEvents(f)
	if err != nil {
		return err
	}
	f.openGate()
	if err := resumeSession(f, state); err != nil {
		return err
	}
	last, err := f.came(messages.TypeJobResult, job)
	if err != nil {
		return err
	}
	numbers := f.numbers("")
	if err := expect(slices.Equal(numbers, upTo(state.LastEventSeq+3)), "the events' numbers were %v", numbers); err != nil {
		return err
	}
	var end messages.JobResult
	if err := last.DecodePayload(&end); err != nil {
		return err
	}
	return expect(string(end.Output) == `"open"`, "the result was %s", end.Output)
}

func replay(f *fixture) error {
	_, state, err := cutAfterEvents(f)
	if err != nil {
		return err
	}
	last := state.LastEventSeq
	state.LastEventSeq = 0
	f.forget()
	if err := resumeSession(f, state); err != nil {
		return err
	}
	err = f.until(func() (bool, error) { return len(f.numbers(messages.TypeJobEvent)) >= int(last), nil })
	if err != nil {
		return err
	}
	numbers := f.numbers(messages.TypeJobEvent)
	return expect(slices.Equal(numbers, upTo(last)), "the events' numbers were %v", numbers)
}
