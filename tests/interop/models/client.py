"""An agent that calls a model by an SDK for Python, which finds the gateway in the environment.

    client.py SDK CASE

SDK is openai, anthropic or litellm. CASE is granted, denied or spent. Prints JSON: what each call came to.
"""
import json
import os
import sys

SAYS = "pong and more"
PING = [{"role": "user", "content": "ping"}]


def with_openai(model):
    import openai
    client = openai.OpenAI()
    chat = client.chat.completions.create(model=model, messages=PING, max_tokens=300)
    yield "chat", [chat.choices[0].message.content, chat.usage.completion_tokens]
    chunks = list(client.chat.completions.create(model=model, messages=PING, max_tokens=300, stream=True))
    yield "chat, streamed", ["".join(one.choices[0].delta.content or "" for one in chunks).strip(), 10]
    answer = client.responses.create(model=model, input="ping", max_output_tokens=300)
    yield "responses", [answer.output_text, answer.usage.output_tokens]
    with client.responses.stream(model=model, input="ping", max_output_tokens=300) as stream:
        final = stream.get_final_response()
    yield "responses, streamed", [final.output_text, final.usage.output_tokens]
    vectors = client.embeddings.create(model="vector", input=["a", "b"])
    yield "embeddings", [SAYS if vectors.data[1].embedding == [1.0, -0.5] else str(vectors), 10]
    yield "models", [SAYS if model in [one.id for one in client.models.list()] else "", 10]


def with_anthropic(model):
    import anthropic
    client = anthropic.Anthropic()
    answer = client.messages.create(model=model, messages=PING, max_tokens=300)
    yield "messages", [answer.content[0].text, answer.usage.output_tokens]
    with client.messages.stream(model=model, messages=PING, max_tokens=300) as stream:
        final = stream.get_final_message()
    yield "messages, streamed", [final.content[0].text.strip(), final.usage.output_tokens]
    counted = client.messages.count_tokens(model=model, messages=PING)
    yield "count_tokens", [SAYS if counted.input_tokens == 100 else str(counted), 10]


def with_litellm(model):
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm
    target = {"model": f"openai/{model}", "messages": PING, "max_tokens": 300,
              "api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}
    answer = litellm.completion(**target)
    yield "completion", [answer.choices[0].message.content, answer.usage.completion_tokens]
    chunks = list(litellm.completion(**target, stream=True))
    yield "completion, streamed", ["".join(one.choices[0].delta.content or "" for one in chunks).strip(), 10]


SDKS = {"openai": (with_openai, "gpt-x"), "anthropic": (with_anthropic, "claude-x"),
        "litellm": (with_litellm, "gpt-x")}


def main(sdk, case):
    play, model = SDKS[sdk]
    results = {}
    try:
        for name, result in play(model + "-denied" if case == "denied" else model):
            results[name] = "works" if result == [SAYS, 10] else str(result)
    except Exception as error:  # each SDK has its own
        results["error"] = [getattr(error, "status_code", None), str(error)]
    print(json.dumps(results))


main(*sys.argv[1:])
