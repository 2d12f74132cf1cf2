/* A runtime with several shards: who gets where, and a shard that fails. */
#include "runtime/shards_rig.h"

/* ---- who gets where ---- */

static void a_principals_shard_is_the_beginning_of_its_hash(void **state)
{
    (void)state;
    /* printf alice | sha256sum | cut -c-16, as a number modulo 256 */
    assert_int_equal(arcp__door_shard(ARCP_SPAN_LITERAL("alice"), 256), 175);
    assert_int_equal(arcp__door_shard(ARCP_SPAN_LITERAL("bob"), 256), 218);
    assert_int_equal(arcp__door_shard(ARCP_SPAN_LITERAL("carol"), 7), 6);
    assert_int_equal(arcp__door_shard(ARCP_SPAN_LITERAL(""), 256), 20);
    assert_int_equal(arcp__door_shard(ARCP_SPAN_LITERAL("alice"), 1), 0);
}

static void each_principal_has_its_sessions_and_jobs_in_its_shard(void **state)
{
    const size_t counts[] = {4, 256};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        shards_rig r;
        size_t used = 0;
        uint64_t sessions = 0;
        shards_rig_start(&r, counts[i]);
        for (unsigned j = 0; j < PEERS_MAX; j++) {
            char name[32];
            (void)snprintf(name, sizeof name, "principal-%u", j);
            (void)shards_rig_hello(&r, j, name, "");
        }
        for (unsigned j = 0; j < PEERS_MAX; j++) {
            shards_rig_until(&r, shards_rig_has(&r.peers[j], "session.welcome"));
            shards_rig_request(&r.peers[j], "job.submit", "{\"agent\":\"echo\"}");
        }
        for (unsigned j = 0; j < PEERS_MAX; j++) {
            shards_rig_until(&r, shards_rig_has(&r.peers[j], "job.result"));
            assert_true(shards_rig_has(&r.peers[j], "\"event_seq\":1"));
        }
        for (arcp__shard *shard = r.runtime->shards; shard != arcp__shards_end(r.runtime);
             shard++) {
            sessions += shards_rig_sessions(shard);
            used += shards_rig_sessions(shard) != 0;
        }
        assert_int_equal(sessions, PEERS_MAX);
        assert_true(used == 4 || (counts[i] == 256 && used > 20));
        assert_int_equal(shards_rig_sessions(arcp__front_of(r.runtime)), 0);
        arcp_runtime_stats figures = arcp_runtime_stats_init();
        arcp_runtime_get_stats(r.runtime, &figures);
        assert_int_equal(figures.sessions_connected, PEERS_MAX);
        assert_int_equal(figures.jobs_kept, PEERS_MAX);
        shards_rig_stop(&r);
    }
}

static void with_one_shard_there_is_no_door(void **state)
{
    shards_rig r;
    (void)state;
    shards_rig_start(&r, 1);
    assert_ptr_equal(arcp__front_of(r.runtime), r.runtime->shards);
    const shards_peer *p = shards_rig_hello(&r, 0, "alice", "");
    shards_rig_until(&r, shards_rig_has(p, "session.welcome"));
    shards_rig_stop(&r);
}

static void a_frame_behind_the_hello_gets_to_the_shard(void **state)
{
    shards_rig r;
    (void)state;
    shards_rig_start(&r, 4);
    const shards_peer *p = shards_rig_hello(&r, 0, "alice", "");
    shards_rig_send(p, "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{"
                       "\"agent\":\"echo\"}}");
    shards_rig_send(
        p, "{\"arcp\":\"1.1\",\"id\":\"l\",\"type\":\"session.list_jobs\",\"payload\":{}}");
    shards_rig_until(&r, shards_rig_has(p, "session.jobs"));
    shards_rig_until(&r, shards_rig_has(p, "job.result"));
    shards_rig_stop(&r);
}

static void a_connection_with_a_principal_gets_to_its_shard_at_once(void **state)
{
    shards_rig r;
    arcp_serve_options options = arcp_serve_options_init();
    (void)state;
    shards_rig_start(&r, 4);
    options.principal = "alice";
    const shards_peer *p = shards_rig_connect(&r, 0, &options);
    shards_rig_send(p, "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                       "\"client\":{\"name\":\"t\",\"version\":\"1\"}}}");
    shards_rig_until(&r, shards_rig_has(p, "session.welcome"));
    assert_int_equal(shards_rig_sessions(shards_rig_shard(&r, "alice")), 1);
    shards_rig_stop(&r);
}

static void the_door_refuses_what_is_not_valid(void **state)
{
    shards_rig r;
    (void)state;
    shards_rig_start(&r, 4);
    const shards_peer *wrong = shards_rig_hello(&r, 0, "wrong", "");
    const shards_peer *early = shards_rig_connect(&r, 1, NULL);
    shards_rig_send(early, "{\"arcp\":\"1.1\",\"id\":\"l\",\"type\":\"session.list_jobs\","
                           "\"payload\":{}}");
    const shards_peer *code = shards_rig_hello(&r, 2, "page_code_wrong", "");
    shards_rig_until(&r, wrong->closed && early->closed && code->closed);
    assert_true(shards_rig_has(wrong, "\"code\":\"UNAUTHENTICATED\""));
    assert_true(shards_rig_has(early, "\"code\":\"UNAUTHENTICATED\""));
    assert_true(shards_rig_has(code, "\"code\":\"UNAUTHENTICATED\""));
    for (arcp__shard *shard = r.runtime->shards; shard != arcp__shards_end(r.runtime); shard++) {
        assert_int_equal(shards_rig_sessions(shard), 0);
    }
    shards_rig_stop(&r);
}

static void let_in_anonymously(shards_rig *r)
{
    arcp_error error = {0};
    arcp_token_verifier *verifier = NULL;
    check_ok(arcp_token_verifier_new_anonymous(&verifier, &error), &error);
    check_ok(arcp_runtime_set_token_verifiers(r->runtime, &verifier, 1, &error), &error);
}

static void a_hello_without_a_principal_is_refused(void **state)
{
    shards_rig r;
    (void)state;
    shards_rig_start(&r, 4);
    let_in_anonymously(&r);
    const shards_peer *p = shards_rig_hello(&r, 0, "", "");
    shards_rig_until(&r, p->closed);
    assert_true(shards_rig_has(p, "\"code\":\"UNAUTHENTICATED\""));
    shards_rig_stop(&r);
}

/* ---- a shard whose store fails ---- */

static void when_one_store_fails_the_others_go_on(void **state)
{
    shards_rig r;
    char other[16];
    const char *why = NULL;
    (void)state;
    shards_rig_start(&r, 4);
    shards_rig_find(&r, "alice", false, other);
    const shards_peer *alice = shards_rig_hello(&r, 0, "alice", "");
    const shards_peer *peer_of_other = shards_rig_hello(&r, 1, other, "");
    shards_rig_until(&r, shards_rig_has(alice, "session.welcome") &&
                             shards_rig_has(peer_of_other, "session.welcome"));
    broken_store *store = (broken_store *)shards_rig_shard(&r, "alice")->store;
    store->is_broken = true;
    shards_rig_request(alice, "job.submit", "{\"agent\":\"echo\"}");
    shards_rig_until(&r, alice->closed);
    assert_false(shards_rig_has(alice, "\"type\":\"job.accepted\""));
    assert_false(arcp_runtime_is_ready(r.runtime, &why));
    assert_string_equal(why, "the store cannot be written");
    shards_rig_request(peer_of_other, "job.submit", "{\"agent\":\"echo\"}");
    shards_rig_until(&r, shards_rig_has(peer_of_other, "job.result"));
    const shards_peer *late = shards_rig_hello(&r, 2, "alice", "");
    shards_rig_until(&r, late->closed);
    assert_true(shards_rig_has(late, "cannot store sessions right now"));
    store->is_broken = false; /* it is tried again */
    shards_rig_until(&r, arcp_runtime_is_ready(r.runtime, &why));
    shards_rig_stop(&r);
}

static void a_job_is_cancelled_in_its_shard(void **state)
{
    shards_rig r;
    (void)state;
    shards_rig_start(&r, 4);
    const shards_peer *p = shards_rig_hello(&r, 0, "alice", "");
    char job[128];
    char payload[200];
    shards_rig_until(&r, shards_rig_has(p, "session.welcome"));
    shards_rig_request(p, "job.submit", "{\"agent\":\"wait\"}");
    shards_rig_until(&r, r.held != NULL);
    shards_rig_until(&r, shards_rig_has(p, "\"type\":\"job.accepted\""));
    shards_rig_get(p, "job_id", job);
    (void)snprintf(payload, sizeof payload, "{\"job_id\":\"%s\"}", job);
    shards_rig_request(p, "job.cancel", payload);
    shards_rig_until(&r, arcp_agent_is_cancelled(r.held));
    arcp_agent_fail(r.held, ARCP_E_CANCELLED, "cancelled", arcp_span_make(NULL, 0));
    shards_rig_until(&r, shards_rig_has(p, "\"final_status\":\"cancelled\""));
    shards_rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_principals_shard_is_the_beginning_of_its_hash),
        cmocka_unit_test(each_principal_has_its_sessions_and_jobs_in_its_shard),
        cmocka_unit_test(with_one_shard_there_is_no_door),
        cmocka_unit_test(a_frame_behind_the_hello_gets_to_the_shard),
        cmocka_unit_test(a_connection_with_a_principal_gets_to_its_shard_at_once),
        cmocka_unit_test(the_door_refuses_what_is_not_valid),
        cmocka_unit_test(a_hello_without_a_principal_is_refused),
        cmocka_unit_test(when_one_store_fails_the_others_go_on),
        cmocka_unit_test(a_job_is_cancelled_in_its_shard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
