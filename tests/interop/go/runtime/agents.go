package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	arcp "github.com/agentruntimecontrolprotocol/go-sdk"
	"github.com/agentruntimecontrolprotocol/go-sdk/server"
)

var agents = map[string]server.AgentFunc{
	"echo": echo, "mirror": mirror, "kinds": kinds, "fails": fails, "waits": waits, "gated": gated, "spends": spends,
	"delegates": delegates, "chunks": chunks, "mixed": mixed,
}

func echo(_ context.Context, input json.RawMessage, job *server.JobContext) (any, error) {
	job.Log(slog.LevelInfo, "echo")
	return input, nil
}

func mirror(_ context.Context, input json.RawMessage, _ *server.JobContext) (any, error) {
	return input, nil
}

// A vendor's kind is missing: JobContext has no way to emit one.
func kinds(_ context.Context, _ json.RawMessage, job *server.JobContext) (any, error) {
	job.Log(slog.LevelWarn, "a log")
	job.Thought("a thought")
	call := job.ToolCall("search", map[string]string{"q": "x"})
	job.ToolResult(call, 3)
	job.Status("halfway", "a status")
	job.Metric("tokens.in", 12, "tokens", nil)
	job.Progress(1, 2, "pages", "a page")
	job.ArtifactRef("file:///a.txt", "text/plain", 0, "")
	return nil, nil
}

func fails(context.Context, json.RawMessage, *server.JobContext) (any, error) {
	return nil, arcp.ErrInvalidRequest.WithMessage("the input is odd")
}

func waits(ctx context.Context, _ json.RawMessage, job *server.JobContext) (any, error) {
	job.Status("waiting", "")
	<-ctx.Done()
	return nil, ctx.Err()
}

// Some progress, then the rest once the file `gate` is there.
func gated(ctx context.Context, input json.RawMessage, job *server.JobContext) (any, error) {
	var asked struct {
		Gate string `json:"gate"`
	}
	if err := json.Unmarshal(input, &asked); err != nil {
		return nil, arcp.ErrInvalidRequest.WithMessage(err.Error())
	}
	job.Progress(1, 3, "", "")
	for {
		if _, err := os.Stat(asked.Gate); err == nil {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	job.Progress(2, 3, "", "")
	job.Progress(3, 3, "", "")
	return "open", nil
}

func spends(_ context.Context, _ json.RawMessage, job *server.JobContext) (any, error) {
	for range 2 {
		if err := job.ValidateLeaseOp(arcp.CapToolCall, "search"); err != nil {
			return nil, err
		}
		job.Metric("cost.search", 0.6, "USD", nil)
	}
	if err := job.ValidateLeaseOp(arcp.CapToolCall, "search"); err != nil {
		return nil, err
	}
	return "not stopped", nil
}

func delegates(context.Context, json.RawMessage, *server.JobContext) (any, error) {
	return nil, arcp.ErrInvalidRequest.WithMessage("the SDK's agents have no way to start a child job")
}

func chunks(_ context.Context, _ json.RawMessage, job *server.JobContext) (any, error) {
	stream, err := job.StreamResult("base64")
	if err != nil {
		return nil, err
	}
	for _, part := range []string{"one ", "two \xff ", "three"} {
		if _, err := stream.Write([]byte(part)); err != nil {
			return nil, err
		}
	}
	return nil, stream.Close()
}

func mixed(context.Context, json.RawMessage, *server.JobContext) (any, error) {
	return nil, arcp.ErrInvalidRequest.WithMessage("a stream of the SDK's agents has one encoding")
}

func greet(version string) server.AgentFunc {
	return func(context.Context, json.RawMessage, *server.JobContext) (any, error) {
		return "hello from " + version, nil
	}
}
