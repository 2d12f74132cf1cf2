module interop

go 1.25.0

require (
	github.com/agentruntimecontrolprotocol/go-sdk v1.1.0
	github.com/coder/websocket v1.8.15
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/oklog/ulid/v2 v2.1.1 // indirect
)
