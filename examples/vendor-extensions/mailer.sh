#!/bin/sh
# Sends (here: only reports) two mails, if they are allowed.
for to in ann@acme.example bob@elsewhere.example; do
    echo "{\"type\":\"authorize\",\"id\":\"$to\",\"payload\":{\"capability\":\"x-vendor.acme.mail.send\",\"target\":\"$to\"}}"
    while read -r line; do
        case $line in
        *'"re":"'"$to"'"'*'"allow":true'*)
            echo "{\"type\":\"job.event\",\"payload\":{\"kind\":\"x-vendor.acme.mail.sent\",\"body\":{\"to\":\"$to\",\"size\":512}}}"
            break
            ;;
        *'"re":"'"$to"'"'*)
            echo "may not write to $to"
            break
            ;;
        esac
    done
done
