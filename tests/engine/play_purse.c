/* Calls through gateways, and the purses of the two principals: a call holds what it may cost, is
 * sent when the row of its hold is written, and is settled when it ends, at the latest with its
 * job. Amounts are tenths of a USD. After every step, with all that a crash may have lost,
 *
 *   - what a purse holds is what the calls under way hold,
 *   - what providers were sent, or may bill, is spent or held, in memory and on the disk,
 *   - nothing is spent that was not. */
#include "engine/play.h"

#include <ctype.h>

#include "support/check.h"

#include "engine/state.h"
#include "job/job_state.h"
#include "job/purse.h"

#define PURSE_TENTHS 40u
#define HELD_MAX     20u
#define USD          ARCP_SPAN_LITERAL("USD")

static arcp_decimal decimal_of(unsigned tenths)
{
    char text[32];
    arcp_decimal value = ARCP_DECIMAL_ZERO;
    (void)snprintf(text, sizeof text, "%u.%u", tenths / 10, tenths % 10);
    assert_int_equal(arcp_decimal_parse(arcp_span_cstr(text), &value, NULL), ARCP_OK);
    return value;
}

static int64_t tenths_in(const char *text)
{
    const bool is_negative = *text == '-';
    int64_t tenths = 0;
    for (text += is_negative ? 1 : 0; isdigit((unsigned char)*text); text++) {
        tenths = tenths * 10 + (*text - '0');
    }
    tenths *= 10;
    if (*text == '.') {
        assert_true(isdigit((unsigned char)text[1]) && !isdigit((unsigned char)text[2]));
        tenths += text[1] - '0';
    }
    return is_negative ? -tenths : tenths;
}

static int64_t tenths_of(arcp_decimal value)
{
    char text[ARCP_DECIMAL_TEXT_MAX + 1];
    text[arcp_decimal_format(value, text)] = '\0';
    return tenths_in(text);
}

static play_purse *purse_of(play *p, const rig_agent *agent)
{
    return &p->purses[strcmp(agent->job->principal->name, "bob") == 0];
}

static arcp_budget *budget_of(const rig_agent *agent)
{
    return arcp_authority_budget(agent->job->live->authority);
}

/* ---- on the disk ---- */

static int64_t amount_in(arcp_span row)
{
    static const char mark[] = "\"USD\":\"";
    const char *found = memmem(row.data, row.size, mark, sizeof mark - 1);
    assert_non_null(found);
    return tenths_in(found + sizeof mark - 1);
}

static void on_row(void *user, const arcp_store_op *op)
{
    play *p = user;
    if (arcp_span_starts_with(op->key, ARCP_SPAN_LITERAL("purse/"))) {
        play_purse *purse = &p->purses[arcp_span_ends_with(op->key, ARCP_SPAN_LITERAL("/bob"))];
        assert_int_equal(op->kind, ARCP_STORE_PUT); /* the day does not end */
        purse->stored = amount_in(op->value);
        return;
    }
    const arcp_span id = arcp_span_from(op->key, strlen("hold/"));
    if (op->kind == ARCP_STORE_PUT) {
        assert_true(p->hold_count < PLAY_CALLS_MAX);
        play_hold *hold = &p->holds[p->hold_count++];
        hold->purse = memmem(op->value.data, op->value.size, "/bob\"", 5) != NULL;
        hold->held = amount_in(op->value);
        (void)snprintf(hold->id, sizeof hold->id, "%.*s", (int)id.size, id.data);
        return;
    }
    for (size_t i = 0; i < p->hold_count; i++) {
        if (arcp_span_equal_cstr(id, p->holds[i].id)) {
            p->holds[i] = p->holds[--p->hold_count];
            return;
        }
    }
}

static int64_t stored_holds(const play *p, size_t purse)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->hold_count; i++) {
        sum += p->holds[i].purse == purse ? p->holds[i].held : 0;
    }
    return sum;
}

/* ---- calls ---- */

/* The call is over: its hold is released, or replaced by what it cost. */
static void settle(play *p, play_call *ended, const arcp__settle_sink *sink)
{
    const play_call call = *ended;
    arcp_budget *budget = budget_of(call.agent);
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    /* A call that was not sent costs nothing. */
    const unsigned cost = call.state == PLAY_CALL_SENT ? play_pick(p, call.held + 1) : 0;
    arcp__job_message message = {.kind = ARCP_EVENT_METRIC,
                                 .hold_id = arcp_span_cstr(call.id),
                                 .amount = decimal_of(cost),
                                 .is_spent = cost != 0,
                                 .reports = reports};
    if (cost == 0) {
        arcp_budget_unreserve(budget, USD, decimal_of(call.held));
    } else {
        message.kind_text = ARCP_SPAN_LITERAL("metric");
        message.body = ARCP_SPAN_LITERAL("{\"name\":\"cost.x\",\"value\":1,\"unit\":\"USD\"}");
        message.unit = USD;
        message.report_count =
            arcp_budget_settle(budget, USD, decimal_of(call.held), message.amount, reports,
                               ARCP__JOB_PORT_REPORTS_MAX);
    }
    call.purse->billed += cost;
    call.purse->may_be_spent += cost;
    p->settled += cost != 0;
    *ended = p->calls[--p->call_count];
    if (call.state == PLAY_CALL_HELD) {
        return; /* the engine knows nothing of it */
    }
    if (sink != NULL) {
        sink->message(sink->user, &message);
    } else {
        arcp__engine_agent_message(p->rig.engine, p->rig.now, call.agent->job, &message);
        rig_run(&p->rig);
    }
}

void play_purse_job_ends(void *user, struct arcp__job *job, const arcp__settle_sink *sink)
{
    play *p = user;
    for (size_t i = 0; i < p->call_count;) {
        if (p->calls[i].agent->job == job && !p->calls[i].agent->forgotten) {
            settle(p, &p->calls[i], sink); /* another one takes its place */
        } else {
            i++;
        }
    }
}

static void begin_call(play *p, const rig_agent *agent)
{
    const unsigned held = 1 + play_pick(p, HELD_MAX);
    if (p->call_count == PLAY_CALLS_MAX || p->hold_count + p->call_count + 2 > PLAY_CALLS_MAX ||
        !arcp_budget_reserve(budget_of(agent), USD, decimal_of(held))) {
        return; /* it is refused, or waits */
    }
    play_call *call = &p->calls[p->call_count++];
    *call = (play_call){
        .agent = agent, .purse = purse_of(p, agent), .held = held, .state = PLAY_CALL_HELD};
    (void)snprintf(call->id, sizeof call->id, "call_%026zu", p->call_ids++);
}

/* The hold is queued for the engine. */
static void tell(play *p, play_call *call)
{
    char held[40];
    (void)snprintf(held, sizeof held, "{\"USD\":\"%u.%u\"}", call->held / 10, call->held % 10);
    call->state = PLAY_CALL_TOLD;
    const arcp__job_message message = {.hold_id = arcp_span_cstr(call->id),
                                       .held = arcp_span_cstr(held)};
    arcp__engine_agent_message(p->rig.engine, p->rig.now, call->agent->job, &message);
    rig_run(&p->rig);
}

/* One of the agent's calls; NULL: it has none. */
static play_call *some_call(play *p, const rig_agent *agent)
{
    const size_t from = p->call_count == 0 ? 0 : play_pick(p, (unsigned)p->call_count);
    for (size_t i = 0; i < p->call_count; i++) {
        play_call *call = &p->calls[(from + i) % p->call_count];
        if (call->agent == agent) {
            return call;
        }
    }
    return NULL;
}

bool play_purse_acts(play *p, const rig_agent *agent)
{
    if (!p->temper.purses || agent->forgotten || agent->starting ||
        arcp__job_has_ended(agent->job) || agent->job->live->purse == NULL || play_one_in(p, 2)) {
        return false;
    }
    play_call *call = some_call(p, agent);
    if (call == NULL || play_one_in(p, 3)) {
        begin_call(p, agent);
    } else if (call->state == PLAY_CALL_HELD && !play_one_in(p, 4)) {
        tell(p, call);
    } else if (call->state == PLAY_CALL_SENT || play_one_in(p, 4)) {
        settle(p, call, NULL);
    }
    return true;
}

void play_purse_stored(play *p, const char *id)
{
    for (size_t i = 0; i < p->call_count; i++) {
        if (strcmp(p->calls[i].id, id) == 0) {
            assert_int_equal(p->calls[i].state, PLAY_CALL_TOLD);
            p->calls[i].state = PLAY_CALL_SENT;
            p->sent++;
        }
    }
}

/* ---- begin, restart, checks ---- */

void play_purse_begin(play *p)
{
    char row[80];
    if (p->temper.purses) {
        p->disk.on_money = on_row;
        p->disk.on_money_user = p;
        (void)snprintf(row, sizeof row, "{\"spend\":{\"cost.budget\":[\"USD:%u\"]}}",
                       PURSE_TENTHS / 10);
        rig_policy(&p->rig, row);
    }
}

/* What was sent may be billed, and what is held on the disk counts as spent. */
void play_purse_crash(play *p)
{
    for (size_t i = 0; i < p->call_count; i++) {
        if (p->calls[i].state == PLAY_CALL_SENT) {
            p->calls[i].purse->billed += p->calls[i].held;
        }
    }
    p->call_count = 0;
    for (size_t i = 0; i < 2; i++) {
        p->purses[i].may_be_spent += stored_holds(p, i);
    }
}

static void check_memory(play *p, const rig_agent *agent, const int64_t *held)
{
    const play_purse *purse = purse_of(p, agent);
    const arcp_budget *budget = arcp__purse_budget(agent->job->live->purse);
    const int64_t spent = tenths_of(arcp_budget_spent(budget, 0));
    const int64_t reserved = tenths_of(arcp_budget_initial(budget, 0)) - spent -
                             tenths_of(arcp_budget_remaining(budget, 0));
    const int64_t by_agents = (int64_t)p->spends * 3;
    if (reserved != held[purse - p->purses]) {
        watch_fail(&p->watch, "a purse holds something else than its calls", agent->job_id);
    }
    if (spent < purse->billed || spent > purse->may_be_spent + by_agents) {
        watch_fail(&p->watch, "of a purse something else was spent than its calls cost",
                   agent->job_id);
    }
    if (spent + reserved > PURSE_TENTHS + by_agents) {
        watch_fail(&p->watch, "calls have more than their purse", agent->job_id);
    }
}

void play_purse_check(play *p)
{
    int64_t held[2] = {0, 0};
    int64_t sent[2] = {0, 0};
    if (!p->temper.purses) {
        return;
    }
    for (size_t i = 0; i < p->call_count; i++) {
        held[p->calls[i].purse - p->purses] += p->calls[i].held;
        sent[p->calls[i].purse - p->purses] +=
            p->calls[i].state == PLAY_CALL_SENT ? p->calls[i].held : 0;
    }
    for (size_t i = 0; i < 2; i++) {
        if (p->purses[i].stored + stored_holds(p, i) < p->purses[i].billed + sent[i]) {
            watch_fail(&p->watch, "a crash would forget what may be billed", "");
        }
    }
    for (size_t i = 0; i < p->rig.agent_count; i++) {
        const rig_agent *agent = &p->rig.agents[i];
        /* Between two effects the engine may have removed a job whose end the owner does not know.
         */
        const arcp__job *job = arcp__job_find(&p->rig.engine->jobs, arcp_span_cstr(agent->job_id));
        if (!agent->forgotten && job != NULL && job->live->purse != NULL) {
            check_memory(p, agent, held);
        }
    }
}

void play_purse_settled(play *p)
{
    if (p->call_count != 0) {
        watch_fail(&p->watch, "all jobs have ended, and a call has not", p->calls[0].id);
    }
    if (p->hold_count != 0) {
        watch_fail(&p->watch, "no call is under way, and a hold is stored", p->holds[0].id);
    }
}
