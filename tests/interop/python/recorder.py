"""Records the frames of a connection of the SDK, so that a failure can be shown with its frame."""
SECRETS = ("token", "resume_token", "value")


def without_secrets(frame):
    """The frame with tokens and the values of credentials masked."""
    if isinstance(frame, dict):
        return {name: "..." if name in SECRETS and isinstance(member, str)
                else without_secrets(member) for name, member in frame.items()}
    if isinstance(frame, list):
        return [without_secrets(member) for member in frame]
    return frame


class Recorder:
    """A transport that remembers, and calls `on_frame(direction, frame)` for each frame."""

    def __init__(self, transport, on_frame):
        self.transport = transport
        self.on_frame = on_frame

    async def send(self, envelope):
        self.on_frame("sent", envelope)
        await self.transport.send(envelope)

    async def recv(self):
        envelope = await self.transport.recv()
        self.on_frame("received", envelope)
        return envelope

    async def close(self):
        await self.transport.close()

    @property
    def is_closed(self):
        return self.transport.is_closed
