#!/bin/sh
# Says nothing for longer than two heartbeat intervals.
sleep 5
