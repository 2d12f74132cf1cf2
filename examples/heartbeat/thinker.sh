#!/bin/sh
# Sends nothing for longer than two heartbeat intervals.
sleep 5
