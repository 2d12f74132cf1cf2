# What `arcp conformance` puts to a runtime, by the draft and nothing else. src/story/story.h says
# how stories are written; here there is beside:
#
#   case SECTION TITLE  a case of this section of the draft begins
#   needs WORDS         features that have to be negotiated, and what the caller has to give: agent
#                       (an agent whose jobs end by themselves), versioned (that agent has
#                       versions), long (an agent whose jobs run until they are cancelled), token,
#                       other (another principal's token), many (several connections reach one
#                       runtime: not a stdio: URL)
#   resume b from a after SEQ
#                       b connects and comes back to a's session from a number on ($name, or 0), in
#                       the form that the runtime knows: session.resume, or a hello with `resume`.
#                       The next event has the number above it.
#   left-open WHAT      from here on the draft leaves this open, and the case uses the form that
#                       this project chose. A runtime with another form keeps the draft as well: its
#                       case differs, and has not failed.
#
# Set from the start: $token, $other, $agent, $input, $long, $long_input, $no_version (the agent in
# a version that does not exist), $key (another one in each case), $features (all), $offset (an
# instant that is not in UTC); by a welcome: $session_a, $resume_a; by the first event of a:
# $before_a, the number below it. Each frame is checked as well, whatever the case: its envelope,
# session, numbers and errors. The first case comes before all others, and the summary does not
# count it.

define hello CLIENT
greet CLIENT $token $features
end

define hello_with CLIENT FEATURES
greet CLIENT $token FEATURES
end

define hello_other CLIENT
greet CLIENT $other $features
end

define greet CLIENT TOKEN FEATURES
connect CLIENT
say_hello CLIENT TOKEN FEATURES
CLIENT< session.welcome {"session_id":"$string","payload":{"resume_token":"$string"}}
end

define say_hello CLIENT TOKEN FEATURES
CLIENT> session.hello {"client":{"name":"arcp-conformance","version":"1"},
    "auth":{"scheme":"bearer","token":TOKEN},
    "capabilities":{"encodings":["json"],"features":FEATURES}}
end

define resume_by_message CLIENT OF SEQ
CLIENT> session.resume {"auth":{"scheme":"bearer","token":$token},
    "session_id":$session_OF,"resume_token":$resume_OF,"last_event_seq":SEQ}
end

define resume_by_hello CLIENT OF SEQ
CLIENT> session.hello {"client":{"name":"arcp-conformance","version":"1"},
    "auth":{"scheme":"bearer","token":$token},
    "capabilities":{"encodings":["json"],"features":$features},
    "resume":{"session_id":$session_OF,"resume_token":$resume_OF,"last_event_seq":SEQ}}
end

case 6.2 a hello is answered by a welcome
hello a

case 6.2 the welcome says who answers, what is spoken, and how to come back
connect a
say_hello a $token $features
a< session.welcome {"session_id":"$string",
    "payload":{"runtime":{"name":"$string","version":"$string"},"resume_token":"$string",
    "resume_window_sec":"$number","capabilities":{"features":"$array","agents":"$array"}}}

case 6.2 with heartbeats negotiated the welcome has their interval
needs heartbeat
connect a
say_hello a $token ["heartbeat"]
a< session.welcome {"payload":{"heartbeat_interval_sec":"$number"}}

case 6.2 a session without features is served, with nothing that needs one
needs agent
hello_with a []
a> job.submit {"agent":$agent,"input":$input}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.result {"job_id":"$job"}

case 6.1 a token that nobody has is UNAUTHENTICATED
needs token many
connect a
say_hello a "this-token-is-nobodys" []
a refused UNAUTHENTICATED

case 5 members of the envelope that nobody knows are ignored
needs heartbeat
hello a
a> {"x-unknown":[{}],"arcp":"1.1","id":$id,"type":"session.ping","session_id":$session_a,
    "priority":9,"payload":{"nonce":"n-unknown","sent_at":$now}}
a< session.pong {"payload":{"ping_nonce":"n-unknown"}}

case 12 what is no JSON is INVALID_REQUEST
hello a
left-open whether such a frame is answered, or its connection closed
a> {"arcp":"1.1","type":
a refused INVALID_REQUEST

case 12 a submit without an agent is INVALID_REQUEST
hello a
a> job.submit {"input":null}
a refused INVALID_REQUEST

case 6.4 a ping is answered with its nonce, outside of the events' numbers
needs heartbeat
hello a
a> session.ping {"nonce":"n-1","sent_at":$now}
a< session.pong {"event_seq":"$absent","payload":{"ping_nonce":"n-1","received_at":"$string"}}

case 6.5 an acknowledgement is taken in silence, and the session goes on
needs ack heartbeat agent
hello a
a> job.submit {"agent":$agent,"input":$input}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.result {"job_id":"$job","event_seq":"$last"}
a> session.ack {"last_processed_seq":$last}
a quiet

case 6.7 a close is answered by session.closed
hello a
a> session.close
a< session.closed

case 6.3 after a drop a resume brings the same session, a new token, and what was missed
needs agent many
hello a
a> job.submit {"agent":$agent,"input":$input}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.result {"job_id":"$job","event_seq":"$last"}
drop a
resume b from a after $before_a
differ $resume_b $resume_a
b< job.result {"job_id":"$job","event_seq":"$last"}

case 6.3 who has seen everything is told nothing twice
needs heartbeat agent many
hello a
a> job.submit {"agent":$agent,"input":$input}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.result {"job_id":"$job","event_seq":"$last"}
drop a
resume b from a after $last
b quiet

case 6.3 a resume token that nobody has opens nothing
needs many
hello a
drop a
connect b
left-open what session.resume carries, and which code refuses it
b> session.resume {"session_id":$session_a,"resume_token":"rt_nobodys","last_event_seq":0,
    "auth":{"scheme":"bearer","token":$token}}
b refused RESUME_WINDOW_EXPIRED|UNAUTHENTICATED

case 6.7 jobs go on after a close, and the session can be resumed
needs long many
hello a
a> job.submit {"agent":$long,"input":$long_input}
a< job.accepted {"payload":{"job_id":"$job"}}
a> session.close
a< session.closed
drop a
resume b from a after 0
b> job.cancel {"job_id":$job,"reason":"conformance"}
b< job.cancelled
b< job.error {"job_id":"$job","payload":{"code":"CANCELLED"}}

case 7.1 a submit is accepted with its lease, and ends with job.result
needs agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_request":{"fs.read":["/arcp-conformance/**"]}}
a< job.accepted {"payload":{"job_id":"$job","lease":"$object","accepted_at":"$string"}}
a< job.result {"job_id":"$job","event_seq":"$number","payload":{"final_status":"success"}}

case 7.1 submits that are sent together are answered in their order
needs agent
hello a
a> job.submit {"agent":$agent,"input":$input}
a> job.submit {"agent":"no-such-agent","input":null}
a> job.submit {"agent":$agent,"input":$input}
a> job.submit {"agent":$agent,"input":$input}
a> job.submit {"agent":"no-such-agent","input":null}
a> job.submit {"agent":"no-such-agent","input":null}
a> job.submit {"agent":$agent,"input":$input}
a> job.submit {"agent":"no-such-agent","input":null}
a> job.submit {"agent":$agent,"input":$input}
a> job.submit {"agent":$agent,"input":$input}
a answers +-++--+-++

case 7.1 a job that runs too long is TIMEOUT
needs long
hello a
a> job.submit {"agent":$long,"input":$long_input,"max_runtime_sec":1}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.error {"job_id":"$job","payload":{"code":"TIMEOUT","final_status":"timed_out"}}

case 7.2 the same key and parameters are the same job
needs agent
hello a
a> job.submit {"agent":$agent,"input":$input,"idempotency_key":$key}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.result {"job_id":"$job"}
a> job.submit {"agent":$agent,"input":$input,"idempotency_key":$key}
a< job.accepted {"payload":{"job_id":"$job"}}

case 7.2 the same key with other parameters is DUPLICATE_KEY
needs agent
hello a
a> job.submit {"agent":$agent,"input":$input,"idempotency_key":$key}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.result {"job_id":"$job"}
a> job.submit {"agent":$agent,"input":{"another":["input"]},"idempotency_key":$key}
a refused DUPLICATE_KEY

case 7.4 a cancel is acknowledged, and the job ends as cancelled
needs long
hello a
a> job.submit {"agent":$long,"input":$long_input}
a< job.accepted {"payload":{"job_id":"$job"}}
a> job.cancel {"job_id":$job,"reason":"conformance"}
a< job.cancelled
a< job.error {"job_id":"$job","payload":{"code":"CANCELLED","final_status":"cancelled"}}

case 12 to cancel a job that is not there is JOB_NOT_FOUND
hello a
a> job.cancel {"job_id":"job_nobodys","reason":"conformance"}
a refused JOB_NOT_FOUND

case 12 an agent that is not there is AGENT_NOT_AVAILABLE
hello a
a> job.submit {"agent":"no-such-agent","input":null}
a refused AGENT_NOT_AVAILABLE

case 7.5 a version that is not there is AGENT_VERSION_NOT_AVAILABLE
needs agent_versions agent
hello a
a> job.submit {"agent":$no_version,"input":$input}
a refused AGENT_VERSION_NOT_AVAILABLE

case 7.5 a name that is none is refused
hello a
a> job.submit {"agent":"Not An Agent","input":null}
a refused INVALID_REQUEST|AGENT_NOT_AVAILABLE

case 7.5 job.accepted has the version that was chosen
needs agent_versions versioned
hello a
a> job.submit {"agent":$agent,"input":$input}
a< job.accepted {"payload":{"agent":"$versioned"}}

case 6.6 a listing names its request and has the job with all its members
needs list_jobs long
hello a
a> job.submit {"agent":$long,"input":$long_input,
    "lease_request":{"fs.read":["/arcp-conformance/**"]}}
a< job.accepted {"payload":{"job_id":"$job"}}
a> session.list_jobs {"filter":{"status":["running","pending"]},"limit":100}
a< session.jobs {"payload":{"request_id":"$id",
    "jobs":[{"job_id":"$job","agent":"$string","status":"$string","lease":"$object",
    "created_at":"$string"},"$more"]}}

case 6.6 a listing shows nothing of another principal's jobs
needs list_jobs long other many
hello a
a> job.submit {"agent":$long,"input":$long_input}
a< job.accepted {"payload":{"job_id":"$job"}}
hello_other b
b> session.list_jobs {"limit":1000}
b< session.jobs {"payload":{"jobs":"$array"}}
b lacks $job

case 7.6 a subscriber gets the authority descriptor, and the job's end
needs subscribe long many
hello a
a> job.submit {"agent":$long,"input":$long_input,
    "lease_request":{"fs.read":["/arcp-conformance/**"]}}
a< job.accepted {"payload":{"job_id":"$job"}}
hello b
b> job.subscribe {"job_id":$job}
b< job.subscribed {"payload":{"job_id":"$job","current_status":"$string","agent":"$string",
    "lease":"$object","subscribed_from":"$number","replayed":false}}
a> job.cancel {"job_id":$job,"reason":"conformance"}
b ends $job

case 7.6 the authority descriptor has the job's constraints and its budget
needs subscribe lease_expires_at cost.budget long many
hello a
a> job.submit {"agent":$long,"input":$long_input,"lease_request":{"cost.budget":["USD:1.50"]},
    "lease_constraints":{"expires_at":$in_1h}}
a< job.accepted {"payload":{"job_id":"$job"}}
hello b
b> job.subscribe {"job_id":$job}
b< job.subscribed {"payload":{"job_id":"$job","lease_constraints":{"expires_at":"$string"},
    "budget":{"USD":1.5}}}

case 7.6 a subscriber cannot cancel
needs subscribe long many
hello a
a> job.submit {"agent":$long,"input":$long_input}
a< job.accepted {"payload":{"job_id":"$job"}}
hello b
b> job.subscribe {"job_id":$job}
b< job.subscribed {"payload":{"job_id":"$job"}}
b> job.cancel {"job_id":$job,"reason":"conformance"}
b refused PERMISSION_DENIED|JOB_NOT_FOUND

case 7.6 who has unsubscribed sees no more of the job
needs subscribe heartbeat long many
hello a
a> job.submit {"agent":$long,"input":$long_input}
a< job.accepted {"payload":{"job_id":"$job"}}
hello b
b> job.subscribe {"job_id":$job}
b< job.subscribed {"payload":{"job_id":"$job"}}
b> job.unsubscribe {"job_id":$job}
b settle
a> job.cancel {"job_id":$job,"reason":"conformance"}
a ends $job
b endless

case 14 another principal cannot subscribe
needs subscribe long other many
hello a
a> job.submit {"agent":$long,"input":$long_input}
a< job.accepted {"payload":{"job_id":"$job"}}
hello_other b
b> job.subscribe {"job_id":$job}
b refused PERMISSION_DENIED|JOB_NOT_FOUND

case 9.5 an expiry to come is echoed
needs lease_expires_at agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_request":{"fs.read":["/arcp-conformance/**"]},
    "lease_constraints":{"expires_at":$in_1h}}
a< job.accepted {"payload":{"lease_constraints":{"expires_at":"$string"}}}

case 9.5 an expiry that is past is INVALID_REQUEST
needs lease_expires_at agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_constraints":{"expires_at":$ago_1h}}
a refused INVALID_REQUEST

case 9.5 an expiry with an offset is INVALID_REQUEST
needs lease_expires_at agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_constraints":{"expires_at":$offset}}
a refused INVALID_REQUEST

case 9.6 a budget is shown by its counters
needs cost.budget agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_request":{"cost.budget":["USD:1.50"]}}
a< job.accepted {"payload":{"budget":{"USD":1.5}}}

case 9.6 an amount that is none is INVALID_REQUEST
needs cost.budget agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_request":{"cost.budget":["USD:much"]}}
a refused INVALID_REQUEST
