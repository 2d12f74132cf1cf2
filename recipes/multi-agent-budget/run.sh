#!/bin/sh
# One planner, five parts, 2.50 dollars for all of them. Prints the planner's log lines.
set -eu
arcp --json submit planner --grant agent.delegate=worker --grant tool.call=search --budget USD:2.50 >events
sed -n 's/.*"kind":"log".*"message":"\(.*\)".*/\1/p; s/.*"name":"cost.budget.remaining".*"value":\([-0-9.]*\).*/  left: \1/p' events
