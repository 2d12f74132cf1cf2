package main

import (
	"crypto/rand"
	"encoding/hex"

	arcp "github.com/agentruntimecontrolprotocol/go-sdk"
)

var scenarios = map[string]func(*fixture) error{
	"hello": hello, "submit": submit, "events": events, "result": result, "error": failure,
	"refusal": refusal, "cancel": cancel, "deadline": maxRuntime, "list": list, "subscribe": subscribe,
	"history": history, "resume": resume, "replay": replay, "ack": ack, "heartbeat": beat,
	"idempotency": idempotency, "budget": budget, "expiry": expiry, "delegation": delegation,
	"chunks":   func(f *fixture) error { return streamed(f, "chunks") },
	"mixed":    func(f *fixture) error { return streamed(f, "mixed") },
	"versions": versions, "credentials": provisioned, "trace": trace, "close": closing,
}

type object = map[string]any

func anyTool() arcp.Lease { return arcp.Lease{arcp.CapToolCall: {"*"}} }

func random(size int) string {
	bytes := make([]byte, size)
	_, _ = rand.Read(bytes)
	return hex.EncodeToString(bytes)
}
