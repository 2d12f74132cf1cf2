/* The workers of the simulation, and the programs that they run. */
#include "engine/worker_simulation.h"

item_kind simulation_kind_of(const simulation *s, const program *p, uint64_t item)
{
    return p->is_child ? KIND_EVENT
                       : (item_kind)((item * 7 + (uint64_t)(p - s->programs) * 3) % 11 % KINDS);
}

static void *start(void *user, arcp__worker_job *job, const arcp__worker_message *order,
                   char message[256])
{
    simulated_worker *w = user;
    simulation *s = w->of;
    program *p = simulation_program(s, order->start.job);
    (void)message;
    p->worker = w;
    p->is_child = arcp_span_starts_with(order->start.agent, ARCP_SPAN_LITERAL("work")) ||
                  arcp_span_starts_with(order->start.agent, ARCP_SPAN_LITERAL("chore"));
    p->items = p->is_child ? 1 : p->items;
    p->is_busy = s->setup.offers && simulation_draw(s, 4) == 0;
    p->starts += !p->is_busy;
    simulation_expect(s, p->starts <= 1, "a job starts twice");
    p->is_killed = false;
    p->reads = true;
    p->runs = true; /* from the order on: it may be there already */
    p->job = job;
    p->start_ns = simulation_now(s) + chance_draw_ns(&s->chance, 500);
    return p;
}

/* Replies have the item's number as their id. */
static void write_line(void *user, void *of, arcp_span line)
{
    simulation *s = ((simulated_worker *)user)->of;
    program *p = of;
    const arcp_span id = ARCP_SPAN_LITERAL("\"re\":\"");
    const char *re = memmem(line.data, line.size, id.data, id.size);
    if (re == NULL) {
        return; /* job.credentials */
    }
    const uint64_t item = strtoull(re + id.size, NULL, 10);
    assert_in_range(item, 1, ITEMS_MAX);
    p->replies[item]++;
    simulation_expect(s, p->replies[item] == 1, "an item gets two replies");
}

static void kill_program(void *user, void *of, bool at_once)
{
    simulation *s = ((simulated_worker *)user)->of;
    program *p = of;
    (void)at_once;
    if (!p->is_killed) {
        p->is_killed = true;
        p->end_ns = simulation_now(s) + chance_draw_ns(&s->chance, 4000);
    }
}

static void read_program(void *user, void *of, bool reads)
{
    (void)user;
    ((program *)of)->reads = reads;
}

static void forget(void *user, void *of)
{
    (void)user;
    ((program *)of)->job = NULL;
}

/* ---- what a program writes ---- */

static void format_item(const simulation *s, const program *p, uint64_t item, char line[256])
{
    static const char *const lines[KINDS + 1] = {
        [KIND_EVENT] =
            "{\"type\":\"job.event\",\"payload\":{\"kind\":\"thought\",\"body\":{\"text\":"
            "\"#%llu.\"}}}",
        [KIND_PROGRESS] =
            "{\"type\":\"job.event\",\"id\":\"%llu\",\"payload\":{\"kind\":\"progress\","
            "\"body\":{\"current\":1}}}",
        [KIND_AUTHORIZE] = "{\"type\":\"authorize\",\"id\":\"%llu\",\"payload\":{\"capability\":"
                           "\"tool.call\",\"target\":\"x\"}}",
        [KIND_METRIC] = "{\"type\":\"job.event\",\"id\":\"%llu\",\"payload\":{\"kind\":\"metric\","
                        "\"body\":{\"name\":\"cost.x\",\"value\":1,\"unit\":\"USD\"}}}",
        [KIND_DELEGATE] = "{\"type\":\"delegate\",\"id\":\"%llu\",\"payload\":{\"agent\":\"work\","
                          "\"wait\":true,\"lease_request\":{}}}",
        [KINDS] = "{\"type\":\"delegate\",\"id\":\"%llu\",\"payload\":{\"agent\":\"chore\","
                  "\"wait\":true,\"lease_request\":{}}}",
    };
    const item_kind kind = simulation_kind_of(s, p, item);
    const item_kind form = kind == KIND_DELEGATE && s->setup.offers ? KINDS : kind;
    /* Each of the formats has one number. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(line, 256, lines[form], (unsigned long long)item);
#pragma GCC diagnostic pop
}

static bool has_replies(const simulation *s, const program *p)
{
    for (uint64_t item = 1; item <= p->items && !p->is_exempt; item++) {
        if (simulation_kind_of(s, p, item) != KIND_EVENT && p->replies[item] == 0) {
            return false;
        }
    }
    return true;
}

static void exit_program(program *p)
{
    const arcp__worker_exited exited = {
        .is_known = true, .by_signal = p->is_killed, .code = p->is_killed ? 9 : 0};
    p->runs = false;
    arcp__worker_core_exited(p->worker->core, p->job, &exited, arcp_span_make(NULL, 0));
}

static void write_item(program *p, const char *line)
{
    p->written++;
    arcp__worker_core_item(p->worker->core, p->job, ARCP__WORKER_ITEM_LINE, arcp_span_cstr(line));
}

static void run_program(simulation *s, program *p)
{
    char line[256];
    if (!p->runs) {
        return;
    }
    if (p->is_killed && simulation_now(s) >= p->end_ns) {
        exit_program(p);
        return;
    }
    if (simulation_now(s) < p->start_ns || p->is_killed) {
        return;
    }
    if (p->is_busy) {
        p->runs = p->is_busy = false;
        arcp__worker_core_refuse(p->worker->core, p->job, ARCP__WORKER_BUSY,
                                 arcp_span_make(NULL, 0));
        return;
    }
    if (p->start_ns != 0) {
        p->start_ns = 0;
        arcp__worker_core_started(p->worker->core, p->job, 1 + (uint64_t)(p - s->programs));
    }
    if (p->reads && p->written < p->items && simulation_draw(s, 3) == 0) {
        format_item(s, p, p->written + 1, line);
        write_item(p, line);
    } else if (p->written == p->items && has_replies(s, p)) {
        write_item(p, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    } else if (p->written > p->items) {
        exit_program(p);
    }
}

/* ---- the worker ---- */

/* A life of the worker begins. */
static void begin_life(simulated_worker *w)
{
    (void)snprintf(w->instance, sizeof w->instance, "i%u", w->of->lives++);
    const arcp__worker_hello hello = {.v_low = 1,
                                      .v_high = 1,
                                      .version = {"1", 1},
                                      .name = arcp_span_cstr(w->name),
                                      .instance = arcp_span_cstr(w->instance),
                                      .boot_id = {"b", 1}};
    const arcp__worker_programs programs = {start,
                                            write_line,
                                            kill_program,
                                            read_program,
                                            simulation_ignore_text,
                                            simulation_ignore_rows,
                                            forget,
                                            w,
                                            NULL};
    w->core = arcp__worker_core_new(&hello, &programs, simulation_now(w->of));
    assert_non_null(w->core);
}

void simulation_begin_workers(simulation *s)
{
    for (size_t i = 0; i < s->setup.workers; i++) {
        simulated_worker *w = &s->workers[i];
        w->of = s;
        (void)snprintf(w->name, sizeof w->name, i == 0 ? "w" : "w%zu", i);
        begin_life(w);
    }
}

void simulation_kill_worker(simulated_worker *w)
{
    simulation *s = w->of;
    simulation_cut(w);
    for (size_t i = 0; i < s->program_count; i++) {
        program *p = &s->programs[i];
        if (p->worker == w && p->job != NULL) {
            p->is_exempt = true; /* it is lost */
            p->runs = false;
            p->job = NULL;
        }
    }
    arcp__worker_core_free(w->core);
    w->link.is_up = w->is_draining = false;
    w->link.connects_ns = simulation_now(s) + chance_draw_ns(&s->chance, 2000);
    begin_life(w);
}

void simulation_run_worker(simulated_worker *w)
{
    simulation *s = w->of;
    link_feed_worker(&w->link, &s->chance, w->core, simulation_now(s));
    for (size_t i = 0; i < s->program_count; i++) {
        if (s->programs[i].worker == w) {
            run_program(s, &s->programs[i]);
        }
    }
    link_run_worker(&w->link, &s->chance, w->core, simulation_now(s));
}
