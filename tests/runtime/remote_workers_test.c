/* How many workers of other machines, and how many of their agents, a runtime takes
 * (src/runtime/worker_links.c, worker_offers.c). */
#include "runtime/runtime_rig.h"

#include "support/check.h"

#include "runtime/runtime_worker.h"
#include "runtime/worker_links.h"

#define TOKEN "t"

typedef struct end {
    arcp__worker_link *link;
    bool is_welcome, has_ended;
    char why[128]; /* it was refused */
} end;

static runtime_rig rig;
static end ends[ARCP__REMOTE_WORKERS_MAX + 2];

static arcp_status on_message(void *user, const arcp__worker_message *message, arcp_error *err)
{
    end *e = user;
    (void)err;
    e->is_welcome = e->is_welcome || message->kind == ARCP__WORKER_WELCOME;
    return ARCP_OK;
}

static void on_room(void *user)
{
    (void)user;
}

static void on_ended(void *user, const char *why)
{
    end *e = user;
    e->has_ended = true;
    (void)snprintf(e->why, sizeof e->why, "%s", why == NULL ? "" : why);
}

static bool is_answered(void *user)
{
    const end *e = user;
    return e->is_welcome || e->has_ended;
}

/* The worker `index` offers `count` agents whose names no other worker has, from `first` on. */
static void say_hello_with(size_t index, size_t first, size_t count)
{
    static char names[ARCP__WORKER_OFFERS_MAX][16];
    static arcp__worker_offer offers[ARCP__WORKER_OFFERS_MAX];
    end *e = &ends[index];
    char name[16];
    arcp_connection *ours = NULL;
    arcp_connection *served = NULL;
    arcp_error error = {0};
    const arcp__worker_link_events events = {
        .message = on_message, .has_room = on_room, .ended = on_ended, .user = e};
    (void)snprintf(name, sizeof name, "w%zu", index);
    check_ok(arcp_memory_pair(&rig.loop, NULL, &ours, &served, &error), &error);
    e->link = arcp__worker_link_over(ours, ARCP__WORKER_SIDE_WORKER, &events);
    assert_non_null(e->link);
    arcp__runtime_serve_worker(rig.runtime, served);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "a%zu", first + i);
        offers[i] = (arcp__worker_offer){.name = arcp_span_cstr(names[i]),
                                         .version = ARCP_SPAN_LITERAL("1.0.0"),
                                         .mode = ARCP_SPAN_LITERAL("arcp")};
    }
    arcp__worker_link_send(e->link,
                           &(arcp__worker_message){.kind = ARCP__WORKER_HELLO,
                                                   .hello = {.v_low = ARCP__WORKER_V_LOW,
                                                             .v_high = ARCP__WORKER_V_HIGH,
                                                             .version = ARCP_SPAN_LITERAL("1"),
                                                             .token = ARCP_SPAN_LITERAL(TOKEN),
                                                             .name = arcp_span_cstr(name),
                                                             .instance = arcp_span_cstr(name),
                                                             .boot_id = ARCP_SPAN_LITERAL("b"),
                                                             .offers = offers,
                                                             .offer_count = count}});
    runtime_rig_until(&rig, is_answered, e);
}

static void say_hello(size_t index)
{
    say_hello_with(index, 0, 0);
}

static void leave(size_t index)
{
    arcp__worker_link_close(ends[index].link);
    ends[index].link = NULL;
}

static bool has_room(void *user)
{
    (void)user;
    return rig.runtime->worker_links->remote_count < ARCP__REMOTE_WORKERS_MAX;
}

static void two_hundred_and_fifty_six_workers_join_and_no_more(void **state)
{
    const arcp__worker_token_row token = {.token = TOKEN, .name = "*"};
    arcp_error error = {0};
    (void)state;
    memset(ends, 0, sizeof ends);
    runtime_rig_start(&rig, NULL);
    check_ok(arcp__runtime_set_worker_tokens(rig.runtime, &token, 1, &error), &error);
    for (size_t i = 0; i < ARCP__REMOTE_WORKERS_MAX; i++) {
        say_hello(i);
        assert_true(ends[i].is_welcome);
    }
    say_hello(ARCP__REMOTE_WORKERS_MAX);
    assert_false(ends[ARCP__REMOTE_WORKERS_MAX].is_welcome);
    assert_non_null(strstr(ends[ARCP__REMOTE_WORKERS_MAX].why, "256 workers are connected"));
    leave(0); /* one that leaves makes room */
    runtime_rig_until(&rig, has_room, NULL);
    say_hello(ARCP__REMOTE_WORKERS_MAX + 1);
    assert_true(ends[ARCP__REMOTE_WORKERS_MAX + 1].is_welcome);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        leave(i);
    }
    runtime_rig_stop(&rig);
}

static void agents_beyond_the_bound_are_refused_with_their_worker(void **state)
{
    const arcp__worker_token_row token = {.token = TOKEN, .name = "*"};
    const size_t hellos = ARCP__OFFERED_AGENTS_MAX / ARCP__WORKER_OFFERS_MAX;
    arcp_error error = {0};
    (void)state;
    memset(ends, 0, sizeof ends);
    runtime_rig_start(&rig, NULL);
    check_ok(arcp__runtime_set_worker_tokens(rig.runtime, &token, 1, &error), &error);
    for (size_t i = 0; i < hellos; i++) {
        say_hello_with(i, i * ARCP__WORKER_OFFERS_MAX, ARCP__WORKER_OFFERS_MAX);
        assert_true(ends[i].is_welcome);
    }
    say_hello_with(hellos, 0, 1);
    assert_false(ends[hellos].is_welcome);
    assert_non_null(strstr(ends[hellos].why, "4096 different agents"));
    say_hello(hellos + 1); /* one that offers nothing new joins */
    assert_true(ends[hellos + 1].is_welcome);
    for (size_t i = 0; i < hellos + 2; i++) {
        leave(i);
    }
    runtime_rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_beyond_the_bound_are_refused_with_their_worker),
        cmocka_unit_test(two_hundred_and_fifty_six_workers_join_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
