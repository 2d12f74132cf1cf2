"""Keys of the gateways as provisioned credentials (credentials.provisioner: gateway): arcpd over its standard input and
output, the submitter who calls a model with the key of its job, and the stand-in provider.

    tests/gateway/key_arcpd_test.py BIN_DIR
"""
import contextlib
import datetime
import decimal
import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import provider  # noqa: E402

BIN = ""
PRICE = {"mode": "chat", "max_input_tokens": 100000, "max_output_tokens": 1000,
         "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05}
COST = decimal.Decimal("0.00045")  # of a call: 100 tokens of input and 10 of output
FEATURES = ["model.use", "cost.budget", "lease_expires_at", "provisioned_credentials"]
PROXIES = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Daemon(contextlib.ExitStack):
    """arcpd in a directory of its own, and the session that it serves over stdio."""

    def __init__(self, provider_url, credentials="", more=""):
        super().__init__()
        self.directory = self.enter_context(tempfile.TemporaryDirectory())
        self.frames = []
        self.process = None
        self.ids = 0
        self.write("key", "sk-of-the-provider\n", 0o600)
        self.write("prices.json", json.dumps({"m": PRICE, "n": PRICE}))
        self.config = self.write("arcpd.yaml", f"""
store: "sqlite:{self.path('arcp.db')}"
tokens: [{{principal: alice, token: a-token-of-the-tests}}]
agents:
  - {{name: waiter, mode: plain, confine: false, command: [sleep, "1000"]}}
  - {{name: one, mode: plain, confine: false, max_jobs: 1, command: [sleep, "1000"]}}
credentials: {{provisioner: gateway{credentials}}}
models:
  prices: {self.path("prices.json")}
  providers: [{{name: stand-in, dialect: openai, url: "{provider_url}/v1", key: "{{file:{self.path('key')}}}", models: [m, n]}}]
{more}""")

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text, mode=0o644):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf8") as file:
            file.write(text)
        return self.path(name)

    def environment(self):
        return {**os.environ, "STATE_DIRECTORY": self.directory, "HOME": self.directory}

    def start(self, features=FEATURES):
        log = self.enter_context(open(self.path("log"), "ab"))
        self.process = subprocess.Popen([f"{BIN}/arcpd", "--stdio", "--config", self.config], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=log, env=self.environment(), text=True, bufsize=1)
        self.callback(self.end, self.process)
        self.frames = []
        self.send("session.hello", {"auth": {"scheme": "bearer", "token": "a-token-of-the-tests"},
                                    "capabilities": {"features": features}})
        return self.wait("session.welcome")

    @staticmethod
    def end(process):
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.stdout.close()
        if process.poll() is None:
            process.kill()
        process.wait()

    def kill(self):
        self.end(self.process)

    def send(self, kind, payload, **more):
        self.ids += 1
        self.process.stdin.write(json.dumps({"arcp": "1.1", "id": f"m{self.ids}", "type": kind, "payload": payload, **more}) + "\n")

    def wait(self, kind, job_id=None, fits=lambda payload: True):
        """The first frame of this type from here on; what it passes over is kept in `frames`."""
        while True:
            line = self.process.stdout.readline()
            assert line, f"arcpd ended before {kind}: {self.text('log')}"
            frame = json.loads(line, parse_float=decimal.Decimal)
            self.frames.append(frame)
            if frame["type"] == kind and job_id in (None, frame.get("job_id")) and fits(frame["payload"]):
                return frame

    def text(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def submit(self, agent="waiter", models=("m",), budget="USD:1", **constraints):
        lease = {"model.use": list(models), "cost.budget": [budget]}
        self.send("job.submit", {"agent": agent, "lease_request": lease, "lease_constraints": constraints})
        return self.wait("job.accepted")["payload"]

    def cancel(self, job_id):
        self.send("job.cancel", {}, job_id=job_id)
        return self.wait("job.error", job_id)


def key_of(accepted):
    return accepted["credentials"][0]


def call(key, model="m", value=None):
    """The status and the gateway's code of a call with a key, or the answer."""
    body = json.dumps({"model": model, "max_tokens": 20, "messages": [{"role": "user", "content": "ping"}]}).encode()
    request = urllib.request.Request(key["endpoint"] + "/chat/completions", body, {
        "Authorization": "Bearer " + (value or key["value"]), "Content-Type": "application/json"})
    try:
        with PROXIES.open(request, timeout=60) as response:
            return response.status, json.load(response)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["x-arcp-code"]


def until(key, status, **more):
    """Calls until the status is this one: what it was, at last."""
    while True:
        got = call(key, **more)
        if got[0] == status:
            return got


class Test(unittest.TestCase):
    def setUp(self):
        self.provider = provider.Provider()
        self.addCleanup(self.provider.__exit__)
        self.url = f"http://127.0.0.1:{self.provider.server_port}"

    def daemon(self, credentials="", more="", features=FEATURES):
        daemon = Daemon(self.url, credentials, more)
        self.addCleanup(daemon.close)
        daemon.start(features)
        return daemon

    def test_a_submitter_calls_models_under_the_lease_of_its_job(self):
        daemon = self.daemon()
        accepted = daemon.submit()
        key = key_of(accepted)
        self.assertRegex(key["value"], r"^sk-arcp-[A-Za-z0-9_-]{43}$")
        self.assertRegex(key["endpoint"], r"^http://127\.0\.0\.1:\d+/v1$")
        self.assertEqual((key["scheme"], key["profile"]), ("bearer", "openai"))
        self.assertEqual(key["constraints"], {"cost.budget": ["USD:1"], "model.use": ["m"]})
        self.assertEqual(until(key, 200), (200, "pong and more"))
        # The cost is an event of the job, on the runtime's word, and leaves its budget.
        cost = daemon.wait("job.event", accepted["job_id"], lambda payload: payload["body"].get("name") == "cost.inference")
        self.assertEqual((cost["payload"]["body"]["value"], cost["payload"]["body"]["dimensions"]["source"]), (COST, "gateway"))
        self.assertEqual(call(key, "n"), (403, "permission_denied"))
        denied = daemon.wait("job.event", accepted["job_id"], lambda payload: payload["body"].get("phase") == "denied")
        self.assertEqual(denied["payload"]["body"]["target"], "n")

    def test_a_key_is_dead_when_its_job_has_ended(self):
        daemon = self.daemon()
        accepted = daemon.submit()
        key = key_of(accepted)
        until(key, 200)
        daemon.cancel(accepted["job_id"])
        self.assertEqual(call(key), (401, "unauthenticated"))

    def test_a_key_has_the_models_of_its_own_job_only(self):
        daemon = self.daemon()
        first, second = key_of(daemon.submit(models=["m"])), key_of(daemon.submit(models=["n"]))
        until(first, 200)
        until(second, 200, model="n")
        self.assertEqual(call(first, "n"), (403, "permission_denied"))
        self.assertEqual(call(second, "m"), (403, "permission_denied"))

    def test_a_key_pays_nothing_beyond_the_budget_of_its_job(self):
        daemon = self.daemon()
        key = key_of(daemon.submit(budget="USD:0.004"))  # 600 tokens of input and 20 of output are held: USD 0.0021
        answers = [until(key, 200)] + [call(key) for _ in range(10)]
        self.assertIn((402, "budget_exhausted"), answers)
        paid = sum(answer[0] == 200 for answer in answers)
        self.assertLessEqual(paid * COST, decimal.Decimal("0.004"))
        self.assertEqual({answer[0] for answer in answers}, {200, 402})

    def test_a_key_is_of_no_use_when_the_lease_has_expired(self):
        daemon = self.daemon(more="lease: {on_expiry: deny}\n")
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)
        key = key_of(daemon.submit(expires_at=end.strftime("%Y-%m-%dT%H:%M:%SZ")))
        self.assertEqual(key["constraints"]["expires_at"], end.strftime("%Y-%m-%dT%H:%M:%S.000Z"))
        self.assertEqual(until(key, 403), (403, "lease_expired"))

    def test_a_session_that_did_not_negotiate_credentials_gets_no_key(self):
        daemon = self.daemon(features=FEATURES[:-1])
        self.assertNotIn("credentials", daemon.submit())

    def test_a_key_of_a_job_that_waits_for_its_agent_works_when_the_job_starts(self):
        daemon = self.daemon()
        first = daemon.submit("one")
        second = key_of(daemon.submit("one"))
        until(key_of(first), 200)
        self.assertEqual(call(second), (503, "job_not_started"))
        daemon.cancel(first["job_id"])
        until(second, 200)

    def test_a_key_is_replaced_while_its_job_runs(self):
        daemon = self.daemon(", rotate_sec: 1")
        accepted = daemon.submit()
        key = key_of(accepted)
        rotated = daemon.wait("job.event", accepted["job_id"], lambda payload: payload["body"].get("phase") == "credential_rotated")
        value = rotated["payload"]["body"]["value"]
        self.assertNotEqual(value, key["value"])
        self.assertEqual(until(key, 401), (401, "unauthenticated"))
        # The next one may have come meanwhile.
        while call(key, value=value)[0] != 200:
            value = daemon.wait("job.event", accepted["job_id"], lambda payload: payload["body"].get("phase") == "credential_rotated"
                                )["payload"]["body"]["value"]

    def test_no_key_outlives_arcpd_and_none_is_stored_or_logged_in_the_clear(self):
        daemon = self.daemon()
        key = key_of(daemon.submit())
        until(key, 200)
        for name in os.listdir(daemon.directory):
            if os.path.isfile(daemon.path(name)):
                self.assertNotIn(key["value"].encode(), daemon.text(name), name)
        daemon.kill()
        daemon.start()
        again = key_of(daemon.submit())
        until(again, 200)
        self.assertEqual(call(again, value=key["value"]), (401, "unauthenticated"))
        left = subprocess.run([f"{BIN}/arcp", "credentials", "--json", "--store", daemon.path("arcp.db")], capture_output=True, text=True,
                              env=daemon.environment(), timeout=60, check=True).stdout.splitlines()
        self.assertEqual([json.loads(line)["state"] for line in left], ["live"])

    def test_the_other_profile_has_the_url_without_a_path(self):
        daemon = self.daemon(", profile: anthropic")
        key = key_of(daemon.submit())
        self.assertRegex(key["endpoint"], r"^http://127\.0\.0\.1:\d+$")
        self.assertEqual(key["profile"], "anthropic")


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
