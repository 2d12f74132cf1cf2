// Package recorder records the frames of a connection of the SDK, so that a failure can be shown with its frame.
package recorder

import (
	"context"
	"encoding/json"

	arcp "github.com/agentruntimecontrolprotocol/go-sdk"
	"github.com/agentruntimecontrolprotocol/go-sdk/transport"
)

// Transport calls OnFrame("sent" or "received", frame) for each frame.
type Transport struct {
	transport.Transport
	OnFrame func(direction string, frame arcp.Envelope)
}

func (t *Transport) Send(ctx context.Context, frame arcp.Envelope) error {
	t.OnFrame("sent", frame)
	return t.Transport.Send(ctx, frame)
}

func (t *Transport) Recv(ctx context.Context) (arcp.Envelope, error) {
	frame, err := t.Transport.Recv(ctx)
	if err == nil {
		t.OnFrame("received", frame)
	}
	return frame, err
}

// WithoutSecrets is the frame as JSON, with tokens and the values of credentials masked.
func WithoutSecrets(frame arcp.Envelope) any {
	text, err := json.Marshal(frame)
	var value any
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		return err.Error()
	}
	return masked(value)
}

func masked(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			_, isText := member.(string)
			if isText && (name == "token" || name == "resume_token" || name == "value") {
				value[name] = "..."
			} else {
				value[name] = masked(member)
			}
		}
	case []any:
		for at, member := range value {
			value[at] = masked(member)
		}
	}
	return value
}
