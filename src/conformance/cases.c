/* What `arcp conformance` puts to a runtime, by the draft and nothing else. A case has a section
 * of the draft, a title, what it needs, and its steps.
 *
 * needs: features that have to be negotiated, and what the caller has to give: agent (an agent
 * whose jobs end by themselves), versioned (that agent has versions), long (an agent whose jobs
 * run until they are cancelled), token, other (another principal's token), many (several
 * connections reach one runtime: not a stdio: URL).
 *
 * steps, one a line; a and b are connections:
 *   open a            connects
 *   hello a [LIST]    connects, says hello (with these features, else all) and takes the welcome
 *   other b           the same as the other principal
 *   a> TYPE PAYLOAD   sends a message. $name is replaced by the JSON of a variable, within a
 *                     string by its text. A job_id of the payload is in the envelope, too: the
 *                     draft leaves open where it belongs.
 *   a>> TEXT          sends a frame as it stands
 *   a< TYPE PATTERN   takes the next message of this type. Events, pings and job.accepted before
 *                     it are passed over; anything else is a failure. In a pattern, members that
 *                     are not named may be anything, and an array has at least what is shown.
 *                     "$name" is the variable's value, or becomes it. "$string", "$number",
 *                     "$boolean", "$array", "$object" and "$absent" say what kind of value is
 *                     there, "$versioned" a name@version, "$_" any value.
 *   a refused CODES   a job.error or session.error with one of the codes (the draft leaves open
 *                     which of the two answers a request)
 *   a quiet           a ping is answered, and nothing about jobs comes before the pong
 *   a settle          a ping is answered, whatever comes before the pong
 *   a endless         a ping is answered, and no end of a job comes before the pong; an event may
 *                     have been on its way
 *   a ends $job       the job's end, whatever it is; job.cancelled may come before it
 *   a lacks $name     the message that was taken last does not have this value in it
 *   drop a            cuts the connection
 *   a answers +-+     what comes next of job.accepted (+) and of refusals (-), in this order
 *   resume b $session $token SEQ
 *                     connects and comes back to the session from a number on ($name, or 0), in
 *                     the form that the runtime knows: session.resume, or a hello with `resume`.
 *                     The next event has the number above it.
 *   differ $x $y      two variables are not the same
 *   left-open WHAT    from here on the draft leaves this open, and the case uses the form that
 *                     this project chose. A runtime with another form keeps the draft as well: its
 *                     case differs, and has not failed.
 *
 * Set from the start: $token, $other, $agent, $input, $long, $long_input, $no_version (the agent
 * in a version that does not exist), $key (another one in each case), $features (all), $now,
 * $past, $future, $offset; by hello and resume: $session_a, $resume_a; by the first event of a:
 * $before_a, the number below it. Each frame is checked as well, whatever the case: its envelope,
 * session, numbers and errors. */
#include "conformance/conformance.h"

const arcp__case arcp__cases[] = {
    {"6.2", "the welcome says who answers, what is spoken, and how to come back", "",
     "open a\n"
     "a> session.hello {\"client\":{\"name\":\"arcp-conformance\",\"version\":\"1\"},"
     "\"auth\":{\"scheme\":\"bearer\",\"token\":$token},\"capabilities\":{\"encodings\":"
     "[\"json\"],\"features\":$features}}\n"
     "a< session.welcome {\"session_id\":\"$string\",\"payload\":{\"runtime\":{\"name\":"
     "\"$string\",\"version\":\"$string\"},\"resume_token\":\"$string\",\"resume_window_sec\":"
     "\"$number\",\"capabilities\":{\"features\":\"$array\",\"agents\":\"$array\"}}}"},
    {"6.2", "with heartbeats negotiated the welcome has their interval", "heartbeat",
     "open a\n"
     "a> session.hello {\"client\":{\"name\":\"arcp-conformance\",\"version\":\"1\"},"
     "\"auth\":{\"scheme\":\"bearer\",\"token\":$token},\"capabilities\":{\"encodings\":"
     "[\"json\"],\"features\":[\"heartbeat\"]}}\n"
     "a< session.welcome {\"payload\":{\"heartbeat_interval_sec\":\"$number\"}}"},
    {"6.2", "a session without features is served, with nothing that needs one", "agent",
     "hello a []\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "a< job.result {\"job_id\":\"$job\"}"},
    {"6.1", "a token that nobody has is UNAUTHENTICATED", "token,many",
     "open a\n"
     "a> session.hello {\"client\":{\"name\":\"arcp-conformance\",\"version\":\"1\"},"
     "\"auth\":{\"scheme\":\"bearer\",\"token\":\"this-token-is-nobodys\"},"
     "\"capabilities\":{\"encodings\":[\"json\"],\"features\":[]}}\n"
     "a refused UNAUTHENTICATED"},
    {"5", "members of the envelope that nobody knows are ignored", "heartbeat",
     "hello a\n"
     "a>> {\"x-unknown\":[{}],\"arcp\":\"1.1\",\"id\":$id,\"type\":\"session.ping\","
     "\"session_id\":$session_a,\"priority\":9,\"payload\":{\"nonce\":\"n-unknown\",\"sent_at\":$"
     "now}}\n"
     "a< session.pong {\"payload\":{\"ping_nonce\":\"n-unknown\"}}"},
    {"12", "what is no JSON is INVALID_REQUEST", "",
     "hello a\n"
     "left-open whether such a frame is answered, or its connection closed\n"
     "a>> {\"arcp\":\"1.1\",\"type\":\n"
     "a refused INVALID_REQUEST"},
    {"12", "a submit without an agent is INVALID_REQUEST", "",
     "hello a\n"
     "a> job.submit {\"input\":null}\n"
     "a refused INVALID_REQUEST"},
    {"6.4", "a ping is answered with its nonce, outside of the events' numbers", "heartbeat",
     "hello a\n"
     "a> session.ping {\"nonce\":\"n-1\",\"sent_at\":$now}\n"
     "a< session.pong {\"event_seq\":\"$absent\",\"payload\":{\"ping_nonce\":\"n-1\","
     "\"received_at\":\"$string\"}}"},
    {"6.5", "an acknowledgement is taken in silence, and the session goes on",
     "ack,heartbeat,agent",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "a< job.result {\"job_id\":\"$job\",\"event_seq\":\"$last\"}\n"
     "a> session.ack {\"last_processed_seq\":$last}\n"
     "a quiet"},
    {"6.7", "a close is answered by session.closed", "",
     "hello a\n"
     "a> session.close {}\n"
     "a< session.closed {}"},
    {"6.3", "after a drop a resume brings the same session, a new token, and what was missed",
     "agent,many",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "a< job.result {\"job_id\":\"$job\",\"event_seq\":\"$last\"}\n"
     "drop a\n"
     "resume b $session_a $resume_a $before_a\n"
     "differ $resume_b $resume_a\n"
     "b< job.result {\"job_id\":\"$job\",\"event_seq\":\"$last\"}"},
    {"6.3", "who has seen everything is told nothing twice", "heartbeat,agent,many",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "a< job.result {\"job_id\":\"$job\",\"event_seq\":\"$last\"}\n"
     "drop a\n"
     "resume b $session_a $resume_a $last\n"
     "b quiet"},
    {"6.3", "a resume token that nobody has opens nothing", "many",
     "hello a\n"
     "drop a\n"
     "open b\n"
     "left-open what session.resume carries, and which code refuses it\n"
     "b> session.resume {\"session_id\":$session_a,\"resume_token\":\"rt_nobodys\","
     "\"last_event_seq\":0,\"auth\":{\"scheme\":\"bearer\",\"token\":$token}}\n"
     "b refused RESUME_WINDOW_EXPIRED|UNAUTHENTICATED"},
    {"6.7", "jobs go on after a close, and the session can be resumed", "long,many",
     "hello a\n"
     "a> job.submit {\"agent\":$long,\"input\":$long_input}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "a> session.close {}\n"
     "a< session.closed {}\n"
     "drop a\n"
     "resume b $session_a $resume_a 0\n"
     "b> job.cancel {\"job_id\":$job,\"reason\":\"conformance\"}\n"
     "b< job.cancelled {}\n"
     "b< job.error {\"job_id\":\"$job\",\"payload\":{\"code\":\"CANCELLED\"}}"},
    {"7.1", "a submit is accepted with its lease, and ends with job.result", "agent",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input,\"lease_request\":{\"fs.read\":"
     "[\"/arcp-conformance/**\"]}}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\",\"lease\":"
     "\"$object\",\"accepted_at\":\"$string\"}}\n"
     "a< job.result {\"job_id\":\"$job\",\"event_seq\":\"$number\",\"payload\":"
     "{\"final_status\":\"success\"}}"},
    {"7.1", "submits that are sent together are answered in their order", "agent",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a> job.submit {\"agent\":\"no-such-agent\",\"input\":null}\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a> job.submit {\"agent\":\"no-such-agent\",\"input\":null}\n"
     "a> job.submit {\"agent\":\"no-such-agent\",\"input\":null}\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a> job.submit {\"agent\":\"no-such-agent\",\"input\":null}\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a answers +-++--+-++"},
    {"7.1", "a job that runs too long is TIMEOUT", "long",
     "hello a\n"
     "a> job.submit {\"agent\":$long,\"input\":$long_input,\"max_runtime_sec\":1}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "a< job.error {\"job_id\":\"$job\",\"payload\":{\"code\":\"TIMEOUT\",\"final_status\":"
     "\"timed_out\"}}"},
    {"7.2", "the same key and parameters are the same job", "agent",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input,\"idempotency_key\":$key}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "a< job.result {\"job_id\":\"$job\"}\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input,\"idempotency_key\":$key}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}"},
    {"7.2", "the same key with other parameters is DUPLICATE_KEY", "agent",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input,\"idempotency_key\":$key}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "a< job.result {\"job_id\":\"$job\"}\n"
     "a> job.submit "
     "{\"agent\":$agent,\"input\":{\"another\":[\"input\"]},\"idempotency_key\":$key}\n"
     "a refused DUPLICATE_KEY"},
    {"7.4", "a cancel is acknowledged, and the job ends as cancelled", "long",
     "hello a\n"
     "a> job.submit {\"agent\":$long,\"input\":$long_input}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "a> job.cancel {\"job_id\":$job,\"reason\":\"conformance\"}\n"
     "a< job.cancelled {}\n"
     "a< job.error {\"job_id\":\"$job\",\"payload\":{\"code\":\"CANCELLED\",\"final_status\":"
     "\"cancelled\"}}"},
    {"12", "to cancel a job that is not there is JOB_NOT_FOUND", "",
     "hello a\n"
     "a> job.cancel {\"job_id\":\"job_nobodys\",\"reason\":\"conformance\"}\n"
     "a refused JOB_NOT_FOUND"},
    {"12", "an agent that is not there is AGENT_NOT_AVAILABLE", "",
     "hello a\n"
     "a> job.submit {\"agent\":\"no-such-agent\",\"input\":null}\n"
     "a refused AGENT_NOT_AVAILABLE"},
    {"7.5", "a version that is not there is AGENT_VERSION_NOT_AVAILABLE", "agent_versions,agent",
     "hello a\n"
     "a> job.submit {\"agent\":$no_version,\"input\":$input}\n"
     "a refused AGENT_VERSION_NOT_AVAILABLE"},
    {"7.5", "a name that is none is refused", "",
     "hello a\n"
     "a> job.submit {\"agent\":\"Not An Agent\",\"input\":null}\n"
     "a refused INVALID_REQUEST|AGENT_NOT_AVAILABLE"},
    {"7.5", "job.accepted has the version that was chosen", "agent_versions,versioned",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input}\n"
     "a< job.accepted {\"payload\":{\"agent\":\"$versioned\"}}"},
    {"6.6", "a listing names its request and has the job with all its members", "list_jobs,long",
     "hello a\n"
     "a> job.submit {\"agent\":$long,\"input\":$long_input,\"lease_request\":{\"fs.read\":"
     "[\"/arcp-conformance/**\"]}}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "a> session.list_jobs {\"filter\":{\"status\":[\"running\",\"pending\"]},\"limit\":100}\n"
     "a< session.jobs {\"payload\":{\"request_id\":\"$id\",\"jobs\":[{"
     "\"job_id\":\"$job\",\"agent\":\"$string\",\"status\":\"$string\",\"lease\":\"$object\","
     "\"created_at\":\"$string\"}]}}"},
    {"6.6", "a listing shows nothing of another principal's jobs", "list_jobs,long,other,many",
     "hello a\n"
     "a> job.submit {\"agent\":$long,\"input\":$long_input}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "other b\n"
     "b> session.list_jobs {\"limit\":1000}\n"
     "b< session.jobs {\"payload\":{\"jobs\":\"$array\"}}\n"
     "b lacks $job"},
    {"7.6", "a subscriber gets the authority descriptor, and the job's end", "subscribe,long,many",
     "hello a\n"
     "a> job.submit {\"agent\":$long,\"input\":$long_input,\"lease_request\":{\"fs.read\":"
     "[\"/arcp-conformance/**\"]}}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "hello b\n"
     "b> job.subscribe {\"job_id\":$job}\n"
     "b< job.subscribed {\"payload\":{\"job_id\":\"$job\",\"current_status\":\"$string\","
     "\"agent\":\"$string\",\"lease\":\"$object\",\"subscribed_from\":\"$number\",\"replayed\":"
     "false}}\n"
     "a> job.cancel {\"job_id\":$job,\"reason\":\"conformance\"}\n"
     "b ends $job"},
    {"7.6", "the authority descriptor has the job's constraints and its budget",
     "subscribe,lease_expires_at,cost.budget,long,many",
     "hello a\n"
     "a> job.submit {\"agent\":$long,\"input\":$long_input,\"lease_request\":{\"cost.budget\":"
     "[\"USD:1.50\"]},\"lease_constraints\":{\"expires_at\":$future}}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "hello b\n"
     "b> job.subscribe {\"job_id\":$job}\n"
     "b< job.subscribed {\"payload\":{\"job_id\":\"$job\",\"lease_constraints\":{\"expires_at\":"
     "\"$string\"},\"budget\":{\"USD\":1.5}}}"},
    {"7.6", "a subscriber cannot cancel", "subscribe,long,many",
     "hello a\n"
     "a> job.submit {\"agent\":$long,\"input\":$long_input}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "hello b\n"
     "b> job.subscribe {\"job_id\":$job}\n"
     "b< job.subscribed {\"payload\":{\"job_id\":\"$job\"}}\n"
     "b> job.cancel {\"job_id\":$job,\"reason\":\"conformance\"}\n"
     "b refused PERMISSION_DENIED|JOB_NOT_FOUND"},
    {"7.6", "who has unsubscribed sees no more of the job", "subscribe,heartbeat,long,many",
     "hello a\n"
     "a> job.submit {\"agent\":$long,\"input\":$long_input}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "hello b\n"
     "b> job.subscribe {\"job_id\":$job}\n"
     "b< job.subscribed {\"payload\":{\"job_id\":\"$job\"}}\n"
     "b> job.unsubscribe {\"job_id\":$job}\n"
     "b settle\n"
     "a> job.cancel {\"job_id\":$job,\"reason\":\"conformance\"}\n"
     "a ends $job\n"
     "b endless"},
    {"14", "another principal cannot subscribe", "subscribe,long,other,many",
     "hello a\n"
     "a> job.submit {\"agent\":$long,\"input\":$long_input}\n"
     "a< job.accepted {\"payload\":{\"job_id\":\"$job\"}}\n"
     "other b\n"
     "b> job.subscribe {\"job_id\":$job}\n"
     "b refused PERMISSION_DENIED|JOB_NOT_FOUND"},
    {"9.5", "an expiry to come is echoed", "lease_expires_at,agent",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input,\"lease_request\":{\"fs.read\":"
     "[\"/arcp-conformance/**\"]},\"lease_constraints\":{\"expires_at\":$future}}\n"
     "a< job.accepted {\"payload\":{\"lease_constraints\":{\"expires_at\":\"$string\"}}}"},
    {"9.5", "an expiry that is past is INVALID_REQUEST", "lease_expires_at,agent",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input,\"lease_constraints\":{\"expires_at\":"
     "$past}}\n"
     "a refused INVALID_REQUEST"},
    {"9.5", "an expiry with an offset is INVALID_REQUEST", "lease_expires_at,agent",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input,\"lease_constraints\":{\"expires_at\":"
     "$offset}}\n"
     "a refused INVALID_REQUEST"},
    {"9.6", "a budget is shown by its counters", "cost.budget,agent",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input,\"lease_request\":{\"cost.budget\":"
     "[\"USD:1.50\"]}}\n"
     "a< job.accepted {\"payload\":{\"budget\":{\"USD\":1.5}}}"},
    {"9.6", "an amount that is none is INVALID_REQUEST", "cost.budget,agent",
     "hello a\n"
     "a> job.submit {\"agent\":$agent,\"input\":$input,\"lease_request\":{\"cost.budget\":"
     "[\"USD:much\"]}}\n"
     "a refused INVALID_REQUEST"},
};
const size_t arcp__case_count = sizeof arcp__cases / sizeof arcp__cases[0];
