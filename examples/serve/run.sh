#!/bin/sh
# Submits jobs to one process: a job that waits does not delay the others, and is cancelled alone.
set -eu
classify() {
    arcp submit classify --input "{\"text\":\"$1\"}" 2>errors.txt
}
classify "good and fine"
waiting=$(arcp submit classify --input '{"wait":true}' --detach 2>errors.txt)
classify "slow"
arcp cancel "$waiting" >cancelled.txt 2>errors.txt || true
classify "it is what it is"
