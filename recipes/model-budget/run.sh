#!/bin/sh
# A job with a budget of five cents for one model; then what each call cost, and what is left.
set -eu
arcp --json submit looker --grant model.use=small --budget USD:0.05 >events 2>errors || status=$?
python3 - <<'END'
import decimal, json

events = [json.loads(line, parse_float=decimal.Decimal) for line in open("events")]
costs = [event["body"]["value"] for event in events if event.get("body", {}).get("name") == "cost.inference"]
print(len(costs), "calls of USD", *sorted(set(costs)))
print("spent", sum(costs), "of 0.05; left", decimal.Decimal("0.05") - sum(costs))
print(events[-1]["details"]["stderr"].strip())
END
echo "exit status ${status:-0}"
