#!/bin/sh
# A foreign runtime, as far as a few cases of `arcp conformance` need one. Its argument selects its
# behaviour:
#   hello    resumes by a hello only, not by session.resume
#   neither  does not resume
#   expired  supports resume by a hello, but the session has expired
#   ordered  responds to submits in their order
#   late     refuses submits only after it has read all of them
#   pinging  sends a ping before it responds to session.list_jobs
mode=$1
seq=0
refused=
say() { printf '%s\n' "{\"arcp\":\"1.1\",\"id\":\"i\",\"session_id\":\"s\",$1}"; }
refuse() { say "\"type\":\"session.error\",\"payload\":{\"code\":\"$1\",\"message\":\"no\",\"retryable\":false}"; }
welcome() { say "\"type\":\"session.welcome\",\"payload\":{\"resume_token\":\"$1\",\"capabilities\":{\"features\":[]}}"; }
result() { say "\"type\":\"job.result\",\"job_id\":\"j\",\"event_seq\":$1,\"payload\":{\"final_status\":\"success\"}"; }
row='{"job_id":"j","agent":"some","status":"running","lease":{},"created_at":"2026-01-01T00:00:00Z"}'
submitted=0
while IFS= read -r line; do
    case $mode:$line in
    *session.resume*) refuse INVALID_REQUEST; exit ;;
    expired:*'"resume":{'*) refuse RESUME_WINDOW_EXPIRED; exit ;;
    neither:*'"resume":{'*) refuse INVALID_REQUEST; exit ;;
    *'"resume":{'*) welcome t2; result 1 ;;
    *session.hello*) welcome t1 ;;
    late:*no-such-agent*) refused="$refused x" ;;
    *no-such-agent*) refuse AGENT_NOT_AVAILABLE ;;
    *job.submit*) say '"type":"job.accepted","job_id":"j","payload":{"job_id":"j"}' ;;
    *session.list_jobs*)
        asked=${line#*'"id":"'}
        say '"type":"session.ping","payload":{"nonce":"n"}'
        ;;
    *session.pong*) say "\"type\":\"session.jobs\",\"payload\":{\"request_id\":\"${asked%%'"'*}\",\"jobs\":[$row]}" ;;
    *job.cancel*) say '"type":"job.cancelled","job_id":"j","payload":{"job_id":"j"}' ;;
    esac
    case $line in
    *job.submit*) submitted=$((submitted + 1)) ;;
    esac
    case $mode:$submitted in
    late:10) for _ in $refused; do refuse AGENT_NOT_AVAILABLE; done ;;
    hello:1 | expired:1 | neither:1) seq=$((seq + 1)); [ $seq = 1 ] && result 1 ;;
    esac
done
