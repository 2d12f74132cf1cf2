#!/bin/sh
# Fails: any exit status other than 0 is INTERNAL_ERROR.
exit 3
