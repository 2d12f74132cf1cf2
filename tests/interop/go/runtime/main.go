// The SDK's runtime with the agents that every scenario of tests/interop knows.
//
//	runtime [--stdio] TOKEN OTHER_TOKEN
//
// Prints "ready URL". Ends with its standard input.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/agentruntimecontrolprotocol/go-sdk/auth"
	"github.com/agentruntimecontrolprotocol/go-sdk/credentials"
	"github.com/agentruntimecontrolprotocol/go-sdk/server"
	"github.com/agentruntimecontrolprotocol/go-sdk/transport"
	"github.com/coder/websocket"
)

const heartbeat = time.Second

// ---- what it serves ----

func newRuntime(token, other string) *server.Server {
	runtime := server.New(server.Options{
		Name:              "interop-go",
		Version:           "1",
		HeartbeatInterval: heartbeat,
		Verifier:          auth.StaticBearer(map[string]string{token: "me", other: "other"}),
		Provisioner:       credentials.NewMemory("cred_"),
	})
	for name, agent := range agents {
		runtime.RegisterAgent(name, agent)
	}
	for _, version := range []string{"1.0.0", "2.0.0"} {
		runtime.RegisterAgentVersion("greet", version, greet(version))
	}
	if err := runtime.SetDefaultAgentVersion("greet", "2.0.0"); err != nil {
		log.Fatal(err)
	}
	return runtime
}

// ---- serving ----

func serve(runtime *server.Server) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	accept := func(response http.ResponseWriter, request *http.Request) {
		connection, err := websocket.Accept(response, request, nil)
		if err != nil {
			return // the response says it
		}
		session := runtime.Accept(request.Context(), transport.NewWebSocket(connection))
		if session != nil {
			log.Print(session)
		}
	}
	fmt.Printf("ready ws://%s/arcp\n", listener.Addr())
	go func() { log.Fatal(http.Serve(listener, http.HandlerFunc(accept))) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func main() {
	words := os.Args[1:]
	isStdio := len(words) == 3 && words[0] == "--stdio"
	if isStdio {
		words = words[1:]
	}
	if len(words) != 2 {
		log.Fatal("usage: runtime [--stdio] TOKEN OTHER_TOKEN")
	}
	runtime := newRuntime(words[0], words[1])
	if isStdio {
		if err := runtime.Accept(context.Background(), transport.NewStdioTransport(os.Stdin, os.Stdout)); err != nil {
			log.Print(err)
		}
	} else {
		serve(runtime)
	}
	if err := runtime.Close(); err != nil {
		log.Fatal(err)
	}
}
