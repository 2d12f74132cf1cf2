package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	arcp "github.com/agentruntimecontrolprotocol/go-sdk"
	"github.com/agentruntimecontrolprotocol/go-sdk/client"
	"github.com/agentruntimecontrolprotocol/go-sdk/messages"
	"github.com/agentruntimecontrolprotocol/go-sdk/transport"

	"interop/recorder"
)

// fixture is one scenario's connections to one runtime, and every frame that came over them.
type fixture struct {
	ctx                        context.Context
	url, token, called, folder string

	mutex    sync.Mutex
	frames   []arcp.Envelope
	clients  []*client.Client
	programs []*exec.Cmd
	lost     atomic.Int32 // submits that were accepted, and returned no job
}

func (f *fixture) gate() string { return filepath.Join(f.folder, "gate") }

func (f *fixture) openGate() { _ = os.WriteFile(f.gate(), nil, 0o600) }

func (f *fixture) keep(direction string, frame arcp.Envelope) {
	if direction == "received" {
		f.mutex.Lock()
		f.frames = append(f.frames, frame)
		f.mutex.Unlock()
	}
}

// received has the frames of a type, or all.
func (f *fixture) received(kind string) []arcp.Envelope {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var found []arcp.Envelope
	for _, frame := range f.frames {
		if kind == "" || frame.Type == kind {
			found = append(found, frame)
		}
	}
	return found
}

func (f *fixture) forget() {
	f.mutex.Lock()
	f.frames = nil
	f.mutex.Unlock()
}

func (f *fixture) numbers(kind string) []uint64 {
	var numbers []uint64
	for _, frame := range f.received(kind) {
		if frame.EventSeq != 0 {
			numbers = append(numbers, frame.EventSeq)
		}
	}
	return numbers
}

func (f *fixture) isStdio() bool { return strings.HasPrefix(f.url, "stdio:") }

func (f *fixture) dial() (transport.Transport, error) {
	inner, err := f.open()
	if err != nil {
		return nil, err
	}
	return &recorder.Transport{Transport: inner, OnFrame: f.keep}, nil
}

func (f *fixture) open() (transport.Transport, error) {
	if !f.isStdio() {
		return transport.DialWebSocket(f.ctx, f.url, transport.WebSocketOptions{})
	}
	words := strings.Fields(strings.TrimPrefix(f.url, "stdio:"))
	program := exec.Command(words[0], words[1:]...)
	program.Stderr = os.Stderr
	in, err := program.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := program.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := program.Start(); err != nil {
		return nil, err
	}
	f.mutex.Lock()
	f.programs = append(f.programs, program)
	f.mutex.Unlock()
	return transport.NewStdioTransport(out, in), nil
}

// link connects over a transport that the caller can cut.
func (f *fixture) link(token string, resume *messages.ResumeRequest) (*client.Client, transport.Transport, error) {
	line, err := f.dial()
	if err != nil {
		return nil, nil, err
	}
	one, err := client.Connect(f.ctx, line, client.Options{ClientName: f.called, ClientVersion: "1", Token: token, Resume: resume})
	if err != nil {
		_ = line.Close()
		return nil, nil, err
	}
	f.mutex.Lock()
	f.clients = append(f.clients, one)
	f.mutex.Unlock()
	return one, line, nil
}

func (f *fixture) connect() (*client.Client, error) {
	one, _, err := f.link(f.token, nil)
	return one, err
}

func (f *fixture) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	f.mutex.Lock()
	clients, programs := f.clients, f.programs
	f.mutex.Unlock()
	closed := make(chan struct{})
	go func() {
		for _, one := range clients {
			_ = one.Close(ctx)
		}
		for _, program := range programs {
			_ = program.Wait()
		}
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		for _, program := range programs {
			_ = program.Process.Kill()
		}
	}
}

// ---- jobs ----

// first is the next event of this kind; a status is asked for by its phase.
func (f *fixture) first(events <-chan messages.JobEvent, kind, phase string, body any) error {
	for {
		select {
		case event, open := <-events:
			if !open {
				return gap("the job ended without a " + kind + " event")
			}
			var status messages.StatusBody
			if event.Kind != kind || (phase != "" && (json.Unmarshal(event.Body, &status) != nil || status.Phase != phase)) {
				continue
			}
			if body == nil {
				return nil
			}
			return json.Unmarshal(event.Body, body)
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
	}
}

// progress waits for the next piece of it, which has to have this number.
func (f *fixture) progress(events <-chan messages.JobEvent, number uint64) error {
	var body messages.ProgressBody
	if err := f.first(events, messages.KindProgress, "", &body); err != nil {
		return err
	}
	return expect(body.Current == number, "progress %d came, %d was next", body.Current, number)
}

func (f *fixture) endsWith(job *client.JobHandle, code arcp.ErrorCode) error {
	result, err := job.Wait(f.ctx)
	if f.ctx.Err() != nil {
		return f.ctx.Err()
	}
	if err == nil {
		return gap("the job ended as " + result.FinalStatus)
	}
	return expect(arcp.Code(err) == code, "the job ended as %s: %v", arcp.Code(err), err)
}

// resultsIn reports whether the job succeeds with this result.
func (f *fixture) resultsIn(job *client.JobHandle, wanted any) error {
	result, err := job.Wait(f.ctx)
	if err != nil {
		return err
	}
	var came any
	if err := json.Unmarshal(result.Output, &came); err != nil {
		return gap("the result was " + string(result.Output))
	}
	return expect(reflect.DeepEqual(came, wanted), "the result was %s", result.Output)
}

// submit repeats the request when the response is lost: if a job has ended before Submit reads it, it
// may return the job's error, or nothing at all, in place of the job.
func (f *fixture) submit(one *client.Client, request client.SubmitRequest) (*client.JobHandle, error) {
	for {
		accepted := len(f.received(messages.TypeJobAccepted))
		job, err := one.Submit(f.ctx, request)
		wasAccepted := len(f.received(messages.TypeJobAccepted)) > accepted
		if job != nil || !wasAccepted || f.ctx.Err() != nil {
			return job, err
		}
		f.lost.Add(1)
	}
}

func (f *fixture) remark() string {
	if f.lost.Load() == 0 {
		return ""
	}
	return "a submit of a job that ended at once was accepted and gave no job; it was done again"
}

func (f *fixture) start(one *client.Client, agent string, input any) (*client.JobHandle, error) {
	return f.submit(one, client.SubmitRequest{Agent: agent, Input: input})
}

// alive reports whether the session still works.
func (f *fixture) alive(one *client.Client) error {
	job, err := f.start(one, "echo", map[string]any{"alive": true})
	if err != nil {
		return gap("the session does not go on: " + err.Error())
	}
	return f.resultsIn(job, map[string]any{"alive": true})
}

func (f *fixture) startGated(one *client.Client) (*client.JobHandle, error) {
	job, err := f.start(one, "gated", map[string]any{"gate": f.gate()})
	if err != nil {
		return nil, err
	}
	return job, f.progress(job.Events(), 1)
}

// until repeats a check.
func (f *fixture) until(done func() (bool, error)) error {
	for {
		ended, err := done()
		if ended || err != nil {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
	}
}

// came waits for a frame of this type of this job.
func (f *fixture) came(kind, job string) (arcp.Envelope, error) {
	var found arcp.Envelope
	err := f.until(func() (bool, error) {
		for _, frame := range f.received(kind) {
			if frame.JobID == job {
				found = frame
				return true, nil
			}
		}
		return false, nil
	})
	return found, err
}

func refused(err error, code arcp.ErrorCode) error {
	if err == nil {
		return gap("not refused as " + string(code))
	}
	var said *arcp.Error
	if !errors.As(err, &said) {
		return err
	}
	return expect(said.Code == code, "refused as %s instead of %s: %v", said.Code, code, err)
}
