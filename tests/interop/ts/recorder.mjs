// What goes over a connection of the SDK, kept: it is what a failure is shown by.

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
