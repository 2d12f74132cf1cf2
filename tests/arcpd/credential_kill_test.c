/* arcpd is killed (-9) while it provisions credentials at an upstream that fails, refuses,
 * stalls, hangs up and answers late or twice, and is started again on the same store.
 * Most lives are short; every tenth lasts until values are rotated, and some revocations fail
 * until they are stuck. Afterwards every value that the upstream ever issued was revoked once,
 * and no file that arcpd wrote has a value in it.
 * With `worker` the agents are on a worker, so that jobs go on over the kills with their values.
 *   arcpd_credential_kill_test [KILLS [SEED [worker]]]     (120 kills, seed 1) */
#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "provisioner/stand_in.h"

#include <arcp/sys/store.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MASTER "sk-master-of-the-test"

static uint64_t chance;

static unsigned pick(unsigned below)
{
    chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(chance >> 33) % below;
}

/* ---- no value in any file ---- */

static int look_into(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)where;
    if (kind != FTW_F || facts->st_size == 0) {
        return 0;
    }
    const int fd = open(path, O_RDONLY);
    char *text = malloc((size_t)facts->st_size);
    const ssize_t size = fd < 0 || text == NULL ? 0 : read(fd, text, (size_t)facts->st_size);
    if (size > 0 && (memmem(text, (size_t)size, STAND_IN_PREFIX, strlen(STAND_IN_PREFIX)) != NULL ||
                     memmem(text, (size_t)size, MASTER, strlen(MASTER)) != NULL)) {
        daemon_fail("%s has a value in it", path);
    }
    free(text);
    if (fd >= 0) {
        (void)close(fd);
    }
    return 0;
}

static void check_files(const daemon_state *d)
{
    (void)nftw(d->directory, look_into, 16, FTW_PHYS);
}

/* ---- comparing with the upstream's records ---- */

typedef struct books {
    size_t rows, stuck;
    bool done;
} books;

static void on_rows(void *user, uint64_t id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    books *b = user;
    (void)id;
    if (status != ARCP_OK) {
        daemon_fail("the store: %s", err == NULL ? "" : err->message);
    }
    for (size_t i = 0; i < count; i++) {
        b->rows++;
        b->stuck +=
            memmem(rows[i].value.data, rows[i].value.size, "\"stuck\":true", 12) != NULL ? 1 : 0;
    }
    b->done = last;
}

static void on_done(void *user, uint64_t id, arcp_status status, const arcp_error *err)
{
    (void)user;
    (void)id;
    (void)status;
    (void)err;
}

static void on_read(void *user, uint64_t id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    (void)first;
    (void)records;
    (void)count;
    on_done(user, id, status, err);
}

/* arcpd does not run. */
static books read_books(const daemon_state *d)
{
    books b = {0, 0, false};
    arcp_store *store = NULL;
    arcp_error error = {0};
    arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_rows, .user = &b};
    if (arcp_store_open_sqlite(d->store, &store, &error) != ARCP_OK) {
        daemon_fail("%s: %s", d->store, error.message);
    }
    store->ops->set_callbacks(store, &callbacks);
    if (store->ops->scan(store, 1, ARCP_STORE_CREDENTIALS, arcp_span_make(NULL, 0), &error) !=
        ARCP_OK) {
        daemon_fail("the store: %s", error.message);
    }
    while (!b.done) {
        (void)store->ops->poll(store);
    }
    arcp_store_close(store);
    return b;
}

/* ---- load ---- */

static void say_hello(wire *w)
{
    wire_send(w, "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{"
                 "\"scheme\":\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{\"features\":["
                 "\"provisioned_credentials\",\"cost.budget\",\"model.use\"]}}}");
    (void)wire_await_type(w, "session.welcome");
}

/* Jobs on a worker outlive the kills, and end in time. */
static void submit_some(wire *w, unsigned round, bool on_worker)
{
    for (unsigned i = 0; i < 6; i++) {
        wire_send(w,
                  "{\"arcp\":\"1.1\",\"id\":\"%u\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
                  "\"load\",\"idempotency_key\":\"%u-%u\",\"input\":{\"events\":1,\"bytes\":4,"
                  "\"pause_us\":%u,\"end\":\"%s\"},\"lease_request\":{\"cost.budget\":[\"USD:5\"],"
                  "\"model.use\":[\"*\"]}%s}}",
                  i, round, i, pick(3000), pick(3) == 0 ? "wait" : "result",
                  on_worker ? ",\"max_runtime_sec\":4" : "");
    }
}

/* Reads frames until the given time; some contain values. */
static unsigned listen_for(wire *w, int64_t until_ns)
{
    unsigned shown = 0;
    for (int64_t now = daemon_now_ns(); now < until_ns; now = daemon_now_ns()) {
        arcp_span frame;
        (void)wire_fill(w, (int)((until_ns - now) / 1000000) + 1);
        while (wire_next(w, &frame)) {
            shown +=
                memmem(frame.data, frame.size, STAND_IN_PREFIX, strlen(STAND_IN_PREFIX)) != NULL
                    ? 1
                    : 0;
        }
    }
    return shown;
}

static unsigned live_keys(stand_in *upstream)
{
    unsigned count = 0;
    uv_mutex_lock(&upstream->lock);
    for (unsigned i = 0; i < upstream->key_count; i++) {
        count += upstream->keys[i].is_live ? 1 : 0;
    }
    uv_mutex_unlock(&upstream->lock);
    return count;
}

/* The upstream works again: all revocations succeed. */
static void settle(daemon_state *d, stand_in *upstream)
{
    uv_mutex_lock(&upstream->lock);
    upstream->random = 0;
    upstream->mode = STAND_IN_WELL;
    uv_mutex_unlock(&upstream->lock);
    for (unsigned tries = 0; tries < 20; tries++) {
        wire w = {.fd = -1};
        daemon_start(d);
        wire_open(&w, d->port);
        say_hello(&w);
        for (unsigned i = 0; i < 300 && live_keys(upstream) != 0; i++) {
            (void)listen_for(&w, daemon_now_ns() + 100000000);
        }
        (void)listen_for(&w, daemon_now_ns() + 2500000000); /* credentials.settle_sec */
        wire_close(&w);
        if (daemon_stop(d) != 0) {
            daemon_fail("arcpd ended with %d", d->exit_status);
        }
        check_files(d);
        if (read_books(d).rows == 0) {
            return;
        }
    }
    daemon_fail("%zu credentials stay in the books", read_books(d).rows);
}

/* A rotation requests an alias that ends with a number. */
static unsigned rotations(const stand_in *upstream)
{
    unsigned count = 0;
    for (unsigned i = 0; i < upstream->key_count; i++) {
        count += strchr(upstream->keys[i].alias, '.') != NULL ? 1 : 0;
    }
    return count;
}

/* The end of this life: short ones are killed while they request credentials, long ones
 * (credentials.rotate_sec is 1) before, while and after they rotate. */
static int64_t end_of_life(bool is_long)
{
    return daemon_now_ns() + (int64_t)(is_long ? 900 + pick(1200) : pick(120)) * 1000000;
}

static void check_upstream(const stand_in *upstream)
{
    for (unsigned i = 0; i < upstream->key_count; i++) {
        const stand_in_key *key = &upstream->keys[i];
        if (key->is_live || key->revoked != 1) {
            daemon_fail("%s is %s and was revoked %u times", key->alias,
                        key->is_live ? "live" : "dead", key->revoked);
        }
    }
}

static void write_config(char *out, size_t size, unsigned port, bool on_worker)
{
    (void)snprintf(out, size,
                   "workers: {local: %s}\n"
                   "credentials:\n"
                   "  provisioner: http\n"
                   "  endpoint: https://gw.example/v1\n"
                   "  models: [a, b]\n"
                   "  currency: USD\n"
                   "  enforces: [budget, models]\n"
                   "  rotate_sec: 1\n"
                   "  retry_max_sec: 1\n"
                   "  stuck_after: 2\n"
                   "  settle_sec: 2\n"
                   "  http:\n"
                   "    timeout_ms: 250\n"
                   "    issue:\n"
                   "      url: http://127.0.0.1:%u/key/generate\n"
                   "      headers: {Authorization: \"Bearer {env:ARCP_TEST_MASTER}\"}\n"
                   "      body: {key_alias: \"{alias}\", max_budget: \"{budget}\", models: "
                   "\"{models}\"}\n"
                   "      response: {value: /key, id: /token_id}\n"
                   "    revoke:\n"
                   "      url: http://127.0.0.1:%u/key/delete\n"
                   "      body: {key_aliases: [\"{alias}\"]}\n",
                   on_worker ? "spawn" : "none", port, port);
}

int main(int argc, char **argv)
{
    static stand_in upstream;
    static char config[2048];
    const unsigned kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 120;
    const bool on_worker = argc > 3;
    unsigned shown = 0;
    chance = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    upstream.random = chance;
    upstream.late_ms = 40;
    stand_in_start_thread(&upstream);
    write_config(config, sizeof config, upstream.port, on_worker);
    daemon_state d;
    daemon_options options = {.config = config, .environment = "ARCP_TEST_MASTER=" MASTER};
    daemon_begin(&d, &options);
    size_t most_rows = 0;
    size_t most_stuck = 0;
    for (unsigned round = 0; round < kills; round++) {
        wire w = {.fd = -1};
        const bool is_long = round % 10 == 9;
        daemon_start(&d);
        wire_open(&w, d.port);
        say_hello(&w);
        submit_some(&w, round, on_worker);
        shown += listen_for(&w, end_of_life(is_long));
        daemon_kill(&d);
        wire_close(&w);
        check_files(&d);
        if (round % 10 == 0 || is_long) {
            const books now = read_books(&d);
            most_rows = now.rows > most_rows ? now.rows : most_rows;
            most_stuck = now.stuck > most_stuck ? now.stuck : most_stuck;
        }
    }
    settle(&d, &upstream);
    stand_in_stop_thread(&upstream);
    check_upstream(&upstream);
    (void)printf("%u kills: %u keys issued by %u calls, %u of them by rotation, revoked by %u "
                 "calls; %u frames showed one; up to %zu rows in the books, %zu of them stuck\n",
                 kills, upstream.key_count, upstream.generate_calls, rotations(&upstream),
                 upstream.delete_calls, shown, most_rows, most_stuck);
    /* A test in which nothing was issued, rotated or stuck, or nothing was left to clean up,
     * proves nothing. */
    if (kills >= 100 && (upstream.key_count < kills || shown < kills / 2 || most_rows == 0 ||
                         rotations(&upstream) == 0 || most_stuck == 0)) {
        daemon_fail("too little happened");
    }
    daemon_end(&d);
    return 0;
}
