/* Kills a real arcpd (-9) many times at random moments, on one store. A life is the time between
 * two kills.
 *
 * Eight clients load it, keep a digest of every frame with an event_seq that they have received,
 * and resume after each kill. crash_client.c has the checks of each frame. In every twentieth life
 * no new work is requested: every known job must have ended in every session that observes it, keys
 * must name the same jobs as before, and listings must show the ends that were received. At the end
 * the database itself is read and compared.
 *
 * crash_postgres_test.c does the same on a store in PostgreSQL, which is killed, too.
 *
 *   ARCP_CRASH_SEED, ARCP_CRASH_LIVES: another run, or a longer one. The seed is printed. */
#include "support/check.h"

#include <poll.h>
#include <sys/random.h>
#include <time.h>

#include "arcpd/crash_run.h"
#include "audit/audit_check.h"

#define SETTLE_EVERY 20u
#define LIFE_MS_MAX  450u
#define ACT_MS       4

/* Reads the frames that have arrived for any client; waits for them at most this long. */
static void take_all(crash_fixture *f, int wait_ms)
{
    struct pollfd polls[CRASH_CLIENTS];
    for (unsigned i = 0; i < CRASH_CLIENTS; i++) {
        const wire *w = &f->clients[i].wire;
        polls[i] = (struct pollfd){.fd = w->ended ? -1 : w->fd, .events = POLLIN};
    }
    (void)poll(polls, CRASH_CLIENTS, wait_ms);
    for (unsigned i = 0; i < CRASH_CLIENTS; i++) {
        if (polls[i].revents != 0) {
            (void)wire_fill(&f->clients[i].wire, 0);
            crash_client_take(f, &f->clients[i]);
        }
    }
}

static void connect_all(crash_fixture *f, bool from_oldest)
{
    for (unsigned i = 0; i < CRASH_CLIENTS; i++) {
        crash_client_connect(f, &f->clients[i], from_oldest);
    }
}

/* After the kill: its frames are in the sockets, up to the last complete one. */
static void take_the_rest(crash_fixture *f)
{
    for (unsigned i = 0; i < CRASH_CLIENTS; i++) {
        crash_client *client = &f->clients[i];
        while (wire_fill(&client->wire, WIRE_PATIENCE_MS)) {
            crash_client_take(f, client);
        }
        wire_close(&client->wire);
    }
}

static void live(crash_fixture *f)
{
    const int64_t until_ns = daemon_now_ns() + (int64_t)(crash_random(f, LIFE_MS_MAX) * 1000000);
    connect_all(f, false);
    if (f->cut != NULL && crash_random(f, 4) == 0) {
        f->cut();
    }
    /* First the keys whose response was lost. */
    size_t first = f->key_count < 200 ? 0 : f->key_count - 200;
    for (int64_t act_ns = 0, now_ns = daemon_now_ns(); now_ns < until_ns;
         now_ns = daemon_now_ns()) {
        take_all(f, ACT_MS / 2);
        if (now_ns < act_ns) {
            continue;
        }
        act_ns = now_ns + ACT_MS * INT64_C(1000000);
        while (first < f->key_count && f->keys[first].job != NULL) {
            first++;
        }
        if (first < f->key_count && f->keys[first].life < f->life &&
            f->clients[f->keys[first].client].is_open) {
            crash_client_ask_again(f, &f->clients[f->keys[first].client], first);
            first++;
        } else {
            crash_client_act(f, &f->clients[crash_random(f, CRASH_CLIENTS)]);
        }
    }
}

/* ---- a life without new work ---- */

static bool is_at_rest(const crash_fixture *f)
{
    for (unsigned i = 0; i < CRASH_CLIENTS; i++) {
        const crash_client *client = &f->clients[i];
        if (!client->is_open || client->last_seq < client->seen_count ||
            crash_client_awaits_end(f, client)) {
            return false;
        }
    }
    return true;
}

static void come_to_rest(crash_fixture *f)
{
    const int64_t patience_ns = daemon_now_ns() + WIRE_PATIENCE_MS * INT64_C(1000000);
    while (!is_at_rest(f)) {
        take_all(f, 100);
        if (daemon_now_ns() > patience_ns) {
            daemon_fail("life %u: somebody still waits for the end of a job", f->life);
        }
    }
}

static const char *listed_as(crash_end end)
{
    return end == CRASH_RESULT ? "\"status\":\"success\"" : "\"status\":";
}

/* Compares one page; the cursor of the next goes into `cursor`, empty after the last. */
static void check_page(crash_fixture *f, arcp_span frame, char cursor[256])
{
    static const char open[] = "{\"job_id\":\"";
    const arcp_span next = wire_text(frame, "next_cursor");
    (void)snprintf(cursor, 256, "%.*s", (int)next.size, next.size == 0 ? "" : next.data);
    const char *found = memmem(frame.data, frame.size, open, strlen(open));
    while (found != NULL) {
        const arcp_span rest = arcp_span_from(frame, (size_t)(found - frame.data));
        const char *after = memmem(rest.data + 1, rest.size - 1, open, strlen(open));
        const arcp_span entry =
            after == NULL ? rest : arcp_span_first(rest, (size_t)(after - found));
        const arcp_span id = wire_text(entry, "job_id");
        crash_job *job = NULL;
        HASH_FIND(hh, f->jobs, id.data, id.size, job);
        if (job != NULL && job->end != CRASH_RUNS) {
            const char *status = listed_as(job->end);
            const bool runs = memmem(entry.data, entry.size, "\"running\"", 9) != NULL;
            if (runs || memmem(entry.data, entry.size, status, strlen(status)) == NULL) {
                daemon_fail("life %u: an end that was seen is listed as %.*s", f->life,
                            (int)entry.size, entry.data);
            }
            job->listed_life = f->life;
            f->listed++;
        }
        found = after;
    }
}

static void check_listing(crash_fixture *f, crash_client *client)
{
    char cursor[256] = "";
    do {
        wire_send(&client->wire,
                  "{\"arcp\":\"1.1\",\"id\":\"list-%llu\",\"type\":\"session.list_jobs\","
                  "\"payload\":{\"limit\":1000%s%s%s}}",
                  (unsigned long long)crash_random(f, UINT64_MAX),
                  cursor[0] == '\0' ? "" : ",\"cursor\":\"", cursor, cursor[0] == '\0' ? "" : "\"");
        check_page(f, wire_await_type(&client->wire, "session.jobs"), cursor);
    } while (cursor[0] != '\0');
}

static void settle(crash_fixture *f)
{
    connect_all(f, true);
    come_to_rest(f);
    for (int again = 0; again < 40 && f->key_count != 0; again++) {
        const size_t key = crash_random(f, f->key_count);
        if (f->keys[key].job != NULL) {
            crash_client_ask_again(f, &f->clients[f->keys[key].client], key);
        }
    }
    come_to_rest(f);
    check_listing(f, &f->clients[0]);
    check_listing(f, &f->clients[6]);
    for (const crash_job *job = f->jobs; job != NULL; job = job->hh.next) {
        if (job->listed_life != f->life) {
            daemon_fail("life %u: job %s is not listed", f->life, job->id);
        }
    }
}

/* ---- the audit file ---- */

static void on_finding(void *user, const arcp__audit_finding *finding)
{
    (void)user;
    daemon_fail("%s:%llu: %s", finding->file, (unsigned long long)finding->line, finding->message);
}

/* One whole chain, over all lives, with a line for every job that a client saw, and for every
 * subscription that had a response. */
static void check_audit(const crash_fixture *f)
{
    char path[96];
    char line[4096];
    uint64_t submits = 0;
    uint64_t subscriptions = 0;
    arcp_error err = {0};
    arcp__audit_check check;
    (void)snprintf(path, sizeof path, "%s/audit.jsonl", f->daemon.directory);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    arcp__audit_check_init(&check, on_finding, NULL);
    arcp__audit_check_begin(&check, path);
    while (fgets(line, sizeof line, file) != NULL) {
        check_ok(arcp__audit_check_feed(&check, arcp_span_cstr(line), &err), &err);
        const bool is_allowed = strstr(line, "\"decision\":\"allowed\"") != NULL;
        submits += is_allowed && strstr(line, "\"event\":\"submit\"") != NULL;
        subscriptions += is_allowed && strstr(line, "\"event\":\"subscribe\"") != NULL;
    }
    assert_int_equal(fclose(file), 0);
    arcp__audit_check_end(&check);
    arcp__audit_check_fini(&check);
    assert_true(submits >= HASH_COUNT(f->jobs));
    if (subscriptions < f->subscribed || f->subscribed == 0) {
        fail_msg("%llu subscriptions in the audit log, %llu responses",
                 (unsigned long long)subscriptions, (unsigned long long)f->subscribed);
    }
}

/* ---- all lives ---- */

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

static void one_life(crash_fixture *f, int64_t *longest_start_ns)
{
    const bool settles = f->life % SETTLE_EVERY == 0;
    daemon_launch(&f->daemon);
    if (!settles && crash_random(f, 8) == 0) {
        /* Also while it starts. */
        struct timespec pause = {0, (long)crash_random(f, (uint64_t)*longest_start_ns + 1)};
        (void)nanosleep(&pause, NULL);
        daemon_kill(&f->daemon);
        return;
    }
    if (!daemon_await(&f->daemon)) {
        daemon_fail("life %u: arcpd ended with %d: %s", f->life, f->daemon.exit_status,
                    daemon_errors(&f->daemon));
    }
    if (f->daemon.ready_ns > *longest_start_ns) {
        *longest_start_ns = f->daemon.ready_ns;
    }
    if (settles) {
        settle(f);
    } else {
        live(f);
    }
    daemon_kill(&f->daemon);
    take_the_rest(f);
}

void crash_run(const daemon_options *options, void (*cut)(void), unsigned default_lives,
               void (*check_store)(crash_fixture *f))
{
    static crash_fixture f;
    uint64_t seed = 0;
    int64_t longest_start_ns = 0;
    assert_int_equal(getrandom(&seed, sizeof seed, 0), sizeof seed);
    seed = from_environment("ARCP_CRASH_SEED", seed);
    const unsigned lives = (unsigned)from_environment("ARCP_CRASH_LIVES", default_lives);
    print_message("ARCP_CRASH_SEED=0x%llx ARCP_CRASH_LIVES=%u\n", (unsigned long long)seed, lives);
    f.random = seed;
    f.cut = cut;
    daemon_begin(&f.daemon, options);
    for (unsigned i = 0; i < CRASH_CLIENTS; i++) {
        crash_client_begin(&f, i);
    }
    for (f.life = 1; f.life <= lives; f.life++) {
        one_life(&f, &longest_start_ns);
    }
    f.life = SETTLE_EVERY * (lives / SETTLE_EVERY + 1);
    one_life(&f, &longest_start_ns);
    check_store(&f);
    check_audit(&f);
    unsigned lost = 0;
    for (crash_job *job = f.jobs; job != NULL; job = job->hh.next) {
        lost += job->end == CRASH_LOST;
    }
    print_message("%u deaths, %u jobs, %u of them lost with one, %llu resumes; %llu frames seen, "
                  "%llu of them again; %llu listed ends and %llu stored records compared; longest "
                  "start %.1f ms\n",
                  f.daemon.start_count, HASH_COUNT(f.jobs), lost, (unsigned long long)f.resumes,
                  (unsigned long long)f.frames, (unsigned long long)f.again,
                  (unsigned long long)f.listed, (unsigned long long)f.checked,
                  (double)longest_start_ns / 1e6);
    daemon_end(&f.daemon);
}
