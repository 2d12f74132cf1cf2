"""An agent that works with a model and a tool until its budget is spent, by an SDK that finds the gateway in the
environment.

    loop.py SDK

SDK is openai or anthropic. Prints JSON: how many answers there were, and how the loop ended.
"""
import json
import sys

TASK = {"role": "user", "content": "look at everything"}
SCHEMA = {"type": "object", "properties": {"at": {"type": "integer"}}}


def look(at):
    return f"nothing at {at}"


def openai_loop():
    import openai
    client, messages = openai.OpenAI(), [TASK]
    tools = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
    while True:
        answer = client.chat.completions.create(model="gpt-loop", messages=messages, tools=tools, max_tokens=300)
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id,
                             "content": look(**json.loads(call.function.arguments))})
        yield


def anthropic_loop():
    import anthropic
    client, messages = anthropic.Anthropic(), [TASK]
    tools = [{"name": "look", "input_schema": SCHEMA}]
    while True:
        answer = client.messages.create(model="claude-loop", messages=messages, tools=tools, max_tokens=300)
        uses = [block for block in answer.content if block.type == "tool_use"]
        messages.append({"role": "assistant", "content": [block.model_dump() for block in uses]})
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": use.id, "content": look(**use.input)} for use in uses]})
        yield


def main(sdk):
    answers = 0
    try:
        for _ in {"openai": openai_loop, "anthropic": anthropic_loop}[sdk]():
            answers += 1
    except Exception as error:  # each SDK has its own
        print(json.dumps({"answers": answers, "status": getattr(error, "status_code", None),
                          "error": type(error).__name__, "message": str(error)}))


main(*sys.argv[1:])
