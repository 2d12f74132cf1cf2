#include "store/postgres_rig.h"

#include "store/postgres_open.h"

arcp__postgres_options pg_options(const pg_rig *server, const char *node, const char *home)
{
    return (arcp__postgres_options){.url = server->url,
                                    .node = node,
                                    .home = home,
                                    .lease_ms = 1000,
                                    .patience_ms = 2000,
                                    .answer_ms = 1000};
}

store_rig *pg_open(const pg_rig *server, const char *node, const char *home)
{
    const arcp__postgres_options options = pg_options(server, node, home);
    arcp_store *store = NULL;
    arcp_error err = {0};
    check_ok(arcp__pg_store_open(&options, &store, &err), &err);
    return rig_new(store);
}

void pg_check_refused(const arcp__postgres_options *options, arcp_status status, const char *part)
{
    arcp_store *store = NULL;
    arcp_error err = {0};
    const arcp_status got = arcp__pg_store_open(options, &store, &err);
    assert_string_equal(arcp_status_name(got), arcp_status_name(status));
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    }
}

/* ---- a writer that counts ---- */

typedef struct numbered {
    char text[24];
    arcp_store_op op;
} numbered;

static numbered slots[PG_AHEAD * 2];

void pg_submit_number(pg_counter *c)
{
    const uint64_t position = c->submitted++;
    numbered *slot = &slots[position % (sizeof slots / sizeof *slots)];
    arcp_error err = {0};
    snprintf(slot->text, sizeof slot->text, "%llu", (unsigned long long)position);
    slot->op = op_append("counted", position, slot->text);
    const arcp_store_batch batch = {PG_FIRST_ID + position, &slot->op, 1};
    check_ok(c->rig->store->ops->submit(c->rig->store, &batch, &err), &err);
}

void pg_count_to(pg_counter *c, uint64_t until, bool fails)
{
    while (c->acknowledged < until) {
        while (c->submitted < until && c->submitted < c->acknowledged + PG_AHEAD) {
            pg_submit_number(c);
        }
        const answer *got = rig_wait(c->rig, PG_FIRST_ID + c->acknowledged);
        if (got->status == ARCP_OK) {
            c->acknowledged++;
        } else {
            if (!fails) {
                fail_msg("batch %llu: %s", (unsigned long long)c->acknowledged, got->message);
            }
            /* All that were submitted before the failure was reported have failed, too. */
            c->failures++;
            for (uint64_t i = c->acknowledged; i < c->submitted; i++) {
                assert_int_equal(rig_wait(c->rig, PG_FIRST_ID + i)->status, got->status);
            }
            c->submitted = c->acknowledged;
        }
        if (c->rig->count > 10000 || got->status != ARCP_OK) {
            rig_forget(c->rig);
        }
    }
}

void pg_check_counted(const pg_counter *c, const pg_rig *server)
{
    char want[64];
    snprintf(want, sizeof want, "%llu", (unsigned long long)c->acknowledged);
    assert_string_equal(pg_rig_run(server, "SELECT sum(count) FROM arcp.stream_runs"
                                           " WHERE stream = 'counted'"),
                        want);
    assert_string_equal(
        pg_rig_run(server,
                   "SELECT count(*) FROM (SELECT first + n - 1 AS position, line FROM"
                   " arcp.stream_runs, unnest(string_to_array(data, E'\\n')) WITH ORDINALITY"
                   " AS t(line, n)) q WHERE line = position::text"),
        want);
}
