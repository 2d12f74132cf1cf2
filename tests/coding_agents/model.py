"""A stand-in for a language model: it answers coding agents with commands, in the dialects of Anthropic's
messages and OpenAI's responses, and keeps what the agents send back."""
import http.server
import json
import threading


def anthropic_results(request):
    """The outputs of the commands so far, as texts."""
    blocks = [block for message in request["messages"] if isinstance(message["content"], list)
              for block in message["content"]]
    return [json.dumps(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def anthropic_answer(request, command, number):
    """The events of an answer: a command, or the end."""
    block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "The greeting is right now."}
    if command is not None:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {}}
        delta = {"type": "input_json_delta",
                 "partial_json": json.dumps({"command": command, "description": "a step of the task"})}
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield "message_start", {"message": {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": request["model"],
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}}
    yield "content_block_start", {"index": 0, "content_block": block}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    yield "message_delta", {"delta": {"stop_reason": "end_turn" if command is None else "tool_use",
                                      "stop_sequence": None}, "usage": {"output_tokens": 2}}
    yield "message_stop", {}


def openai_results(request):
    return [json.dumps(item.get("output")) for item in request["input"]
            if item.get("type") == "function_call_output"]


def openai_answer(_, command, number):
    item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "The greeting is right now.", "annotations": []}]}
    if command is not None:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
                "name": "exec_command", "arguments": json.dumps({"cmd": command}), "status": "completed"}
    response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
    yield "response.created", {"response": response}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": {
        **response, "status": "completed", "output": [item],
        "usage": {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1,
                  "output_tokens_details": None, "total_tokens": 2}}}


DIALECTS = {"/v1/messages": (anthropic_results, anthropic_answer, "Bash"),
            "/v1/responses": (openai_results, openai_answer, "exec_command")}


class Model(http.server.ThreadingHTTPServer):
    """Asks for `commands`, one after the other, and then says that the task is done."""
    daemon_threads = True

    def __init__(self, commands):
        super().__init__(("127.0.0.1", 0), Handler)
        self.commands = commands
        self.requests = []  # bodies, as bytes
        self.results = []   # of the longest conversation
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.answer(200, "text/plain", b"")

    def do_GET(self):
        self.answer(404, "application/json", b"{}")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append(body)
        path = self.path.split("?")[0]
        if path not in DIALECTS:
            self.answer(404, "application/json", b"{}")
            return
        results_of, answer, tool = DIALECTS[path]
        request = json.loads(body)
        results = results_of(request)
        if len(results) > len(self.server.results):
            self.server.results = results
        # A request without the tool is not about the task: Claude Code asks for a title, too.
        is_task = any(one.get("name") == tool for one in request.get("tools", []))
        left = self.server.commands[len(results):] if is_task else []
        events = answer(request, left[0] if left else None, len(self.server.requests))
        self.answer(200, "text/event-stream", b"".join(
            f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode() for name, data in events))
