# The cases of `arcp conformance`. They test what the draft requires, and nothing else.
# src/story/story.h describes the language of stories; the cases add these lines:
#
#   case SECTION TITLE  begins a case for this section of the draft
#   needs WORDS         features that must be negotiated, and preconditions: agent (an agent whose
#                       jobs end by themselves), versioned (that agent has versions), long (an
#                       agent whose jobs run until they are cancelled), token, other (another
#                       principal's token), many (several connections can reach the same runtime,
#                       which excludes stdio: URLs)
#   resume b from a after SEQ
#                       b connects and resumes a's session after a number ($name, or 0), in the
#                       form that the runtime supports: session.resume, or a hello with `resume`.
#                       The next event must have the next number.
#   left-open WHAT      from here on the draft leaves this open, and the case expects the form that
#                       this project chose. A runtime with another form conforms to the draft as
#                       well: its case "differs", and has not failed.
#
# Variables set at the start: $token, $other, $agent, $input, $long, $long_input, $no_version (the
# agent with a version that does not exist), $key (unique for each case), $features (all), $offset
# (a time that is not in UTC); set by a welcome: $session_a, $resume_a; set by the first event of a:
# $before_a, the number before it. In every case each frame is also checked by general rules:
# envelope, session, event numbers, errors. The first case is played before all others and is not
# counted in the summary.

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

case 6.2 the welcome names the runtime, its capabilities and the resume token
connect a
say_hello a $token $features
a< session.welcome {"session_id":"$string",
    "payload":{"runtime":{"name":"$string","version":"$string"},"resume_token":"$string",
    "resume_window_sec":"$number","capabilities":{"features":"$array","agents":"$array"}}}

case 6.2 the welcome has the heartbeat interval when heartbeats are negotiated
needs heartbeat
connect a
say_hello a $token ["heartbeat"]
a< session.welcome {"payload":{"heartbeat_interval_sec":"$number"}}

case 6.2 a session without features works, without anything that needs one
needs agent
hello_with a []
a> job.submit {"agent":$agent,"input":$input}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.result {"job_id":"$job"}

case 6.1 an unknown token is UNAUTHENTICATED
needs token many
connect a
say_hello a "an-unknown-token" []
a refused UNAUTHENTICATED

case 5 unknown members of the envelope are ignored
needs heartbeat
hello a
a> {"x-unknown":[{}],"arcp":"1.1","id":$id,"type":"session.ping","session_id":$session_a,
    "priority":9,"payload":{"nonce":"n-unknown","sent_at":$now}}
a< session.pong {"payload":{"ping_nonce":"n-unknown"}}

case 12 a frame that is not JSON is INVALID_REQUEST
hello a
left-open whether such a frame is answered, or its connection closed
a> {"arcp":"1.1","type":
a refused INVALID_REQUEST

case 12 a submit without an agent is INVALID_REQUEST
hello a
a> job.submit {"input":{}}
a refused INVALID_REQUEST

case 6.4 a pong has the nonce of its ping and no event_seq
needs heartbeat
hello a
a> session.ping {"nonce":"n-1","sent_at":$now}
a< session.pong {"event_seq":"$absent","payload":{"ping_nonce":"n-1","received_at":"$string"}}

case 6.5 an acknowledgement gets no response, and the session continues
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

case 6.3 a resume after a drop returns the same session, a new token and the missed events
needs agent many
hello a
a> job.submit {"agent":$agent,"input":$input}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.result {"job_id":"$job","event_seq":"$last"}
drop a
resume b from a after $before_a
differ $resume_b $resume_a
b< job.result {"job_id":"$job","event_seq":"$last"}

case 6.3 a resume after the last event repeats nothing
needs heartbeat agent many
hello a
a> job.submit {"agent":$agent,"input":$input}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.result {"job_id":"$job","event_seq":"$last"}
drop a
resume b from a after $last
b quiet

case 6.3 an unknown resume token is refused
needs many
hello a
drop a
connect b
left-open what session.resume carries, and which code refuses it
b> session.resume {"session_id":$session_a,"resume_token":"rt_nobodys","last_event_seq":0,
    "auth":{"scheme":"bearer","token":$token}}
b refused RESUME_WINDOW_EXPIRED|UNAUTHENTICATED

case 6.7 jobs continue after a close, and the session can be resumed
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

case 7.1 pipelined submits are answered in their order
needs agent
hello a
a> job.submit {"agent":$agent,"input":$input}
a> job.submit {"agent":"no-such-agent","input":{}}
a> job.submit {"agent":$agent,"input":$input}
a> job.submit {"agent":$agent,"input":$input}
a> job.submit {"agent":"no-such-agent","input":{}}
a> job.submit {"agent":"no-such-agent","input":{}}
a> job.submit {"agent":$agent,"input":$input}
a> job.submit {"agent":"no-such-agent","input":{}}
a> job.submit {"agent":$agent,"input":$input}
a> job.submit {"agent":$agent,"input":$input}
a answers +-++--+-++

case 7.1 a job that exceeds max_runtime_sec ends with TIMEOUT
needs long
hello a
a> job.submit {"agent":$long,"input":$long_input,"max_runtime_sec":1}
a< job.accepted {"payload":{"job_id":"$job"}}
a< job.error {"job_id":"$job","payload":{"code":"TIMEOUT","final_status":"timed_out"}}

case 7.2 the same key and parameters return the same job
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

case 12 cancelling an unknown job is JOB_NOT_FOUND
hello a
a> job.cancel {"job_id":"job_nobodys","reason":"conformance"}
a refused JOB_NOT_FOUND

case 12 an unknown agent is AGENT_NOT_AVAILABLE
hello a
a> job.submit {"agent":"no-such-agent","input":{}}
a refused AGENT_NOT_AVAILABLE

case 7.5 an unknown agent version is AGENT_VERSION_NOT_AVAILABLE
needs agent_versions agent
hello a
a> job.submit {"agent":$no_version,"input":$input}
a refused AGENT_VERSION_NOT_AVAILABLE

case 7.5 an invalid agent name is refused
hello a
a> job.submit {"agent":"Not An Agent","input":{}}
a refused INVALID_REQUEST|AGENT_NOT_AVAILABLE

case 7.5 job.accepted has the chosen version
needs agent_versions versioned
hello a
a> job.submit {"agent":$agent,"input":$input}
a< job.accepted {"payload":{"agent":"$versioned"}}

case 6.6 a listing names its request and has every required member of a job
needs list_jobs long
hello a
a> job.submit {"agent":$long,"input":$long_input,
    "lease_request":{"fs.read":["/arcp-conformance/**"]}}
a< job.accepted {"payload":{"job_id":"$job"}}
a> session.list_jobs {"filter":{"status":["running","pending"]},"limit":100}
a< session.jobs {"payload":{"request_id":"$id",
    "jobs":[{"job_id":"$job","agent":"$string","status":"$string","lease":"$object",
    "created_at":"$string"},"$more"]}}

case 6.6 a listing does not show jobs of another principal
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

case 7.6 after job.unsubscribe nothing more of the job is sent
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

case 9.5 an expiry in the future is echoed
needs lease_expires_at agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_request":{"fs.read":["/arcp-conformance/**"]},
    "lease_constraints":{"expires_at":$in_1h}}
a< job.accepted {"payload":{"lease_constraints":{"expires_at":"$string"}}}

case 9.5 an expiry in the past is INVALID_REQUEST
needs lease_expires_at agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_constraints":{"expires_at":$ago_1h}}
a refused INVALID_REQUEST

case 9.5 an expiry with a UTC offset is INVALID_REQUEST
needs lease_expires_at agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_constraints":{"expires_at":$offset}}
a refused INVALID_REQUEST

case 9.6 job.accepted has the counters of the budget
needs cost.budget agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_request":{"cost.budget":["USD:1.50"]}}
a< job.accepted {"payload":{"budget":{"USD":1.5}}}

case 9.6 an invalid budget amount is INVALID_REQUEST
needs cost.budget agent
hello a
a> job.submit {"agent":$agent,"input":$input,"lease_request":{"cost.budget":["USD:much"]}}
a refused INVALID_REQUEST
