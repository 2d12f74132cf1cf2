/* One drive of a runtime is one of many things that its loop has to do. */
#include "runtime/runtime_rig.h"

#include "support/check.h"

#include <arcp/sys/store.h>

#define ROUNDS_MAX 64u /* src/runtime/runtime_drive.c */

/* A memory store that says for a while that it has more. */
static arcp_store_ops busy_ops;
static bool (*poll_memory)(arcp_store *store);
static unsigned rounds_left;         /* so long */
static unsigned rounds, most_rounds; /* in this turn of the loop; in any */

static bool poll_busily(arcp_store *store)
{
    bool has_more = poll_memory(store);
    rounds++;
    if (rounds_left == 0) {
        return has_more;
    }
    rounds_left--;
    return true;
}

static arcp_store *open_busy_store(void)
{
    arcp_store *store = NULL;
    arcp_error error = {0};
    check_ok(arcp_store_open_memory(&store, &error), &error);
    busy_ops = *store->ops;
    poll_memory = busy_ops.poll;
    busy_ops.poll = poll_busily;
    store->ops = &busy_ops;
    return store;
}

static void on_turn(uv_check_t *turn)
{
    (void)turn;
    most_rounds = rounds > most_rounds ? rounds : most_rounds;
    rounds = 0;
}

static bool is_quiet(void *user)
{
    (void)user;
    return rounds_left == 0;
}

static void other_handles_have_their_turn_while_a_store_is_busy(void **state)
{
    static runtime_rig rig;
    uv_check_t turn;
    arcp_runtime_options options = ARCP_RUNTIME_OPTIONS_INIT;
    (void)state;
    runtime_rig_begin(&rig);
    options.store = open_busy_store();
    runtime_rig_open(&rig, &options);
    assert_int_equal(uv_check_init(&rig.loop, &turn), 0);
    assert_int_equal(uv_check_start(&turn, on_turn), 0);
    rounds = most_rounds = 0;
    rounds_left = 20 * ROUNDS_MAX;
    runtime_rig_send(&rig, "session.ping", "{}");
    (void)runtime_rig_wait(&rig, "\"session.pong\"");
    runtime_rig_until(&rig, is_quiet, NULL); /* it goes on although nothing comes */
    /* The loop polls the store itself, too, when it is woken. */
    assert_true(most_rounds >= ROUNDS_MAX && most_rounds <= ROUNDS_MAX + 2);
    uv_close((uv_handle_t *)&turn, NULL);
    runtime_rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_handles_have_their_turn_while_a_store_is_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
