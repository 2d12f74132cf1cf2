package main

import (
	"encoding/json"
	"reflect"
	"slices"

	arcp "github.com/agentruntimecontrolprotocol/go-sdk"
	"github.com/agentruntimecontrolprotocol/go-sdk/client"
	"github.com/agentruntimecontrolprotocol/go-sdk/messages"
)

func submit(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	lease := arcp.Lease{arcp.CapFSRead: {"/srv/**"}}
	job, err := f.submit(one, client.SubmitRequest{Agent: "echo", Input: object{"n": 1.0}, LeaseRequest: lease})
	if err != nil {
		return err
	}
	if err := expect(job.ID() != "" && job.Accepted().Agent == "echo", "accepted as %q", job.Accepted().Agent); err != nil {
		return err
	}
	if err := expect(reflect.DeepEqual(job.Accepted().Lease, lease), "the lease became %v", job.Accepted().Lease); err != nil {
		return err
	}
	return f.resultsIn(job, object{"n": 1.0})
}

func events(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	job, err := f.submit(one, client.SubmitRequest{Agent: "kinds", LeaseRequest: anyTool()})
	if err != nil {
		return err
	}
	var kinds []string
	var call messages.ToolCallBody
	var metric messages.MetricBody
	for event := range job.Events() {
		var status messages.StatusBody
		switch event.Kind {
		case messages.KindStatus:
			if json.Unmarshal(event.Body, &status) == nil && status.Phase == "running" {
				continue
			}
		case messages.KindToolCall:
			err = json.Unmarshal(event.Body, &call)
		case messages.KindMetric:
			err = json.Unmarshal(event.Body, &metric)
		}
		if err != nil {
			return err
		}
		kinds = append(kinds, event.Kind)
	}
	if _, err := job.Wait(f.ctx); err != nil {
		return err
	}
	wanted := []string{"log", "thought", "tool_call", "tool_result", "status", "metric", "progress", "artifact_ref",
		"x-vendor.acme.note"}
	if err := expect(slices.Equal(kinds, wanted), "the events were %v", kinds); err != nil {
		return err
	}
	if err := expect(string(call.Args) == `{"q":"x"}` || string(call.Args) == `{"q": "x"}`, "tool_call came with %s", call.Args); err != nil {
		return err
	}
	return expect(metric.Value == 12, "metric came with %v", metric.Value)
}

func result(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	value := object{"text": "gr\u00fc\u00dfe \U0001f600\n", "nested": []any{1.0, -2.5, nil, object{"deep": []any{true}}}}
	job, err := f.start(one, "echo", value)
	if err != nil {
		return err
	}
	return f.resultsIn(job, value)
}

func failure(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	job, err := f.start(one, "fails", nil)
	if err != nil {
		return err
	}
	if err := f.endsWith(job, arcp.CodeInvalidRequest); err != nil {
		return err
	}
	return f.alive(one)
}

func refusal(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	_, err = f.start(one, "nobody", nil)
	if err := refused(err, arcp.CodeAgentNotAvailable); err != nil {
		return err
	}
	return f.alive(one)
}

func cancel(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	job, err := f.start(one, "waits", nil)
	if err != nil {
		return err
	}
	if err := f.first(job.Events(), messages.KindStatus, "waiting", nil); err != nil {
		return err
	}
	if err := job.Cancel(f.ctx, "enough"); err != nil {
		return err
	}
	if err := f.endsWith(job, arcp.CodeCancelled); err != nil {
		return err
	}
	return f.alive(one)
}

func maxRuntime(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	job, err := f.submit(one, client.SubmitRequest{Agent: "waits", MaxRuntimeSec: 1})
	if err != nil {
		return err
	}
	if err := f.endsWith(job, arcp.CodeTimeout); err != nil {
		return err
	}
	return f.alive(one)
}

func idempotency(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	// With an agent that waits for its gate: an answer that is lost would be another key's.
	request := client.SubmitRequest{Agent: "gated", Input: object{"gate": f.gate()}, IdempotencyKey: random(8)}
	first, err := one.Submit(f.ctx, request)
	if err != nil {
		return err
	}
	f.openGate()
	if err := f.resultsIn(first, "open"); err != nil {
		return err
	}
	again, err := one.Submit(f.ctx, request)
	if err != nil {
		return err
	}
	if err := expect(again.ID() == first.ID(), "another job was started"); err != nil {
		return err
	}
	if err := f.resultsIn(again, "open"); err != nil {
		return err
	}
	request.Input = object{"gate": "another"}
	_, err = one.Submit(f.ctx, request)
	if err := refused(err, arcp.CodeDuplicateKey); err != nil {
		return err
	}
	return f.alive(one)
}

func streamed(f *fixture, agent string) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	job, err := f.start(one, agent, nil)
	if err != nil {
		return err
	}
	const whole = "one two \xff three"
	bytes, err := job.CollectChunks(f.ctx)
	if err != nil {
		return err
	}
	came, err := job.Wait(f.ctx)
	if err != nil {
		return err
	}
	if err := expect(string(bytes) == whole, "the chunks are %q", bytes); err != nil {
		return err
	}
	return expect(came.ResultSize == uint64(len(whole)), "the result's size came as %d", came.ResultSize)
}

func versions(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	for asked, got := range map[string]string{"greet": "2.0.0", "greet@1.0.0": "1.0.0"} {
		job, err := f.start(one, asked, nil)
		if err != nil {
			return err
		}
		if err := expect(job.Accepted().Agent == "greet@"+got, "%s was accepted as %s", asked, job.Accepted().Agent); err != nil {
			return err
		}
		if err := f.resultsIn(job, "hello from "+got); err != nil {
			return err
		}
	}
	_, err = f.start(one, "greet@9.0.0", nil)
	return refused(err, arcp.CodeAgentVersionNotAvailable)
}

func trace(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	wanted := random(16)
	job, err := f.submit(one, client.SubmitRequest{Agent: "echo", TraceID: wanted})
	if err != nil {
		return err
	}
	if _, err := job.Wait(f.ctx); err != nil {
		return err
	}
	for _, frame := range f.received("") {
		if frame.JobID != "" && frame.TraceID != wanted {
			return gap("a frame of the job has the trace " + frame.TraceID)
		}
	}
	return nil
}
