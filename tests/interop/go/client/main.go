// The SDK's client through the scenarios of tests/interop.
//
//	client URL TOKEN NAME SCENARIO...
//
// NAME is the client's name. Prints for each scenario one line of JSON: its name,
// whether it works, and if not why, with the last error, else the last frame, that came from the runtime.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	arcp "github.com/agentruntimecontrolprotocol/go-sdk"

	"interop/recorder"
)

const (
	deadline  = 8 * time.Second
	heartbeat = time.Second // of both runtimes
)

// gap is the expectation of a scenario, and what happened instead.
type gap string

func (g gap) Error() string { return string(g) }

func expect(condition bool, format string, arguments ...any) error {
	if condition {
		return nil
	}
	return gap(fmt.Sprintf(format, arguments...))
}

type verdict struct {
	Scenario string `json:"scenario"`
	Works    bool   `json:"works"`
	Why      string `json:"why,omitempty"`
	Frame    any    `json:"frame,omitempty"`
	Remark   string `json:"remark,omitempty"`
}

func why(err error) string {
	var found gap
	switch {
	case errors.As(err, &found):
		return string(found)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("nothing more came in %d s", deadline/time.Second)
	}
	return strings.SplitN(err.Error(), "\n", 2)[0]
}

// shown is the last error that came, else the last frame but pings.
func shown(frames []arcp.Envelope) any {
	var last *arcp.Envelope
	isError := false
	for at := range frames {
		failed := strings.HasSuffix(frames[at].Type, ".error")
		if frames[at].Type != "session.ping" && (failed || !isError) {
			last, isError = &frames[at], failed
		}
	}
	if last == nil {
		return nil
	}
	return recorder.WithoutSecrets(*last)
}

func play(url, token, called, name string) verdict {
	scenario, known := scenarios[name]
	if !known {
		return verdict{Scenario: name, Why: "there is no such scenario"}
	}
	folder, err := os.MkdirTemp("", "arcp-interop-")
	if err != nil {
		return verdict{Scenario: name, Why: err.Error()}
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	f := &fixture{ctx: ctx, url: url, token: token, called: called, folder: folder}
	done := make(chan error, 1)
	go func() { done <- scenario(f) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	frames := f.received("")
	f.openGate() // no agent waits any longer
	f.leave()
	row := verdict{Scenario: name, Works: err == nil, Remark: f.remark()}
	if err != nil {
		row.Why, row.Frame = why(err), shown(frames)
	}
	return row
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: client URL TOKEN NAME SCENARIO...")
		os.Exit(2)
	}
	lines := json.NewEncoder(os.Stdout)
	for _, name := range os.Args[4:] {
		if err := lines.Encode(play(os.Args[1], os.Args[2], os.Args[3], name)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
