"""A stand-in for the providers of language models, on loopback: OpenAI's chat completions, responses and
embeddings, and Anthropic's messages and token counts, streamed and whole.

    provider.py [PORT]

prints its URL and serves until its input ends; GET /requests returns how often each path was requested.

A model's name says what goes wrong: `NAME--WRONG` is answered as NAME would be, but wrong. WRONGS lists them.
"""
import collections
import gzip
import http.server
import json
import socket
import sys
import threading

USAGE = (100, 10)  # tokens of input and output of each answer
MORE = 1000        # output tokens above the call's limit, for `more`
SLOW_SEC = 0.2     # before each event, for `slow`
WRONGS = {
    "no-usage": "the answer has no usage",
    "odd-usage": "usage comes more than once, in events that have other content, too; the last is right",
    "zero-usage": "usage says 0 tokens",
    "more": "more output tokens than the call's limit",
    "broken": "the connection ends in the middle of the answer",
    "closes": "the connection ends without an answer",
    "slow": "events come slowly",
    "429": "too many requests, with Retry-After", "500": "an error of the server", "529": "overloaded",
    "wrong-model": "the answer names another model",
    "bytes": "each byte is a write and, of a stream, a chunk of its own",
    "gzip": "the answer is compressed, although the call did not accept that",
}

# What the model says: `text`, or a call of `tool` with `arguments`.
Reply = collections.namedtuple("Reply", "text tool arguments", defaults=(None, None))
# An answer as a dialect needs it. `limit` is the call's limit of output tokens, or None.
Answer = collections.namedtuple("Answer", "request reply number model input_tokens output_tokens wrong")


def limit_of(request):
    for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
        if isinstance(request.get(name), int):
            return request[name]
    return None


def event(name, data):
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


class Chat:
    """POST /v1/chat/completions"""

    @staticmethod
    def usage(answer, part=1):
        return {"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens // part,
                "total_tokens": answer.input_tokens + answer.output_tokens // part}

    @staticmethod
    def message(answer):
        if answer.reply.tool is None:
            return {"role": "assistant", "content": answer.reply.text}, "stop"
        call = {"index": 0, "id": f"call_{answer.number}", "type": "function",
                "function": {"name": answer.reply.tool, "arguments": json.dumps(answer.reply.arguments)}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"

    @staticmethod
    def whole(answer):
        message, reason = Chat.message(answer)
        body = {"id": f"chatcmpl-{answer.number}", "object": "chat.completion", "created": 1, "model": answer.model,
                "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}]}
        return body if answer.wrong == "no-usage" else {**body, "usage": Chat.usage(answer)}

    @staticmethod
    def stream(answer):
        message, reason = Chat.message(answer)
        is_odd = answer.wrong == "odd-usage"
        wants = (answer.request.get("stream_options") or {}).get("include_usage") is True

        def chunk(choices, usage):
            body = {"id": f"chatcmpl-{answer.number}", "object": "chat.completion.chunk", "created": 1,
                    "model": answer.model, "choices": choices}
            if wants and answer.wrong != "no-usage":
                body["usage"] = usage
            return b"data: " + json.dumps(body).encode() + b"\n\n"

        def choice(delta, finish):
            return [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]

        yield chunk(choice({"role": "assistant", "content": ""}, None), None)
        if answer.reply.tool is None:
            for word in answer.reply.text.split(" "):
                yield chunk(choice({"content": word + " "}, None), Chat.usage(answer, 2) if is_odd else None)
        else:
            yield chunk(choice({"tool_calls": message["tool_calls"]}, None), None)
        yield chunk(choice({}, reason), Chat.usage(answer) if is_odd else None)
        if wants and not is_odd:
            yield chunk([], Chat.usage(answer))
        yield b"data: [DONE]\n\n"


class Responses:
    """POST /v1/responses"""

    @staticmethod
    def items(answer):
        if answer.reply.tool is None:
            content = {"type": "output_text", "text": answer.reply.text, "annotations": []}
            return [{"type": "message", "id": f"msg_{answer.number}", "role": "assistant", "status": "completed",
                     "content": [content]}]
        namespace, _, tool = answer.reply.tool.rpartition("/")  # Codex names the server of an MCP tool
        return [{"type": "function_call", "id": f"fc_{answer.number}", "call_id": f"call_{answer.number}",
                 **({"namespace": namespace} if namespace else {}),
                 "name": tool, "arguments": json.dumps(answer.reply.arguments), "status": "completed"}]

    @staticmethod
    def whole(answer, status="completed"):
        is_done = status == "completed"
        body = {"id": f"resp_{answer.number}", "object": "response", "created_at": 1, "status": status,
                "model": answer.model, "output": Responses.items(answer) if is_done else [], "error": None,
                "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
                "temperature": 1, "tool_choice": "auto", "tools": [], "top_p": 1, "usage": None}
        if is_done and answer.wrong != "no-usage":
            body["usage"] = {"input_tokens": answer.input_tokens, "input_tokens_details": {"cached_tokens": 0},
                             "output_tokens": answer.output_tokens,
                             "output_tokens_details": {"reasoning_tokens": 0},
                             "total_tokens": answer.input_tokens + answer.output_tokens}
        return body

    @staticmethod
    def stream(answer):
        numbers = iter(range(1000000))

        def numbered(name, data):
            return event(name, {"sequence_number": next(numbers), **data})

        yield numbered("response.created", {"response": Responses.whole(answer, "in_progress")})
        if answer.wrong == "odd-usage":
            yield numbered("response.in_progress", {"response": {
                **Responses.whole(answer, "in_progress"),
                "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})
        item = Responses.items(answer)[0]
        yield numbered("response.output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress"}})
        if answer.reply.tool is None:
            place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
            for word in answer.reply.text.split(" "):
                yield numbered("response.output_text.delta", {**place, "delta": word + " ", "logprobs": []})
        yield numbered("response.output_item.done", {"output_index": 0, "item": item})
        yield numbered("response.completed", {"response": Responses.whole(answer)})


class Messages:
    """POST /v1/messages"""

    @staticmethod
    def usage(answer, output_tokens):
        return {"input_tokens": answer.input_tokens, "output_tokens": output_tokens,
                "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}

    @staticmethod
    def block(answer):
        if answer.reply.tool is None:
            return {"type": "text", "text": answer.reply.text}, "end_turn"
        return {"type": "tool_use", "id": f"toolu_{answer.number}", "name": answer.reply.tool,
                "input": answer.reply.arguments}, "tool_use"

    @staticmethod
    def whole(answer):
        block, reason = Messages.block(answer)
        body = {"id": f"msg_{answer.number}", "type": "message", "role": "assistant", "model": answer.model,
                "content": [block], "stop_reason": reason, "stop_sequence": None}
        if answer.wrong != "no-usage":
            body["usage"] = Messages.usage(answer, answer.output_tokens)
        return body

    @staticmethod
    def stream(answer):
        block, reason = Messages.block(answer)
        begin = {**Messages.whole(answer), "content": [], "stop_reason": None}
        end = {}
        if answer.wrong != "no-usage":
            begin["usage"] = Messages.usage(answer, 1)
            end = {"usage": {"output_tokens": answer.output_tokens}}
        yield event("message_start", {"message": begin})
        yield event("ping", {})
        empty = {"text": ""} if answer.reply.tool is None else {"input": {}}
        yield event("content_block_start", {"index": 0, "content_block": {**block, **empty}})
        if answer.reply.tool is None:
            deltas = [{"type": "text_delta", "text": word + " "} for word in answer.reply.text.split(" ")]
        else:
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(answer.reply.arguments)}]
        for delta in deltas:
            yield event("content_block_delta", {"index": 0, "delta": delta})
        yield event("content_block_stop", {"index": 0})
        if answer.wrong == "odd-usage":
            yield event("message_delta", {"delta": {"stop_reason": None, "stop_sequence": None},
                                          "usage": Messages.usage(answer, 1)})
        yield event("message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, **end})
        yield event("message_stop", {})


class Embeddings:
    """POST /v1/embeddings"""
    stream = None

    @staticmethod
    def whole(answer):
        inputs = answer.request["input"]
        count = len(inputs) if isinstance(inputs, list) and not isinstance(inputs[0], int) else 1
        # Two floats, 1.0 and -0.5, as OpenAI's SDKs ask for them, and as they are read.
        vector = "AACAPwAAAL8=" if answer.request.get("encoding_format") == "base64" else [1.0, -0.5]
        body = {"object": "list", "model": answer.model,
                "data": [{"object": "embedding", "index": i, "embedding": vector} for i in range(count)]}
        if answer.wrong != "no-usage":
            body["usage"] = {"prompt_tokens": answer.input_tokens, "total_tokens": answer.input_tokens}
        return body


DIALECTS = {"/v1/chat/completions": Chat, "/v1/responses": Responses, "/v1/messages": Messages,
            "/v1/embeddings": Embeddings}
Request = collections.namedtuple("Request", "path headers body")


class Provider(http.server.ThreadingHTTPServer):
    """`say` maps (path, request, number) to a Reply; None: "pong and more"."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, say=None, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.say = say or (lambda *_: Reply("pong and more"))
        self.usage = USAGE
        self.requests = []  # every Request
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def keep(self, request):
        """The number of the request, from 1."""
        with self.lock:
            self.requests.append(request)
            return len(self.requests)

    def handle_error(self, *_):
        """A client may close its connection at any time."""

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json", headers=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.answer(200, b"")

    def do_GET(self):
        if self.path == "/requests":
            counts = collections.Counter(request.path for request in self.server.requests)
            self.answer(200, json.dumps(counts).encode())
        else:
            self.answer(404, b"{}")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        number = self.server.keep(Request(path, dict(self.headers), body))
        if path == "/v1/messages/count_tokens":
            self.answer(200, json.dumps({"input_tokens": self.server.usage[0]}).encode())
        elif path not in DIALECTS:
            self.answer(404, b"{}")
        else:
            self.respond(path, json.loads(body), number)

    def respond(self, path, request, number):
        model, _, wrong = request["model"].partition("--")
        if wrong in ("429", "500", "529"):
            error = {"type": "error", "error": {"type": "stand_in", "message": WRONGS[wrong]}}
            self.answer(int(wrong), json.dumps(error).encode(), headers=[("Retry-After", "1")])
            return
        if wrong == "closes":
            self.end()
            return
        inputs, outputs = self.server.usage if wrong != "zero-usage" else (0, 0)
        if wrong == "more":
            outputs = (limit_of(request) or 0) + MORE
        answer = Answer(request, self.server.say(path, request, number), number,
                        "another-model" if wrong == "wrong-model" else model, inputs, outputs, wrong)
        if request.get("stream") is True:
            self.stream(DIALECTS[path].stream(answer), wrong)
        else:
            self.whole(json.dumps(DIALECTS[path].whole(answer)).encode(), wrong)

    def end(self):
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def pause(self, wrong):
        if wrong == "slow":
            threading.Event().wait(SLOW_SEC)

    def whole(self, body, wrong):
        self.pause(wrong)
        headers = [("request-id", "req_stand_in")]
        if wrong == "gzip":
            body, headers = gzip.compress(body), headers + [("Content-Encoding", "gzip")]
        if wrong not in ("broken", "bytes"):
            self.answer(200, body, headers=headers)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        sent = body if wrong == "bytes" else body[:len(body) // 2]
        for byte in sent:
            self.wfile.write(bytes([byte]))
        if wrong == "broken":
            self.end()

    def stream(self, events, wrong):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        if wrong == "gzip":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        pieces = list(events)
        if wrong == "broken":
            pieces = pieces[:len(pieces) // 2]
        if wrong == "gzip":
            pieces = [gzip.compress(b"".join(pieces))]
        if wrong == "bytes":
            pieces = [bytes([byte]) for byte in b"".join(pieces)]
        for piece in pieces:
            self.pause(wrong)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if wrong == "broken":
            self.end()
        else:
            self.wfile.write(b"0\r\n\r\n")


def main(words):
    with Provider(port=int(words[0]) if words else 0) as provider:
        print(provider.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
