// Records the frames of a connection of the SDK, so that a failure can be shown with its frame.

const SECRETS = new Set(["token", "resume_token", "value"]);

/** The frame with tokens and the values of credentials masked. */
export function withoutSecrets(frame) {
  return JSON.parse(JSON.stringify(frame ?? null, (name, member) =>
    SECRETS.has(name) && typeof member === "string" ? "..." : member));
}

/** A transport that calls `onReceived` with each frame that comes. */
export class Recorder {
  constructor(transport, onReceived) {
    this.transport = transport;
    this.onReceived = onReceived;
  }

  get closed() {
    return this.transport.closed;
  }

  send(frame) {
    return this.transport.send(frame);
  }

  onFrame(handler) {
    this.transport.onFrame((frame) => {
      this.onReceived(frame);
      return handler(frame);
    });
  }

  onClose(handler) {
    this.transport.onClose(handler);
  }

  close(reason) {
    return this.transport.close(reason);
  }
}
