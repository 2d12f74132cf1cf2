#!/usr/bin/env python3
"""An agent with MCP tools. What a model would choose to call is written down here."""
import os
import sys

from gate import Denied, GatedServer, Runtime

WISHES = [("notes.read", "/notes/public/a.txt"), ("notes.read", "/notes/public/../secret/b.txt"),
          ("notes.read", "/notes/secret/b.txt"), ("notes.delete", "/notes/public/a.txt")]

runtime = Runtime()
here = os.path.dirname(os.path.abspath(__file__))
server = GatedServer(runtime, [sys.executable, os.path.join(here, "notes_server.py")])
print("tools:", ", ".join(server.tools()), flush=True)
for tool, path in WISHES:
    try:
        print(f"{tool} {path}: {server.call(tool, {'path': path})}", flush=True)
    except Denied as denied:
        print(f"{tool} {path}: {denied}", flush=True)
server.close()
