/* The start of a job: its deadlines, and its agent's first event and job.start line, or a place in
 * the queue. */
#include <arcp/secret.h>

#include "base/base64.h"
#include "job/job_state.h"

/* The size of most job.start lines without their input, to allocate once. */
#define START_BYTES 448u

/* Writes the array of feature names, which is cached: most jobs have the features of the previous
 * job. */
static void write_features(arcp__jobs *jobs, arcp_feature_set features, arcp_json_writer *writer)
{
    arcp_buf *text = &jobs->features_text;
    if (text->size == 0 || text->failed || jobs->features_written != features) {
        arcp_json_writer array;
        arcp_buf_clear(text);
        arcp_json_writer_init(&array, text);
        arcp_json_begin_array(&array);
        for (int feature = 0; feature < ARCP_FEATURE_COUNT; feature++) {
            if ((features & ARCP_FEATURE_BIT(feature)) != 0) {
                arcp_json_write_cstr(&array, arcp_feature_name((arcp_feature)feature));
            }
        }
        arcp_json_end_array(&array);
        jobs->features_written = features;
    }
    arcp__write_formatted(writer, text);
}

/* [arcp:11-2] */
static void format_start(arcp__jobs *jobs, const arcp__job *job, arcp_buf *out)
{
    const arcp__job_live *live = job->live;
    arcp_buf text = arcp__context_take_buf(jobs->context);
    (void)arcp_buf_reserve(out, START_BYTES + arcp_span_cstr(live->input).size);
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "type", "job.start");
    arcp__put_object(&writer, "payload");
    arcp__put_cstr(&writer, "job_id", job->id);
    arcp__put_cstr(&writer, "agent", job->agent_text);
    arcp__put_raw(&writer, "input", arcp_span_cstr(live->input));
    arcp_json_name(&writer, "lease");
    arcp_lease_format(live->lease, &text);
    arcp__write_formatted(&writer, &text);
    if (arcp_lease_has_expiry(live->lease)) {
        arcp_buf_clear(&text);
        arcp_json_name(&writer, "lease_constraints");
        arcp_lease_format_constraints(live->lease, &text);
        arcp__write_formatted(&writer, &text);
    }
    arcp__budget_write_available(job, &writer);
    arcp__credentials_write(jobs->credentials, NULL, &live->credential, &writer);
    arcp__put_cstr(&writer, "trace_id", job->trace_id);
    arcp__put_cstr(&writer, "traceparent", live->trace.traceparent);
    if (live->tracestate != NULL) {
        arcp__put_cstr(&writer, "tracestate", live->tracestate);
    }
    arcp__put_word(&writer, "parent_job_id", job->parent_id);
    arcp_json_name(&writer, "features");
    write_features(jobs, job->features, &writer);
    arcp_json_name(&writer, "cwd");
    const arcp_span cwd = arcp__job_seen_cwd(live);
    if (cwd.size != 0) {
        arcp_json_write_string(&writer, cwd);
    } else {
        arcp_json_write_null(&writer);
    }
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    out->failed = out->failed || text.failed;
    arcp__context_give_buf(jobs->context, &text);
}

void arcp__job_arm_deadlines(arcp__jobs *jobs, arcp__job *job, int64_t age_ns)
{
    arcp__job_live *live = job->live;
    if (live->max_runtime_sec != 0) {
        const int64_t due_ns = arcp__context_after_sec(jobs->context, live->max_runtime_sec);
        arcp__context_arm(jobs->context, &live->runtime_timer, jobs->timer_kind, job,
                          due_ns == ARCP_TIME_NEVER ? due_ns : due_ns - age_ns);
    }
    /* Armed also when expiry does not end the job, because it is logged. */
    arcp__context_arm(jobs->context, &live->expiry_timer, jobs->timer_kind, job,
                      arcp_authority_deadline_mono_ns(live->authority));
}

/* [arcp:7.5-9] */
void arcp__agent_push_start(arcp__jobs *jobs, arcp__job *job)
{
    arcp_buf line = arcp__context_take_buf(jobs->context);
    format_start(jobs, job, &line);
    arcp__effect_push(jobs->log, &job->live->agent_port,
                      &(arcp__effect){.kind = ARCP__EFFECT_START_AGENT, .job = job}, &line, true);
}

/* The key is stored as its digest, before the worker gets it. */
static void make_gateway_key(arcp__jobs *jobs, arcp__job_numbers *numbers)
{
    char bytes[32];
    arcp_buf text = arcp_buf_secret_init();
    arcp__context_random(jobs->context, bytes, sizeof bytes);
    arcp_buf_append_cstr(&text, ARCP__JOB_KEY_PREFIX);
    arcp__base64_encode(arcp_span_make(bytes, sizeof bytes), ARCP__BASE64_URL, &text);
    arcp_wipe(bytes, sizeof bytes);
    arcp__context_check_text(jobs->context, &text);
    if (text.size < sizeof numbers->gateway_key) {
        memcpy(numbers->gateway_key, text.data, text.size);
        numbers->gateway_key[text.size] = '\0';
        arcp__context_sha256(jobs->context, arcp_buf_span(&text), numbers->gateway_digest);
    }
    arcp_buf_fini(&text);
}

void arcp__worker_send_start(arcp__jobs *jobs, arcp__job *job, const arcp__worker_entry *worker)
{
    arcp__job_numbers *numbers = job->live->numbers;
    if (jobs->makes_gateway_keys) {
        make_gateway_key(jobs, numbers);
    }
    memcpy(numbers->instance, worker->instance, sizeof numbers->instance);
    memcpy(numbers->boot_id, worker->boot_id, sizeof numbers->boot_id);
    numbers->is_here = numbers->is_hosted = true;
    arcp__context_disarm(jobs->context, &job->live->queue_timer);
    arcp__job_live_changed(jobs, job);
    arcp__agent_push_start(jobs, job);
}

/* Starts the agent as soon as its worker is there, for which it waits as in a queue. */
static void start_on_worker(arcp__jobs *jobs, arcp__job *job)
{
    const arcp__worker_offer_entry *offered =
        job->live->place.offer == NULL ? NULL : job->live->place.offer->owner;
    const arcp__worker_entry *worker =
        offered != NULL ? offered->worker : arcp__worker_open(jobs, job->live->numbers->worker);
    arcp__queue_write_start(jobs, job);
    arcp__job_live_changed(jobs, job);
    if (worker != NULL) {
        arcp__worker_send_start(jobs, job, worker);
    } else {
        const int64_t age_ns = jobs->context->now.wall_ns - job->created_wall_ns;
        arcp__job_arm_wait(jobs, job, age_ns < 0 ? 0 : age_ns);
    }
}

void arcp__job_start_agent(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_live *live = job->live;
    if (job->facts.start == NULL) { /* else a worker did not take it */
        arcp__job_details_begin(jobs, job);
    }
    arcp__job_store(jobs, job);
    live->last_input_ns = jobs->context->now.mono_ns;
    arcp__enforcement_show(jobs, job);
    arcp__job_pin(job); /* the agent's pin, until FORGET_AGENT */
    jobs->live_agents++;
    arcp__agent_enter(job, ARCP__AGENT_STARTING);
    if (arcp__job_is_on_worker(job)) {
        start_on_worker(jobs, job);
    } else {
        arcp__agent_push_start(jobs, job);
        arcp__free(live->input);
        live->input = NULL;
    }
}

void arcp__job_start(arcp__jobs *jobs, arcp__job *job)
{
    /* The agent was resolved in this input. */
    arcp__place_agent *places = arcp__placement_agent(&jobs->placement, job->agent_text);
    if (places == NULL) {
        arcp__context_no_memory(jobs->context);
        return;
    }
    arcp__job_arm_deadlines(jobs, job, 0);
    arcp__place_offer *offer = job->live->place.offer;
    if (arcp__place_is_free(places, arcp__place_kind_below(job->parent), offer)) {
        arcp__place_take(&jobs->placement, &job->live->place, places,
                         arcp__place_kind_below(job->parent), offer, job);
        if (offer != NULL) {
            arcp__job_place_on_worker(jobs, job, offer->worker->name);
        }
        arcp__job_start_agent(jobs, job);
    } else {
        arcp__job_store(jobs, job);
        arcp__job_begin_wait(jobs, job, places);
    }
}
