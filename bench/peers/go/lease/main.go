// The lease questions of `make bench-peers`, put to the Go SDK: see bench/peer_lease.c.
//
//	lease FILE MILLISECONDS
//
// Checks are asked where the SDK offers them, inside a job that holds the lease.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	arcp "github.com/agentruntimecontrolprotocol/go-sdk"
	"github.com/agentruntimecontrolprotocol/go-sdk/client"
	"github.com/agentruntimecontrolprotocol/go-sdk/server"
	"github.com/agentruntimecontrolprotocol/go-sdk/transport"
)

type questions struct {
	Leases []struct {
		Name    string
		Lease   arcp.Lease
		Targets []string
	}
	Subsets []struct {
		Name   string
		Parent arcp.Lease
		Child  arcp.Lease
	}
}

// Asks each question once for the answers, then all of them until the time is over.
func measure(name string, count int, patience time.Duration, ask func(at int) bool) {
	yes := 0
	for at := range count {
		if ask(at) {
			yes++
		}
	}
	asked := 0
	began := time.Now()
	taken := time.Duration(0)
	for taken < patience {
		for at := range count {
			ask(at)
		}
		asked += count
		taken = time.Since(began)
	}
	line, err := json.Marshal(map[string]any{
		"name": name, "ns": float64(taken.Nanoseconds()) / float64(asked), "yes": yes})
	must(err)
	fmt.Println(string(line))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: lease FILE MILLISECONDS")
	}
	text, err := os.ReadFile(os.Args[1])
	must(err)
	milliseconds, err := strconv.Atoi(os.Args[2])
	must(err)
	patience := time.Duration(milliseconds) * time.Millisecond
	var asked questions
	must(json.Unmarshal(text, &asked))

	runtime := server.New(server.Options{Name: "go-sdk"})
	runtime.RegisterAgent("lease", func(_ context.Context, input json.RawMessage, job *server.JobContext) (any, error) {
		var row int
		if err := json.Unmarshal(input, &row); err != nil {
			return nil, err
		}
		targets := asked.Leases[row].Targets
		measure(asked.Leases[row].Name, len(targets), patience, func(at int) bool {
			return job.ValidateLeaseOp(arcp.CapFSRead, targets[at]) == nil
		})
		return nil, nil
	})
	ctx := context.Background()
	here, there := transport.NewMemoryPair()
	go func() { _ = runtime.Accept(ctx, there) }()
	session, err := client.Connect(ctx, here, client.Options{ClientName: "bench", ClientVersion: "1", Token: "bench"})
	must(err)
	for row := range asked.Leases {
		job, err := session.Submit(ctx, client.SubmitRequest{Agent: "lease", Input: row, LeaseRequest: asked.Leases[row].Lease})
		must(err)
		_, err = job.Wait(ctx)
		must(err)
	}
	for _, row := range asked.Subsets {
		measure(row.Name, 1, patience, func(int) bool {
			return arcp.IsLeaseSubset(row.Parent, row.Child, nil, nil, nil) == nil
		})
	}
}
