#!/bin/sh
# Delegates its work to a child, and ends after the child.
read -r _start
echo '{"type":"delegate","id":"1","payload":{"agent":"hello","input":1,"wait":true}}'
read -r answer
case $answer in
  *'"final_status":"success"'*) echo called ;;
esac
