/* The worker of the simulation, and the programs that it runs. */
#include "base/digits.h"
#include "worker/worker_simulation.h"

static void *start(void *user, arcp__worker_job *job, const arcp__worker_message *order,
                   char message[256])
{
    simulation *s = user;
    program *p = &s->programs[simulation_index_of(order->start.job)];
    (void)message;
    p->starts++;
    simulation_expect(s, p->starts == 1, "a job starts twice");
    p->is_started = true;
    p->reads = true;
    p->runs = true; /* from the order on: it may be there already */
    p->job = job;
    p->start_ns = s->now_ns + chance_draw_ns(&s->chance, 500);
    return p;
}

static void write_line(void *user, void *of, arcp_span line)
{
    simulation *s = user;
    program *p = of;
    uint64_t item = 0;
    assert_true(arcp__digits_parse(line, &item) && item <= ITEMS_MAX);
    p->replies[item]++;
    simulation_expect(s, p->replies[item] == 1, "an item gets two replies");
}

static void kill_program(void *user, void *of, bool at_once)
{
    simulation *s = user;
    program *p = of;
    (void)at_once;
    if (!p->is_killed) {
        p->is_killed = true;
        p->end_ns = s->now_ns + chance_draw_ns(&s->chance, 4000);
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

arcp__worker_programs simulation_programs(simulation *s)
{
    return (arcp__worker_programs){start,
                                   write_line,
                                   kill_program,
                                   read_program,
                                   simulation_ignore_text,
                                   simulation_ignore_rows,
                                   forget,
                                   s,
                                   NULL};
}

static bool has_replies(const program *p, uint64_t job)
{
    for (uint64_t n = 1; n <= p->items; n++) {
        if (simulation_kind_of(job, n) != KIND_EVENT && p->replies[n] == 0) {
            return false;
        }
    }
    return true;
}

static void exit_program(simulation *s, program *p)
{
    const arcp__worker_exited exited = {.is_known = true};
    p->runs = false;
    p->has_exited = true;
    arcp__worker_core_exited(s->core, p->job, &exited, arcp_span_make(NULL, 0));
}

static void run_program(simulation *s, size_t i)
{
    program *p = &s->programs[i];
    if (!p->runs) {
        return;
    }
    if (p->is_killed && s->now_ns >= p->end_ns) {
        exit_program(s, p);
        return;
    }
    if (s->now_ns < p->start_ns) {
        return;
    }
    if (p->start_ns != 0) {
        p->start_ns = 0;
        arcp__worker_core_started(s->core, p->job, 1 + i);
    }
    if (p->reads && p->written < p->items && simulation_draw(s, 3) == 0) {
        p->written++;
        arcp__worker_core_item(s->core, p->job,
                               p->written % 5 == 0 ? ARCP__WORKER_ITEM_RECORD
                                                   : ARCP__WORKER_ITEM_LINE,
                               ARCP_SPAN_LITERAL("{\"type\":\"job.event\"}"));
    } else if (p->reads && p->bytes_out < p->bytes) {
        char bytes[500];
        const size_t most =
            p->bytes - p->bytes_out < sizeof bytes ? p->bytes - p->bytes_out : sizeof bytes;
        const size_t size = 1 + simulation_draw(s, most);
        for (size_t k = 0; k < size; k++) {
            bytes[k] = (char)((p->bytes_out + k) % 251);
        }
        p->bytes_out += size;
        arcp__worker_core_output(s->core, p->job, arcp_span_make(bytes, size));
    } else if (p->written == p->items && p->bytes_out == p->bytes && has_replies(p, i) &&
               !p->is_killed) {
        exit_program(s, p);
    }
}

void simulation_run_worker(simulation *s)
{
    link_feed_worker(&s->link, &s->chance, s->core, s->now_ns);
    for (size_t i = 0; i < JOBS; i++) {
        run_program(s, i);
    }
    if (!s->link.is_up && s->is_up && s->now_ns >= s->link.connects_ns) {
        link_connect(&s->link, s->core, s->now_ns);
        s->sees_link = true;
        s->has_greeted = false;
    }
    link_run_worker(&s->link, &s->chance, s->core, s->now_ns);
}
