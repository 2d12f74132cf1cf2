// The SDK's runtime with the agents that every scenario of tests/interop knows.
//
//	runtime [--stdio] TOKEN OTHER_TOKEN FRAMES
//
// Prints "ready URL". Each frame is added to the file FRAMES, with the name that the client gave
// itself. Ends with its standard input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	arcp "github.com/agentruntimecontrolprotocol/go-sdk"
	"github.com/agentruntimecontrolprotocol/go-sdk/auth"
	"github.com/agentruntimecontrolprotocol/go-sdk/credentials"
	"github.com/agentruntimecontrolprotocol/go-sdk/messages"
	"github.com/agentruntimecontrolprotocol/go-sdk/server"
	"github.com/agentruntimecontrolprotocol/go-sdk/transport"
	"github.com/coder/websocket"

	"interop/recorder"
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

// ---- what is kept of it ----

// frames is the file that every connection's frames are added to.
type frames struct {
	mutex sync.Mutex
	file  io.Writer
}

func (f *frames) add(peer, direction string, frame arcp.Envelope) {
	line, err := json.Marshal(map[string]any{"scenario": peer, "direction": direction,
		"frame": recorder.WithoutSecrets(frame)})
	if err != nil {
		log.Fatal(err)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if _, err := f.file.Write(append(line, '\n')); err != nil {
		log.Fatal(err)
	}
}

func (f *frames) recorded(inner transport.Transport) transport.Transport {
	var mutex sync.Mutex
	peer := ""
	return &recorder.Transport{Transport: inner, OnFrame: func(direction string, frame arcp.Envelope) {
		mutex.Lock()
		defer mutex.Unlock()
		if frame.Type == messages.TypeSessionHello {
			var hello messages.SessionHello
			if frame.DecodePayload(&hello) == nil {
				peer = hello.Client.Name
			}
		}
		f.add(peer, direction, frame)
	}}
}

// ---- serving ----

func serve(runtime *server.Server, kept *frames) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	accept := func(response http.ResponseWriter, request *http.Request) {
		connection, err := websocket.Accept(response, request, nil)
		if err != nil {
			return // the response says it
		}
		session := runtime.Accept(request.Context(), kept.recorded(transport.NewWebSocket(connection)))
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
	isStdio := len(words) == 4 && words[0] == "--stdio"
	if isStdio {
		words = words[1:]
	}
	if len(words) != 3 {
		log.Fatal("usage: runtime [--stdio] TOKEN OTHER_TOKEN FRAMES")
	}
	file, err := os.OpenFile(words[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	runtime := newRuntime(words[0], words[1])
	kept := &frames{file: file}
	if isStdio {
		err := runtime.Accept(context.Background(), kept.recorded(transport.NewStdioTransport(os.Stdin, os.Stdout)))
		if err != nil {
			log.Print(err)
		}
	} else {
		serve(runtime, kept)
	}
	if err := runtime.Close(); err != nil {
		log.Fatal(err)
	}
}
