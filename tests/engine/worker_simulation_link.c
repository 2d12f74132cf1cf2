/* The link of the simulation: frames are delayed, arrive in order, and are lost when it is cut. */
#include "engine/worker_simulation.h"

uint64_t simulation_draw(simulation *s, uint64_t below)
{
    uint64_t z = (s->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

void simulation_expect(simulation *s, bool holds, const char *problem)
{
    if (!holds && s->problem == NULL) {
        s->problem = problem;
    }
}

program *simulation_program(simulation *s, arcp_span job)
{
    for (size_t i = 0; i < s->program_count; i++) {
        if (arcp_span_equal_cstr(job, s->programs[i].id)) {
            return &s->programs[i];
        }
    }
    assert_true(s->program_count < PROGRAMS_MAX);
    program *p = &s->programs[s->program_count++];
    (void)snprintf(p->id, sizeof p->id, "%.*s", (int)job.size, job.data);
    return p;
}

void simulation_drop(one_way *way)
{
    while (way->first != NULL) {
        frame *first = way->first;
        way->first = first->next;
        arcp_buf_fini(&first->bytes);
        free(first);
    }
    way->last = NULL;
}

void simulation_post(simulation *s, one_way *way, const arcp__worker_message *message)
{
    frame *sent = calloc(1, sizeof *sent);
    const int64_t due_ns = simulation_now(s) + (int64_t)simulation_draw(s, 400) * ARCP_NS_PER_MS;
    assert_non_null(sent);
    sent->due_ns = way->last != NULL && way->last->due_ns > due_ns ? way->last->due_ns : due_ns;
    arcp__worker_message_write(message, &sent->bytes);
    assert_false(sent->bytes.failed);
    if (way->last == NULL) {
        way->first = sent;
    } else {
        way->last->next = sent;
    }
    way->last = sent;
}

frame *simulation_arrived(simulation *s, one_way *way)
{
    frame *first = way->first;
    if (first == NULL || first->due_ns > simulation_now(s)) {
        return NULL;
    }
    way->first = first->next;
    way->last = way->first == NULL ? NULL : way->last;
    return first;
}

void simulation_cut(simulated_worker *w)
{
    simulation *s = w->of;
    if (!w->is_cut && (w->link_is_up || w->peer != NULL)) {
        w->is_cut = true;
        simulation_drop(&w->up);
        simulation_drop(&w->down);
        w->worker_notices_ns =
            simulation_now(s) + (int64_t)simulation_draw(s, 3000) * ARCP_NS_PER_MS;
        w->notices_ns = simulation_now(s) + (int64_t)simulation_draw(s, 3000) * ARCP_NS_PER_MS;
    }
}
