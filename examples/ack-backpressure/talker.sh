#!/bin/sh
# Sends events without waiting.
for word in a b c d e f g h i j k l; do
    echo "$word"
done
