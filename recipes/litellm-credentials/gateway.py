#!/usr/bin/env python3
"""A stand-in for a LiteLLM proxy: keys with a budget and models, and a model that costs 2 cents."""
import http.server
import json
import os
import secrets
import threading

MASTER = "Bearer " + os.environ["LITELLM_MASTER_KEY"]
PRICE = 0.02
lock = threading.Condition()
keys = {}  # value -> what was asked for, and what was spent


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        """Waits until no key is alive, and tells how many there were."""
        with lock:
            quiet = lock.wait_for(lambda: all(key["dead"] for key in keys.values()), 60)
            self.answer(200, {"issued": len(keys), "all_revoked": quiet})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        token = self.headers.get("Authorization", "")
        with lock:
            if self.path == "/v1/chat/completions":
                self.answer(*self.complete(keys.get(token.removeprefix("Bearer ")), body))
            elif token != MASTER:
                self.answer(401, {"error": "not the master key"})
            elif self.path == "/key/generate":
                value = "sk-" + secrets.token_hex(8)
                keys[value] = body | {"spent": 0.0, "dead": False}
                self.answer(200, {"key": value, "token_id": secrets.token_hex(8)})
            elif self.path == "/key/delete":
                mine = [key for key in keys.values() if key["key_alias"] in body["key_aliases"]]
                for key in mine:
                    key["dead"] = True
                lock.notify_all()
                self.answer(200 if mine else 404, {"deleted_keys": len(mine)})
            else:
                self.answer(404, {"error": "no such thing"})

    def complete(self, key, body):
        if key is None or key["dead"]:
            return 401, {"error": "invalid key"}
        if body["model"] not in key["models"]:
            return 403, {"error": "key_model_access_denied"}
        if key["spent"] + PRICE > key["max_budget"]:
            return 400, {"error": {"type": "budget_exceeded", "message": "ExceededBudget"}}
        key["spent"] += PRICE
        return 200, {"choices": [{"message": {"content": "hello"}}]}

    def log_message(self, format, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
