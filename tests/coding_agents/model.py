"""A stand-in for a language model: it answers coding agents with commands, in the dialects of Anthropic's
messages and OpenAI's responses (tests/gateway/provider.py), and keeps what the agents send back."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "gateway"))

from provider import Provider, Reply  # noqa: E402


def anthropic_results(request):
    """The outputs of the commands so far, as texts."""
    blocks = [block for message in request["messages"] if isinstance(message["content"], list)
              for block in message["content"]]
    return [json.dumps(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def openai_results(request):
    return [json.dumps(item.get("output")) for item in request["input"]
            if item.get("type") == "function_call_output"]


# Where the results are, the tool that carries out a command, and its arguments.
AGENTS = {"/v1/messages": (anthropic_results, "Bash",
                           lambda command: {"command": command, "description": "a step of the task"}),
          "/v1/responses": (openai_results, "exec_command", lambda command: {"cmd": command})}


class Model(Provider):
    """Asks for `commands`, one after the other, and then says that the task is done."""

    def __init__(self, commands):
        super().__init__(self.next_step)
        self.commands = commands
        self.results = []   # of the longest conversation

    def next_step(self, path, request, _):
        results_of, tool, arguments_of = AGENTS[path]
        results = results_of(request)
        if len(results) > len(self.results):
            self.results = results
        # A request without the tool is not about the task: Claude Code asks for a title, too.
        is_task = any(one.get("name") == tool for one in request.get("tools", []))
        left = self.commands[len(results):] if is_task else []
        return Reply(None, tool, arguments_of(left[0])) if left else Reply("The greeting is right now.")
