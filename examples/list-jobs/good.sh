#!/bin/sh
# Ends well: exit status 0 without a job.result is success.
exit 0
