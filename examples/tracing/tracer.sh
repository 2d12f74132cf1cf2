#!/bin/sh
# What a tracing library in an agent reads.
echo "trace $ARCP_TRACE_ID"
echo "parent $TRACEPARENT"
