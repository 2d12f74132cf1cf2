// A runtime of the Go SDK for `make bench-peers`: the agents of bench/peer_host.c.
//
// Prints "ready URL" and serves until it is ended. Everything is as the SDK comes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/agentruntimecontrolprotocol/go-sdk/auth"
	"github.com/agentruntimecontrolprotocol/go-sdk/middleware/nethttp"
	"github.com/agentruntimecontrolprotocol/go-sdk/server"
)

const messageBytes = 64

func bench(_ context.Context, input json.RawMessage, job *server.JobContext) (any, error) {
	var asked struct {
		Events int `json:"events"`
	}
	if err := json.Unmarshal(input, &asked); err != nil {
		return nil, err
	}
	for at := range asked.Events {
		text := fmt.Sprintf("%d ", at)
		job.Log(slog.LevelInfo, text+strings.Repeat(".", messageBytes-len(text)))
	}
	return asked.Events, nil
}

func quick(context.Context, json.RawMessage, *server.JobContext) (any, error) {
	return 0, nil
}

func main() {
	runtime := server.New(server.Options{
		Name:     "go-sdk",
		Verifier: auth.StaticBearer(map[string]string{"bench": "bench"}),
	})
	runtime.RegisterAgent("bench", bench)
	runtime.RegisterAgent("quick", quick)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ready ws://%s/arcp\n", listener.Addr())
	log.Fatal(http.Serve(listener, nethttp.NewHandler(runtime, nethttp.Options{})))
}
