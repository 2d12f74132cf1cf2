#include "worker/simulation.h"

#define LINE_BYTES_MAX 100000u

/* ---- chance ---- */

chance chance_of_seed(uint64_t seed)
{
    return (chance){.random = seed * 0x2545f4914f6cdd1du + 1};
}

uint64_t chance_draw(chance *of, uint64_t below)
{
    uint64_t z = (of->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

int64_t chance_draw_ns(chance *of, uint64_t below_ms)
{
    return (int64_t)chance_draw(of, below_ms) * ARCP_NS_PER_MS;
}

void chance_expect(chance *of, bool holds, const char *problem)
{
    if (!holds && of->problem == NULL) {
        of->problem = problem;
    }
}

void chance_expect_ok(chance *of, arcp_status status, const char *side, const arcp_error *err)
{
    if (status != ARCP_OK && of->problem == NULL) {
        (void)snprintf(of->text, sizeof of->text, "the %s closes the link: %.250s", side,
                       err->message);
        of->problem = of->text;
    }
}

/* ---- the link ---- */

void frame_free(frame *in)
{
    arcp_buf_fini(&in->bytes);
    free(in);
}

static void drop(one_way *way)
{
    while (way->first != NULL) {
        frame *first = way->first;
        way->first = first->next;
        frame_free(first);
    }
    way->last = NULL;
}

void link_drop(simulated_link *link)
{
    drop(&link->up);
    drop(&link->down);
}

void link_post(simulated_link *link, one_way *way, chance *by, int64_t now_ns,
               const arcp__worker_message *message)
{
    if (link->is_cut) {
        return;
    }
    frame *sent = calloc(1, sizeof *sent);
    const int64_t due_ns = now_ns + chance_draw_ns(by, 400);
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

frame *link_arrived(one_way *way, int64_t now_ns)
{
    frame *first = way->first;
    if (first == NULL || first->due_ns > now_ns) {
        return NULL;
    }
    way->first = first->next;
    way->last = way->first == NULL ? NULL : way->last;
    return first;
}

void link_cut(simulated_link *link, chance *by, int64_t now_ns)
{
    if (!link->is_cut) {
        link->is_cut = true;
        link_drop(link);
        link->worker_notices_ns = now_ns + chance_draw_ns(by, 3000);
        link->runtime_notices_ns = now_ns + chance_draw_ns(by, 3000);
    }
}

void link_connect(simulated_link *link, arcp__worker_core *core, int64_t now_ns)
{
    link_drop(link);
    link->is_cut = false;
    link->is_up = true;
    arcp__worker_core_connected(core, now_ns);
}

void link_feed_worker(simulated_link *link, chance *by, arcp__worker_core *core, int64_t now_ns)
{
    arcp__worker_reader reader = {.line_bytes_max = LINE_BYTES_MAX};
    for (frame *in = NULL; link->is_up && (in = link_arrived(&link->down, now_ns)) != NULL;
         frame_free(in)) {
        arcp__worker_message message;
        arcp_error err = {0};
        arcp_status status = arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_RUNTIME,
                                                       arcp_buf_span(&in->bytes), &message, &err);
        if (status == ARCP_OK) {
            status = arcp__worker_core_receive(core, now_ns, &message, &err);
        }
        chance_expect_ok(by, status, "worker", &err);
    }
    arcp__worker_reader_fini(&reader);
}

void link_run_worker(simulated_link *link, chance *by, arcp__worker_core *core, int64_t now_ns)
{
    arcp__worker_message message;
    if (now_ns - link->ticked_ns >= ARCP__WORKER_TICK_NS) {
        link->ticked_ns = now_ns;
        if (!arcp__worker_core_tick(core, now_ns) && link->is_up) {
            link_cut(link, by, now_ns);
            link->worker_notices_ns = now_ns;
        }
    }
    if (link->is_up && link->is_cut && now_ns >= link->worker_notices_ns) {
        link->is_up = false;
        arcp__worker_core_disconnected(core, now_ns);
        link->connects_ns = now_ns + chance_draw_ns(by, chance_draw(by, 12) == 0 ? 40000 : 2000);
    }
    for (unsigned room = (unsigned)chance_draw(by, 6); link->is_up && room != 0; room--) {
        if (!arcp__worker_core_next(core, now_ns, &message)) {
            break;
        }
        link_post(link, &link->up, by, now_ns, &message);
    }
    chance_expect(by, !arcp__worker_core_has_failed(core), "the worker has failed");
}

/* ---- programs ---- */

void simulation_ignore_text(void *user, void *program, arcp_span text)
{
    (void)user;
    (void)program;
    (void)text;
}

void simulation_ignore_rows(void *user, arcp_span rows)
{
    (void)user;
    (void)rows;
}

/* ---- seeds ---- */

void simulation_play_seeds(simulation_play_fn *play, const void *setup, uint64_t seeds)
{
    const char *one = getenv("ARCP_WORKER_SEED");
    const char *many = getenv("ARCP_WORKER_SEEDS");
    const uint64_t first = one == NULL ? 0 : strtoull(one, NULL, 10);
    const uint64_t end = one != NULL ? first + 1 : many != NULL ? strtoull(many, NULL, 10) : seeds;
    for (uint64_t seed = first; seed < end; seed += test_stride()) {
        int step = 0;
        const char *problem = play(seed, setup, 0, &step);
        if (problem != NULL) {
            fail_msg("ARCP_WORKER_SEED=%" PRIu64 ", step %d: %s", seed, step, problem);
        }
    }
}

void simulation_find_fault(simulation_play_fn *play, const void *setup, int fault, uint64_t seeds)
{
    int step = 0;
    uint64_t seed = 0;
    while (seed < seeds && play(seed, setup, fault, &step) == NULL) {
        seed++;
    }
    assert_true(seed < seeds);
    print_message("seed %" PRIu64 " finds it\n", seed);
}
