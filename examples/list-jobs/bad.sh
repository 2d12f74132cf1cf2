#!/bin/sh
# Ends badly: any other exit status is INTERNAL_ERROR.
exit 3
