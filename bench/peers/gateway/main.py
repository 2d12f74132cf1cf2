"""arcpd's gateway for models beside a LiteLLM proxy, in one run: see tools/bench-gateway."""
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv

LITELLM = "litellm[proxy]==1.106.2"
PRICE = {"mode": "chat", "max_input_tokens": 100000, "max_output_tokens": 1000,
         "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-05}
BODY = json.dumps({"model": "gpt-x", "max_tokens": 20, "messages": [{"role": "user", "content": "ping"}]})
TOKEN = "a-token-of-the-bench"
MASTER = "sk-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"


def install(place):
    """The program of the proxy; exits if the registry cannot be reached."""
    program = os.path.join(place, "bin", "litellm")
    try:
        if not os.path.exists(program):
            venv.create(place, with_pip=True)
            subprocess.run([os.path.join(place, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check",
                            "--only-binary", ":all:", LITELLM], check=True, timeout=1800)
    except (OSError, subprocess.SubprocessError) as missing:
        print(f"not run: {missing}")
        sys.exit(0)
    return program


@contextlib.contextmanager
def running(command, environment, folder, name, **more):
    with open(os.path.join(folder, name + ".log"), "w", encoding="utf8") as log, \
            subprocess.Popen(command, env={**os.environ, **environment}, stderr=log, text=True, **more) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def stand_in(calls, folder):
    """The port of the provider."""
    with running([calls, "provider"], {}, folder, "provider", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield int(process.stdout.readline())


@contextlib.contextmanager
def arcpd(bins, folder, provider):
    """Port and key: those of a job that is submitted here (credentials.provisioner: gateway)."""
    config, prices = os.path.join(folder, "arcpd.yaml"), os.path.join(folder, "prices.json")
    with open(prices, "w", encoding="utf8") as file:
        json.dump({"gpt-x": PRICE}, file)
    with open(config, "w", encoding="utf8") as file:
        json.dump({"store": f"sqlite:{folder}/arcp.db", "tokens": [{"token": TOKEN, "principal": "bench"}],
                   "agents": [{"name": "waiter", "mode": "plain", "confine": False, "command": ["sleep", "10000"]}],
                   "credentials": {"provisioner": "gateway"}, "gateways": {"calls_per_job": 256},
                   "models": {"prices": prices, "providers": [{"name": "p", "dialect": "openai", "url": f"http://127.0.0.1:{provider}/v1",
                                                               "models": ["gpt-x"]}]}}, file)
    frames = [("session.hello", {"auth": {"scheme": "bearer", "token": TOKEN},
                                 "capabilities": {"features": ["provisioned_credentials", "model.use", "cost.budget"]}}),
              ("job.submit", {"agent": "waiter", "lease_request": {"model.use": ["gpt-x"], "cost.budget": ["USD:1000000"]}})]
    with running([os.path.join(bins, "arcpd"), "--stdio", "--config", config], {"STATE_DIRECTORY": folder}, folder, "arcpd",
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for kind, payload in frames:
            process.stdin.write(json.dumps({"arcp": "1.1", "id": kind, "type": kind, "payload": payload}) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            frame = json.loads(line)
            if frame["type"] == "job.accepted":
                key = frame["payload"]["credentials"][0]
            if frame["type"] == "job.event":
                break  # the job runs
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield process.pid, int(key["endpoint"].split(":")[2].split("/")[0]), key["value"]


@contextlib.contextmanager
def litellm(program, folder, provider):
    config = os.path.join(folder, "litellm.yaml")
    with open(config, "w", encoding="utf8") as file:
        json.dump({"model_list": [{"model_name": "gpt-x", "litellm_params": {
            "model": "openai/gpt-x", "api_base": f"http://127.0.0.1:{provider}/v1", "api_key": "sk-x"}}]}, file)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with running([program, "--config", config, "--port", str(port), "--host", "127.0.0.1", "--num_workers", "1"],
                 {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": MASTER}, folder, "litellm", stdout=subprocess.DEVNULL) as process:
        until = time.monotonic() + 300
        while True:
            try:
                call(http.client.HTTPConnection("127.0.0.1", port), MASTER)
                break
            except (OSError, http.client.HTTPException, ValueError):
                if process.poll() is not None or time.monotonic() > until:
                    with open(os.path.join(folder, "litellm.log"), encoding="utf8") as file:
                        print(file.read()[-2000:])
                    raise
                time.sleep(0.2)
        yield process.pid, port, MASTER


def call(connection, key):
    connection.request("POST", "/v1/chat/completions", BODY, {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    if response.status != 200:
        raise ValueError(f"{response.status} {text[:300]}")


def load(calls, port, key, at_once, seconds):
    """Calls a second, and their duration in ms at the median."""
    done = subprocess.run([calls, "load", str(port), key, "gpt-x", str(at_once), str(seconds)], stdout=subprocess.PIPE, text=True, check=True)
    return tuple(float(word) for word in done.stdout.split())


def megabytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def main(build, rounds, seconds):
    build = os.path.abspath(build)
    program = install(os.path.join(build, "peers", "litellm"))
    figures = {}
    calls = os.path.join(build, "bench", "arcp-bench-models")
    with tempfile.TemporaryDirectory(prefix="arcp-bench-gateway-") as folder, stand_in(calls, folder) as provider, \
            arcpd(os.path.join(build, "bin"), folder, provider) as ours, litellm(program, folder, provider) as theirs:
        ways = {"the provider": (None, provider, "none"), "arcpd": ours, LITELLM: theirs}
        for _ in range(rounds):
            for name, (_, port, key) in ways.items():
                for at_once in (1, 32):
                    figures.setdefault((name, at_once), []).append(load(calls, port, key, at_once, seconds))
        print(f"medians of {rounds} rounds of {seconds:g} s")
        for at_once in (1, 32):
            direct = statistics.median(one[1] for one in figures["the provider", at_once])
            rates, added = {}, {}
            for name, (pid, _, _) in ways.items():
                rates[name] = statistics.median(one[0] for one in figures[name, at_once])
                added[name] = statistics.median(one[1] for one in figures[name, at_once]) - direct
                memory = "" if pid is None else f", {megabytes(pid):.0f} MB"
                print(f"{at_once:2} at once, {name}: {rates[name]:.0f} calls/s, {added[name]:+.2f} ms at the median{memory}")
            print(f"{at_once:2} at once: arcpd has {rates['arcpd'] / rates[LITELLM]:.1f} times the calls/s, and adds "
                  f"1/{added[LITELLM] / max(added['arcpd'], 0.01):.0f} of the time")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5, float(sys.argv[3]) if len(sys.argv) > 3 else 5.0)
