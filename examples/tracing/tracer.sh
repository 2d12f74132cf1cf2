#!/bin/sh
# Prints the variables that a tracing library in an agent reads.
echo "trace $ARCP_TRACE_ID"
echo "parent $TRACEPARENT"
