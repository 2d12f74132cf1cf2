"""One scenario's connections to one runtime through the SDK's client."""
import asyncio
import os
import shlex

import arcp
from arcp.client import ARCPClient

from recorder import Recorder

# The SDK asks for credentials only when its options say so.
FEATURES = (*arcp.V1_1_FEATURES, "model.use", "provisioned_credentials")


class Gap(Exception):
    """The expectation of a scenario, and what happened instead."""


def expect(condition, why):
    if not condition:
        raise Gap(why)


class Fixture:
    """One scenario's connections to one runtime, and every frame that went over them."""

    def __init__(self, url, token, name, folder):
        self.url, self.token, self.name = url, token, name
        self.gate = os.path.join(folder, "gate")
        self.frames = []
        self.clients = []
        self.programs = []

    def open_gate(self):
        with open(self.gate, "wb"):
            pass

    async def transport(self):
        if self.url.startswith("stdio:"):
            program = await asyncio.create_subprocess_exec(
                *shlex.split(self.url[len("stdio:"):]), stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE)
            self.programs.append(program)
            transport = await arcp.StdioTransport.from_process_pipes(program)
        else:
            transport = await arcp.WebSocketTransport.connect(self.url)
        return Recorder(transport, lambda *frame: self.frames.append(frame))

    def client(self, token=None):
        client = ARCPClient(client=arcp.ClientInfo(name=self.name, version="1"),
                            token=token or self.token, features=FEATURES)
        self.clients.append(client)
        return client

    async def connect(self, token=None):
        client = self.client(token)
        await client.connect(await self.transport())
        return client

    def received(self, kind=None):
        return [frame for direction, frame in self.frames
                if direction == "received" and kind in (None, frame["type"])]

    async def wait_for(self, kind, job_id):
        """The frame of this type of this job, once it has come."""
        while True:
            for frame in self.received(kind):
                if frame.get("job_id") == job_id:
                    return frame
            await asyncio.sleep(0.01)

    async def leave(self):
        for client in self.clients:
            await client.close()
        for program in self.programs:
            program.stdin.close()
            await program.wait()
