/* Log lines and metrics of jobs: a line when a job starts, one when it ends and one for each
 * problem in between, all with the same fields; and the audit line of its end. */
#include "job/job_state.h"

#include <stdio.h>

/* An agent may spend in any number of currencies with any names. Those beyond the limits are left
 * out, so that `cost`, which an audit line has as text, is never truncated within its JSON. */
#define COSTS_MAX       8u
#define COSTS_BYTES_MAX 1024u

/* ---- metrics ---- */

static arcp__agent_metrics *agent_of(arcp__job_metrics *metrics, const char *agent_text)
{
    const size_t size = strcspn(agent_text, "@");
    for (size_t i = 0; i < metrics->agent_count; i++) {
        if (strlen(metrics->agents[i].name) == size &&
            memcmp(metrics->agents[i].name, agent_text, size) == 0) {
            return &metrics->agents[i];
        }
    }
    if (size >= sizeof metrics->agents[0].name || metrics->agent_count == ARCP__METRIC_AGENTS_MAX) {
        return &metrics->agents[ARCP__METRIC_AGENTS_MAX];
    }
    arcp__agent_metrics *added = &metrics->agents[metrics->agent_count++];
    memcpy(added->name, agent_text, size);
    return added;
}

void arcp__metrics_job_began(arcp__jobs *jobs, arcp__job *job)
{
    job->live->metrics = agent_of(&jobs->metrics, job->agent_text);
    job->live->metrics->live++;
}

/* The index at which the currency is summed up; `max` when the array is full, or when the name is
 * too long or contains a NUL, behind which it would be truncated: two currencies would then show
 * the same name. */
static size_t sum_of(arcp__currency_sum *sums, size_t *count, size_t max, arcp_span currency)
{
    size_t i = 0;
    while (i < *count && !arcp_span_equal_cstr(currency, sums[i].currency)) {
        i++;
    }
    if (i < *count) {
        return i;
    }
    if (i == max || currency.size > ARCP__CURRENCY_BYTES_MAX ||
        memchr(currency.data, '\0', currency.size) != NULL) {
        return max;
    }
    memcpy(sums[i].currency, currency.data, currency.size);
    (*count)++;
    return i;
}

static void add_agent(arcp__agent_metrics *sum, const arcp__agent_metrics *more)
{
    sum->live += more->live;
    sum->queued += more->queued;
    for (size_t status = 0; status < ARCP_JOB_STATUS_COUNT; status++) {
        sum->ended[status] += more->ended[status];
    }
}

void arcp__job_metrics_add(arcp__job_metrics *sums, const arcp__job_metrics *more)
{
    for (size_t i = 0; i < more->agent_count; i++) {
        add_agent(agent_of(sums, more->agents[i].name), &more->agents[i]);
    }
    add_agent(&sums->agents[ARCP__METRIC_AGENTS_MAX], &more->agents[ARCP__METRIC_AGENTS_MAX]);
    for (size_t i = 0; i <= ARCP__METRIC_CURRENCIES_MAX; i++) {
        const arcp__currency_sum *from = &more->spent[i];
        const bool is_other = i == ARCP__METRIC_CURRENCIES_MAX;
        if (is_other || i < more->currency_count) {
            const size_t index =
                is_other ? i
                         : sum_of(sums->spent, &sums->currency_count, ARCP__METRIC_CURRENCIES_MAX,
                                  arcp_span_cstr(from->currency));
            (void)!arcp_decimal_add(sums->spent[index].amount, from->amount,
                                    &sums->spent[index].amount);
        }
    }
    for (size_t capability = 0; capability < ARCP__CAPABILITY_COUNT; capability++) {
        for (size_t code = 0; code < ARCP_STATUS_COUNT; code++) {
            sums->denials[code][capability] += more->denials[code][capability];
        }
        for (size_t layer = 0; layer < ARCP__DENIAL_LAYER_COUNT; layer++) {
            sums->enforced[layer][capability] += more->enforced[layer][capability];
        }
    }
    sums->began_count += more->began_count;
    sums->denial_count += more->denial_count;
    sums->event_count += more->event_count;
    sums->agent_pauses += more->agent_pauses;
}

/* A sum that would exceed the largest decimal stays as it is. */
void arcp__job_note_cost(arcp__jobs *jobs, arcp__job *job, arcp_span currency, arcp_decimal amount)
{
    arcp__job_metrics *metrics = &jobs->metrics;
    arcp__job_facts *facts = &job->facts;
    size_t index =
        sum_of(metrics->spent, &metrics->currency_count, ARCP__METRIC_CURRENCIES_MAX, currency);
    (void)!arcp_decimal_add(metrics->spent[index].amount, amount, &metrics->spent[index].amount);
    arcp__job_changed(jobs, job);
    if (facts->costs == NULL) {
        facts->costs = arcp__alloc_array(COSTS_MAX, sizeof *facts->costs);
    }
    if (facts->costs == NULL) {
        return; /* only for display; budgets have their own counters */
    }
    index = sum_of(facts->costs, &facts->cost_count, COSTS_MAX, currency);
    if (index < COSTS_MAX) {
        (void)!arcp_decimal_add(facts->costs[index].amount, amount, &facts->costs[index].amount);
    }
}

/* ---- lines ---- */

/* {"USD":"0.9"}; nothing without costs. */
static void write_costs(const arcp__job *job, arcp_buf *out)
{
    const size_t count = job->facts.cost_count;
    if (count == 0) {
        return;
    }
    arcp_json_writer writer = arcp__put_begin(out);
    for (const arcp__currency_sum *cost = job->facts.costs; cost < job->facts.costs + count;
         cost++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        const size_t before = out->size;
        arcp__put_string(&writer, cost->currency,
                         arcp_span_make(amount, arcp_decimal_format(cost->amount, amount)));
        if (out->size >= COSTS_BYTES_MAX) { /* and the brace */
            out->size = before;
            break;
        }
    }
    arcp_json_end_object(&writer);
}

static void open_fields(const arcp__job *job, arcp_json_writer *writer, arcp_buf *out)
{
    arcp_json_writer_init(writer, out);
    arcp_json_begin_object(writer);
    arcp__put_word(writer, "job_id", job->id);
    arcp__put_word(writer, "agent", job->agent_text);
    arcp__put_word(writer, "principal", job->principal->name);
    arcp__put_word(writer, "session_id", job->session_id);
    arcp__put_word(writer, "parent_job_id", job->parent_id);
    arcp__put_word(writer, "trace_id", job->trace_id);
}

void arcp__job_fields(const arcp__job *job, arcp_buf *out)
{
    arcp_json_writer writer;
    open_fields(job, &writer, out);
    arcp_json_end_object(&writer);
}

void arcp__job_log(arcp__jobs *jobs, arcp__log_level level, const arcp__job *job,
                   const char *message)
{
    arcp_buf fields = arcp_buf_init();
    if (!jobs->has_no_log) {
        arcp__job_fields(job, &fields);
        arcp__effect_log_fields(jobs->log, level, message, &fields);
    }
}

void arcp__job_log_end(arcp__jobs *jobs, arcp__job *job)
{
    arcp__agent_metrics *agent = job->live->metrics;
    if (agent == NULL) {
        agent = agent_of(&jobs->metrics, job->agent_text); /* ran before a restart */
    } else {
        agent->live--;
    }
    job->live->metrics = NULL;
    agent->ended[job->status]++;
    if (jobs->has_no_log) {
        return;
    }
    arcp_buf fields = arcp_buf_init();
    arcp_buf costs = arcp_buf_init();
    arcp_json_writer writer;
    char duration[24];
    const char *status = arcp_job_status_name(job->status);
    const int64_t lasted_ns = job->ended_wall_ns - job->created_wall_ns;
    const uint64_t lasted_ms = lasted_ns < 0 ? 0 : (uint64_t)(lasted_ns / ARCP_NS_PER_MS);
    write_costs(job, &costs);
    open_fields(job, &writer, &fields);
    arcp__put_word(&writer, "status", status);
    arcp__put_word(&writer, "code",
                   job->status == ARCP_JOB_SUCCESS ? NULL : arcp_status_wire_code(job->end_code));
    arcp__put_u64(&writer, "duration_ms", lasted_ms);
    arcp__put_raw(&writer, "cost", arcp_buf_span(&costs));
    arcp_json_end_object(&writer);
    fields.failed = fields.failed || costs.failed;
    arcp__effect_log_fields(jobs->log, ARCP__LOG_INFO, "job ended", &fields);
    (void)snprintf(duration, sizeof duration, "%llu", (unsigned long long)lasted_ms);
    arcp__audit(jobs->log, &(arcp__audit_line){
                               .event = ARCP__AUDIT_END,
                               .decision = status,
                               .who = arcp__job_who(job),
                               .code = job->status == ARCP_JOB_SUCCESS ? ARCP_OK : job->end_code,
                               .more = {{"duration_ms", arcp_span_cstr(duration)},
                                        {"cost", arcp_buf_span(&costs)}}});
    arcp_buf_fini(&costs);
}

void arcp__denials_audit_rest(arcp__jobs *jobs, const arcp__job *job)
{
    arcp__denials *denials = &job->live->denials;
    if (denials->unaudited != 0 && job->principal != NULL) {
        arcp__audit(jobs->log, &(arcp__audit_line){.event = ARCP__AUDIT_GATE,
                                                   .decision = "denied",
                                                   .who = arcp__job_who(job),
                                                   .count = denials->unaudited,
                                                   .code = ARCP_E_PERMISSION_DENIED,
                                                   .rule = "lease",
                                                   .reason = "REPEATED"});
    }
    denials->unaudited = 0;
}
