/* The owner of the store is in two rows: `shard` has its name and incarnation, and `node` has its
 * beat, which goes up while it lives. A node takes over
 *
 *   a store without owner;
 *   one whose owner has our name and home, as the caller holds the lock of the home: we were
 *     restarted, and the other one is dead;
 *   one whose owner's beat has not changed for lease_ms by our clock. Clocks of two machines are
 *     never compared.
 *
 * The take locks the row with the beat that was seen, so that a node which beats again in this
 * moment keeps its store. */
#include "store/postgres_owner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "store/postgres_schema.h"

#define LOOK_MS         200 /* between two looks at the beat of another node */
#define BEATS_PER_LEASE 5
#define LOCK_TRIES      10

/* A node that has the store, or has our name. */
typedef struct rival {
    char name[128];
    char incarnation[64];
    char beat[24];
    char epoch[24]; /* of the shard */
    bool is_there;
    bool is_us; /* an earlier process of our home */
} rival;

static void copy_text(char *out, size_t size, const PGresult *rows, int column)
{
    (void)snprintf(out, size, "%s", PQgetvalue(rows, 0, column));
}

/* Finds the node that has the store, else another process with our name. */
static arcp_status look(arcp__pg_owner *owner, rival *out, arcp_error *err)
{
    const char *values[] = {owner->node};
    PGresult *rows = NULL;
    *out = (rival){.is_there = false};
    if (arcp__pg_run(&owner->pg,
                     "SELECT h.epoch, coalesce(n.name, h.owner), coalesce(n.incarnation, ''),"
                     " coalesce(n.beat, -1), coalesce(n.home, '')"
                     " FROM arcp.shard h LEFT JOIN arcp.node n"
                     " ON n.name = coalesce(h.owner, $1) WHERE h.id = 0",
                     values, 1, &rows, err) != ARCP__PG_FINE) {
        return err->status;
    }
    if (PQntuples(rows) == 0) {
        (void)arcp_error_set(err, ARCP_E_CORRUPT, "postgres: the row of shard 0 is missing");
    } else {
        copy_text(out->epoch, sizeof out->epoch, rows, 0);
        copy_text(out->name, sizeof out->name, rows, 1);
        copy_text(out->incarnation, sizeof out->incarnation, rows, 2);
        copy_text(out->beat, sizeof out->beat, rows, 3);
        out->is_there = strcmp(out->beat, "-1") != 0; /* an owner without a row is gone */
        out->is_us =
            strcmp(out->name, owner->node) == 0 && strcmp(PQgetvalue(rows, 0, 4), owner->home) == 0;
    }
    PQclear(rows);
    return err->status;
}

static arcp_status refuse(const arcp__pg_owner *owner, const rival *other, int64_t left_ms,
                          arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_EXISTS,
                          "%.300s: in use by node %s, whose lease ends in %lld s; stop it, or "
                          "choose another store",
                          owner->pg.url, other->name, (long long)((left_ms + 999) / 1000));
}

/* Waits until the other node has been silent for a lease. ARCP_E_EXISTS: its beat has changed. */
static arcp_status wait_for_silence(arcp__pg_owner *owner, rival *other, arcp_error *err)
{
    const int64_t began_ns = arcp__clock_ns(CLOCK_BOOTTIME);
    const int64_t lease_ns = (int64_t)owner->lease_ms * ARCP_NS_PER_MS;
    while (other->is_there && !other->is_us) {
        rival now;
        const struct timespec pause = {0, LOOK_MS * ARCP_NS_PER_MS};
        if (arcp__clock_ns(CLOCK_BOOTTIME) - began_ns > lease_ns) {
            return ARCP_OK;
        }
        (void)nanosleep(&pause, NULL);
        if (look(owner, &now, err) != ARCP_OK) {
            return err->status;
        }
        if (now.is_there && (strcmp(now.beat, other->beat) != 0 ||
                             strcmp(now.incarnation, other->incarnation) != 0)) {
            return refuse(owner, &now, (int64_t)owner->lease_ms, err);
        }
        *other = now;
    }
    return ARCP_OK;
}

/* The statements of a take, up to COMMIT. */
static arcp__pg_trouble take_once(arcp__pg_owner *owner, const rival *other, bool *is_taken,
                                  arcp_error *err)
{
    const char *seen[] = {other->name, other->incarnation, other->beat};
    const char *ours[] = {owner->node, owner->home, owner->incarnation};
    const char *shard[] = {owner->node, owner->incarnation, other->epoch};
    PGresult *rows = NULL;
    *is_taken = true;
    arcp__pg_trouble trouble = arcp__pg_run(&owner->pg, "BEGIN", NULL, 0, NULL, err);
    if (trouble == ARCP__PG_FINE && other->is_there) {
        trouble = arcp__pg_run(&owner->pg,
                               "SELECT 1 FROM arcp.node WHERE name = $1 AND incarnation = $2"
                               " AND beat = $3::bigint FOR SHARE",
                               seen, 3, &rows, err);
        *is_taken = trouble == ARCP__PG_FINE && PQntuples(rows) == 1;
        PQclear(rows);
        rows = NULL;
    }
    if (trouble == ARCP__PG_FINE && *is_taken) {
        trouble = arcp__pg_run(&owner->pg,
                               "INSERT INTO arcp.node(name, home, incarnation, beat)"
                               " VALUES ($1, $2, $3, 0) ON CONFLICT (name) DO UPDATE SET"
                               " home = $2, incarnation = $3, beat = arcp.node.beat + 1",
                               ours, 3, NULL, err);
    }
    if (trouble == ARCP__PG_FINE && *is_taken) {
        trouble = arcp__pg_run(&owner->pg,
                               "UPDATE arcp.shard SET owner = $1, incarnation = $2,"
                               " epoch = epoch + 1 WHERE id = 0 AND epoch = $3::bigint RETURNING 1",
                               shard, 3, &rows, err);
        *is_taken = trouble == ARCP__PG_FINE && PQntuples(rows) == 1;
        PQclear(rows);
    }
    if (trouble == ARCP__PG_FINE && *is_taken) {
        trouble = arcp__pg_run(&owner->pg,
                               "INSERT INTO arcp.commits SELECT 0, 0"
                               " WHERE NOT EXISTS (SELECT FROM arcp.commits WHERE shard = 0)",
                               NULL, 0, NULL, err);
    }
    if (trouble != ARCP__PG_LOST) {
        arcp_error ignored = {0};
        const bool commits = trouble == ARCP__PG_FINE && *is_taken;
        const arcp__pg_trouble end = arcp__pg_run(&owner->pg, commits ? "COMMIT" : "ROLLBACK", NULL,
                                                  0, NULL, commits ? err : &ignored);
        trouble = commits || end == ARCP__PG_LOST ? end : trouble;
    }
    return trouble;
}

/* Takes the store; sessions of a dead owner that hold its row are ended. */
static arcp_status take(arcp__pg_owner *owner, const rival *other, arcp_error *err)
{
    char sessions[96];
    (void)snprintf(sessions, sizeof sessions, "arcpd/%s/%%", other->incarnation);
    for (int i = 0; i < LOCK_TRIES; i++) {
        bool is_taken = false;
        *err = (arcp_error){0};
        const arcp__pg_trouble trouble = take_once(owner, other, &is_taken, err);
        if (trouble == ARCP__PG_FINE) {
            return is_taken ? ARCP_OK : refuse(owner, other, (int64_t)owner->lease_ms, err);
        }
        if (trouble != ARCP__PG_LOCKED || other->incarnation[0] == '\0') {
            return err->status;
        }
        *err = (arcp_error){0};
        if (arcp__pg_end_sessions(&owner->pg, sessions, err) != ARCP__PG_FINE) {
            return err->status;
        }
    }
    return err->status;
}

static arcp__pg_trouble measure(arcp__pg_owner *owner)
{
    arcp_error ignored = {0};
    PGresult *rows = NULL;
    const arcp__pg_trouble trouble =
        arcp__pg_run(&owner->pg,
                     "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c"
                     " WHERE c.relnamespace = to_regnamespace('arcp') AND c.relkind = 'r'",
                     NULL, 0, &rows, &ignored);
    if (trouble == ARCP__PG_FINE) {
        atomic_store(&owner->bytes, strtoull(PQgetvalue(rows, 0, 0), NULL, 10));
    }
    PQclear(rows);
    return trouble;
}

static arcp_status connect_control(arcp__pg_owner *owner, arcp_error *err)
{
    if (arcp__pg_connect(&owner->pg, false, err) == ARCP_OK) {
        (void)arcp__pg_run(&owner->pg, "SET lock_timeout = '200ms'", NULL, 0, NULL, err);
    }
    return err->status;
}

arcp_status arcp__pg_owner_open(arcp__pg_owner *owner, arcp_error *err)
{
    rival other;
    (void)snprintf(owner->pg.name, sizeof owner->pg.name, "arcpd/%s/control", owner->incarnation);
    if (connect_control(owner, err) == ARCP_OK &&
        arcp__pg_schema_open(&owner->pg, err) == ARCP_OK && look(owner, &other, err) == ARCP_OK &&
        wait_for_silence(owner, &other, err) == ARCP_OK && take(owner, &other, err) == ARCP_OK &&
        measure(owner) == ARCP__PG_LOST) {
        arcp__pg_close(&owner->pg); /* the beat connects again */
    }
    return err->status;
}

/* ---- the beat ---- */

static void beat(arcp__pg_owner *owner)
{
    const char *values[] = {owner->node, owner->incarnation};
    arcp_error ignored = {0};
    if (owner->pg.conn == NULL && connect_control(owner, &ignored) != ARCP_OK) {
        return;
    }
    /* No row: the store was taken over, which the writer notices when it writes. */
    if (arcp__pg_run(&owner->pg,
                     "UPDATE arcp.node SET beat = beat + 1 WHERE name = $1 AND incarnation = $2",
                     values, 2, NULL, &ignored) == ARCP__PG_LOST ||
        measure(owner) == ARCP__PG_LOST) {
        arcp__pg_close(&owner->pg);
    }
}

static void *run_beats(void *user)
{
    arcp__pg_owner *owner = user;
    pthread_mutex_lock(&owner->mutex);
    while (!owner->is_stopping) {
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        const int64_t pause_ns =
            (int64_t)owner->lease_ms * ARCP_NS_PER_MS / BEATS_PER_LEASE + until.tv_nsec;
        until.tv_sec += pause_ns / ARCP_NS_PER_SEC;
        until.tv_nsec = pause_ns % ARCP_NS_PER_SEC;
        if (pthread_cond_timedwait(&owner->changed, &owner->mutex, &until) == ETIMEDOUT) {
            pthread_mutex_unlock(&owner->mutex);
            beat(owner);
            pthread_mutex_lock(&owner->mutex);
        }
    }
    pthread_mutex_unlock(&owner->mutex);
    return NULL;
}

arcp_status arcp__pg_owner_start(arcp__pg_owner *owner, arcp_error *err)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&owner->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&owner->mutex, NULL);
    owner->has_thread = arcp__thread_start(&owner->thread, "arcp-store-b", run_beats, owner) == 0;
    if (!owner->has_thread) {
        pthread_mutex_destroy(&owner->mutex);
        pthread_cond_destroy(&owner->changed);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "cannot create a thread for the store");
    }
    return ARCP_OK;
}

void arcp__pg_owner_close(arcp__pg_owner *owner)
{
    const char *values[] = {owner->node, owner->incarnation};
    arcp_error ignored = {0};
    if (owner->has_thread) {
        pthread_mutex_lock(&owner->mutex);
        owner->is_stopping = true;
        pthread_cond_signal(&owner->changed);
        pthread_mutex_unlock(&owner->mutex);
        pthread_join(owner->thread, NULL);
        pthread_mutex_destroy(&owner->mutex);
        pthread_cond_destroy(&owner->changed);
    }
    if (owner->pg.conn != NULL &&
        arcp__pg_run(&owner->pg,
                     "UPDATE arcp.shard SET owner = NULL, incarnation = NULL"
                     " WHERE owner = $1 AND incarnation = $2",
                     values, 2, NULL, &ignored) == ARCP__PG_FINE) {
        (void)arcp__pg_run(&owner->pg, "DELETE FROM arcp.node WHERE name = $1 AND incarnation = $2",
                           values, 2, NULL, &ignored);
    }
    arcp__pg_close(&owner->pg);
    arcp__free(owner->node);
    arcp__free(owner->home);
}

/* ---- the epoch of a writing connection ---- */

/* Sets *epoch, 0 if another node has the shard. */
static arcp__pg_trouble raise_epoch(const arcp__pg_owner *owner, arcp__pg *pg, int64_t *epoch,
                                    arcp_error *err)
{
    const char *values[] = {owner->node, owner->incarnation};
    PGresult *rows = NULL;
    const arcp__pg_trouble trouble =
        arcp__pg_run(pg,
                     "UPDATE arcp.shard SET epoch = epoch + 1"
                     " WHERE id = 0 AND owner = $1 AND incarnation = $2 RETURNING epoch",
                     values, 2, &rows, err);
    if (trouble == ARCP__PG_FINE) {
        *epoch = PQntuples(rows) == 1 ? strtoll(PQgetvalue(rows, 0, 0), NULL, 10) : 0;
    }
    PQclear(rows);
    return trouble;
}

arcp__pg_trouble arcp__pg_owner_claim(const arcp__pg_owner *owner, arcp__pg *pg,
                                      arcp__pg_claim *out, arcp_error *err)
{
    PGresult *rows = NULL;
    bool has_answer = false;
    arcp__pg_trouble trouble = arcp__pg_run(pg, "SET lock_timeout = '200ms'", NULL, 0, NULL, err);
    for (int i = 0; i < LOCK_TRIES && trouble == ARCP__PG_FINE && !has_answer; i++) {
        trouble = raise_epoch(owner, pg, &out->epoch, err);
        has_answer = trouble == ARCP__PG_FINE;
        if (trouble == ARCP__PG_LOCKED) {
            /* A half-sent transaction keeps its lock as long as its client's socket lives. */
            *err = (arcp_error){0};
            trouble = arcp__pg_end_sessions(pg, pg->name, err);
        }
    }
    if (!has_answer) {
        if (err->status == ARCP_OK) {
            (void)arcp_error_set(err, ARCP_E_IO, "postgres: the row of shard 0 stays locked");
        }
        return ARCP__PG_LOST;
    }
    out->is_fenced = out->epoch == 0;
    if (out->is_fenced) {
        return ARCP__PG_FINE;
    }
    /* In a later statement: one in the same statement would have the snapshot from before the wait
     * for the lock, and miss the batch that was committed meanwhile. */
    trouble = arcp__pg_run(pg, "SELECT coalesce(max(batch), -1) FROM arcp.commits WHERE shard = 0",
                           NULL, 0, &rows, err);
    if (trouble == ARCP__PG_FINE) {
        out->batch = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
        trouble = arcp__pg_run(pg, "SET lock_timeout = 0", NULL, 0, NULL, err);
    }
    PQclear(rows);
    return trouble == ARCP__PG_FINE ? ARCP__PG_FINE : ARCP__PG_LOST;
}
