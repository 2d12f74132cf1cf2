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

// world is one scenario's connections to one runtime, and every frame that came over them.
type world struct {
	ctx                        context.Context
	url, token, called, folder string

	mutex    sync.Mutex
	frames   []arcp.Envelope
	clients  []*client.Client
	programs []*exec.Cmd
	lost     atomic.Int32 // submits that were accepted, and returned no job
}

func (w *world) gate() string { return filepath.Join(w.folder, "gate") }

func (w *world) openGate() { _ = os.WriteFile(w.gate(), nil, 0o600) }

func (w *world) keep(direction string, frame arcp.Envelope) {
	if direction == "received" {
		w.mutex.Lock()
		w.frames = append(w.frames, frame)
		w.mutex.Unlock()
	}
}

// received has the frames of a type, or all.
func (w *world) received(kind string) []arcp.Envelope {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var found []arcp.Envelope
	for _, frame := range w.frames {
		if kind == "" || frame.Type == kind {
			found = append(found, frame)
		}
	}
	return found
}

func (w *world) forget() {
	w.mutex.Lock()
	w.frames = nil
	w.mutex.Unlock()
}

func (w *world) numbers(kind string) []uint64 {
	var numbers []uint64
	for _, frame := range w.received(kind) {
		if frame.EventSeq != 0 {
			numbers = append(numbers, frame.EventSeq)
		}
	}
	return numbers
}

func (w *world) isStdio() bool { return strings.HasPrefix(w.url, "stdio:") }

func (w *world) dial() (transport.Transport, error) {
	inner, err := w.open()
	if err != nil {
		return nil, err
	}
	return &recorder.Transport{Transport: inner, OnFrame: w.keep}, nil
}

func (w *world) open() (transport.Transport, error) {
	if !w.isStdio() {
		return transport.DialWebSocket(w.ctx, w.url, transport.WebSocketOptions{})
	}
	words := strings.Fields(strings.TrimPrefix(w.url, "stdio:"))
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
	w.mutex.Lock()
	w.programs = append(w.programs, program)
	w.mutex.Unlock()
	return transport.NewStdioTransport(out, in), nil
}

// link connects over a transport that the caller can cut.
func (w *world) link(token string, resume *messages.ResumeRequest) (*client.Client, transport.Transport, error) {
	line, err := w.dial()
	if err != nil {
		return nil, nil, err
	}
	one, err := client.Connect(w.ctx, line, client.Options{ClientName: w.called, ClientVersion: "1", Token: token, Resume: resume})
	if err != nil {
		_ = line.Close()
		return nil, nil, err
	}
	w.mutex.Lock()
	w.clients = append(w.clients, one)
	w.mutex.Unlock()
	return one, line, nil
}

func (w *world) connect() (*client.Client, error) {
	one, _, err := w.link(w.token, nil)
	return one, err
}

func (w *world) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	w.mutex.Lock()
	clients, programs := w.clients, w.programs
	w.mutex.Unlock()
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
func (w *world) first(events <-chan messages.JobEvent, kind, phase string, body any) error {
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
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
}

// progress waits for the next piece of it, which has to have this number.
func (w *world) progress(events <-chan messages.JobEvent, number uint64) error {
	var body messages.ProgressBody
	if err := w.first(events, messages.KindProgress, "", &body); err != nil {
		return err
	}
	return expect(body.Current == number, "progress %d came, %d was next", body.Current, number)
}

func (w *world) endsWith(job *client.JobHandle, code arcp.ErrorCode) error {
	result, err := job.Wait(w.ctx)
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	if err == nil {
		return gap("the job ended as " + result.FinalStatus)
	}
	return expect(arcp.Code(err) == code, "the job ended as %s: %v", arcp.Code(err), err)
}

// resultsIn says whether the job ends well with this result.
func (w *world) resultsIn(job *client.JobHandle, wanted any) error {
	result, err := job.Wait(w.ctx)
	if err != nil {
		return err
	}
	var came any
	if err := json.Unmarshal(result.Output, &came); err != nil {
		return gap("the result was " + string(result.Output))
	}
	return expect(reflect.DeepEqual(came, wanted), "the result was %s", result.Output)
}

// submit does it again when the answer is lost: where a job has ended by the time Submit looks, it
// may return the job's error, or nothing at all, in place of the job.
func (w *world) submit(one *client.Client, request client.SubmitRequest) (*client.JobHandle, error) {
	for {
		accepted := len(w.received(messages.TypeJobAccepted))
		job, err := one.Submit(w.ctx, request)
		wasAccepted := len(w.received(messages.TypeJobAccepted)) > accepted
		if job != nil || !wasAccepted || w.ctx.Err() != nil {
			return job, err
		}
		w.lost.Add(1)
	}
}

func (w *world) remark() string {
	if w.lost.Load() == 0 {
		return ""
	}
	return "a submit of a job that ended at once was accepted and gave no job; it was done again"
}

func (w *world) start(one *client.Client, agent string, input any) (*client.JobHandle, error) {
	return w.submit(one, client.SubmitRequest{Agent: agent, Input: input})
}

// alive says whether the session still serves.
func (w *world) alive(one *client.Client) error {
	job, err := w.start(one, "echo", map[string]any{"alive": true})
	if err != nil {
		return gap("the session does not go on: " + err.Error())
	}
	return w.resultsIn(job, map[string]any{"alive": true})
}

func (w *world) startGated(one *client.Client) (*client.JobHandle, error) {
	job, err := w.start(one, "gated", map[string]any{"gate": w.gate()})
	if err != nil {
		return nil, err
	}
	return job, w.progress(job.Events(), 1)
}

// until asks again and again.
func (w *world) until(done func() (bool, error)) error {
	for {
		ended, err := done()
		if ended || err != nil {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
}

// came waits for a frame of this type of this job.
func (w *world) came(kind, job string) (arcp.Envelope, error) {
	var found arcp.Envelope
	err := w.until(func() (bool, error) {
		for _, frame := range w.received(kind) {
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
