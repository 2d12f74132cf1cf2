/* One lock, held only while bytes are copied. The thread swaps the queue with an empty one and
 * works without the lock. Only the first record after a pause wakes the thread, which then waits
 * LINGER_NS for further records, so that a busy caller makes no system call per record. */
#include "audit/audit_log.h"

#include <stdio.h>

#include "audit/audit_file.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

#define LINGER_NS ((int64_t)2 * ARCP_NS_PER_MS)
/* Unsynced lines are also kept in memory; at this size they are synced early. */
#define UNSYNCED_BYTES_MAX ((size_t)4 << 20)
#define RETRY_NS           ((int64_t)250 * ARCP_NS_PER_MS)

struct arcp__audit_log {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* for the thread */
    pthread_cond_t done; /* for await and flush */
    pthread_t thread;

    /* Guarded by the lock. */
    arcp_buf queue; /* records, each with a line feed */
    uint64_t lost, lost_unnoted;
    uint64_t taken, written_upto;         /* numbers of records */
    uint64_t hurried_upto;                /* records up to this one are to be written at once */
    uint64_t syncs_requested, syncs_done; /* numbers of flushes */
    arcp__audit_settings settings;
    arcp__audit_head written; /* head of the file */
    bool is_asleep, is_failing, must_reopen, must_stop;

    /* Used by the thread only. */
    arcp__audit_file file;
    arcp_buf work;
    uint64_t swapped_upto; /* the last record that left the queue */
    int64_t sync_at_ns;    /* ARCP_TIME_NEVER: nothing to sync */
    arcp__audit_changed_fn changed;
    void *user;
};

static int64_t now_ns(void)
{
    return arcp__clock_ns(CLOCK_MONOTONIC);
}

static struct timespec instant(int64_t at_ns)
{
    return (struct timespec){.tv_sec = at_ns / ARCP_NS_PER_SEC, .tv_nsec = at_ns % ARCP_NS_PER_SEC};
}

/* ---- the thread ---- */

/* The work of one round, collected under the lock. */
typedef struct round {
    arcp__audit_settings settings;
    uint64_t lost;  /* lost records to be recorded */
    uint64_t syncs; /* number of the last flush that the round completes */
    bool must_sync, must_reopen;
} round;

static bool has_work(const arcp__audit_log *log)
{
    return log->queue.size != 0 || log->syncs_requested != log->syncs_done || log->must_reopen ||
           log->must_stop || log->lost_unnoted != 0;
}

/* Sleeps until there is work, and then a moment for further records. Called with the lock held. */
static void wait_for_work(arcp__audit_log *log)
{
    int64_t until = log->sync_at_ns;
    if (log->is_failing) {
        until = now_ns() + RETRY_NS;
    }
    while (log->is_failing ? !log->must_stop && now_ns() < until
                           : !has_work(log) && now_ns() < until) {
        log->is_asleep = true;
        if (until == ARCP_TIME_NEVER) {
            (void)pthread_cond_wait(&log->wake, &log->lock);
        } else {
            struct timespec deadline = instant(until);
            (void)pthread_cond_timedwait(&log->wake, &log->lock, &deadline);
        }
        log->is_asleep = false;
    }
    until = now_ns() + LINGER_NS;
    struct timespec deadline = instant(until);
    while (log->queue.size != 0 && log->hurried_upto <= log->written_upto &&
           log->syncs_requested == log->syncs_done && !log->must_stop && !log->is_failing &&
           now_ns() < until) {
        (void)pthread_cond_timedwait(&log->wake, &log->lock, &deadline);
    }
}

/* Takes the queue only if the lines of the last round were written and synced without error, so
 * that memory stays bounded. */
static void take_queue(arcp__audit_log *log, round *out)
{
    *out = (round){.settings = log->settings,
                   .syncs = log->syncs_done,
                   .must_sync = log->settings.sync_ms == 0,
                   .must_reopen = log->must_reopen};
    log->must_reopen = false;
    if (log->file.out.size != 0 || log->file.must_sync) {
        return;
    }
    out->must_sync = out->must_sync || log->syncs_requested != log->syncs_done;
    out->syncs = log->syncs_requested;
    log->swapped_upto = log->taken;
    arcp_buf empty = log->work;
    arcp_buf_clear(&empty);
    log->work = log->queue;
    log->queue = empty;
    out->lost = log->lost_unnoted;
    log->lost_unnoted = 0;
}

static arcp_status sync_when_due(arcp__audit_log *log, const round *what, arcp_error *err)
{
    if (log->file.unsynced.size != 0 && log->sync_at_ns == ARCP_TIME_NEVER) {
        log->sync_at_ns = now_ns() + (int64_t)what->settings.sync_ms * ARCP_NS_PER_MS;
    }
    if (!what->must_sync && !log->file.must_sync && now_ns() < log->sync_at_ns &&
        log->file.unsynced.size < UNSYNCED_BYTES_MAX) {
        return ARCP_OK;
    }
    const arcp_status status = arcp__audit_file_sync(&log->file, err);
    log->sync_at_ns = ARCP_TIME_NEVER;
    return status;
}

/* The records of the queue are in the file. Responses that wait for them do not also wait until the
 * file is synced or a new one has begun, which may take a disk long. */
static void set_written(arcp__audit_log *log)
{
    (void)pthread_mutex_lock(&log->lock);
    log->written_upto = log->swapped_upto;
    (void)pthread_cond_broadcast(&log->done);
    (void)pthread_mutex_unlock(&log->lock);
}

static arcp_status write_round(arcp__audit_log *log, round *what, arcp_error *err)
{
    uint64_t unchained = 0; /* records lost for lack of memory */
    for (arcp_span left = arcp_buf_span(&log->work); left.size != 0;) {
        const char *feed = memchr(left.data, '\n', left.size);
        const size_t size = (size_t)(feed - left.data);
        unchained += arcp__audit_file_add(&log->file, arcp_span_first(left, size)) ? 0 : 1;
        left = arcp_span_from(left, size + 1);
    }
    arcp_buf_clear(&log->work);
    arcp_status status = arcp__audit_file_write(&log->file, err);
    if (status == ARCP_OK) {
        set_written(log);
    }
    if (status == ARCP_OK && what->lost != 0) {
        char members[48];
        (void)snprintf(members, sizeof members, "\"lost_records\":%llu",
                       (unsigned long long)what->lost);
        status = arcp__audit_file_note(&log->file, "lost", members, err);
        what->lost = 0; /* recorded, in the file or in the lines that wait to be written */
    }
    what->lost += unchained;
    if (status == ARCP_OK && what->must_reopen) {
        status = arcp__audit_file_reopen(&log->file, err);
    }
    if (status == ARCP_OK && what->settings.rotate_bytes != 0 &&
        log->file.size >= what->settings.rotate_bytes) {
        status = arcp__audit_file_rotate(&log->file, err);
    }
    return status == ARCP_OK ? sync_when_due(log, what, err) : status;
}

static void *run(void *user)
{
    arcp__audit_log *log = user;
    bool was_failing = false;
    bool is_running = true;
    (void)pthread_mutex_lock(&log->lock);
    while (is_running) {
        round what;
        arcp_error error = {0};
        wait_for_work(log);
        const bool must_stop = log->must_stop;
        const bool had_lost = log->lost_unnoted != 0;
        take_queue(log, &what);
        (void)pthread_mutex_unlock(&log->lock);
        const bool is_failing = write_round(log, &what, &error) != ARCP_OK;
        (void)pthread_mutex_lock(&log->lock);
        log->lost_unnoted += what.lost;
        log->is_failing = is_failing;
        if (is_failing) {
            log->must_reopen = log->must_reopen || what.must_reopen;
        } else {
            log->written = log->file.head;
            log->syncs_done = what.syncs;
        }
        (void)pthread_cond_broadcast(&log->done);
        is_running = !must_stop || (!is_failing && log->queue.size != 0);
        if (is_failing != was_failing || (had_lost && !is_failing)) {
            /* Called after the state has changed, and without the lock, so that it can be queried.
             */
            (void)pthread_mutex_unlock(&log->lock);
            log->changed(log->user, is_failing ? error.message : NULL);
            (void)pthread_mutex_lock(&log->lock);
        }
        was_failing = is_failing;
    }
    (void)pthread_mutex_unlock(&log->lock);
    return NULL;
}

/* ---- public functions ---- */

arcp_status arcp__audit_log_open(const char *path, const arcp__audit_settings *settings,
                                 arcp__audit_changed_fn changed, void *user, arcp__audit_log **out,
                                 arcp_error *err)
{
    arcp__audit_log *log = arcp__alloc(sizeof *log);
    if (log == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the audit log");
    }
    const arcp_status status = arcp__audit_file_open(&log->file, path, err);
    if (status != ARCP_OK) {
        arcp__free(log);
        return status;
    }
    pthread_condattr_t clock;
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&log->lock, NULL);
    (void)pthread_cond_init(&log->wake, &clock);
    (void)pthread_cond_init(&log->done, &clock);
    (void)pthread_condattr_destroy(&clock);
    log->settings = *settings;
    log->changed = changed;
    log->user = user;
    log->written = log->file.head;
    log->sync_at_ns = ARCP_TIME_NEVER;
    log->syncs_requested = 1; /* for the line `opened` */
    if (arcp__thread_start(&log->thread, "arcp-audit", run, log) != 0) {
        arcp__audit_file_close(&log->file);
        arcp__free(log);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "cannot create a thread for the audit log");
    }
    *out = log;
    return ARCP_OK;
}

/* Called with the lock held. */
static void wake(arcp__audit_log *log)
{
    if (log->is_asleep) {
        log->is_asleep = false;
        (void)pthread_cond_signal(&log->wake);
    }
}

void arcp__audit_log_set(arcp__audit_log *log, const arcp__audit_settings *settings)
{
    (void)pthread_mutex_lock(&log->lock);
    log->settings = *settings;
    (void)pthread_mutex_unlock(&log->lock);
}

bool arcp__audit_log_append(arcp__audit_log *log, arcp_span record)
{
    (void)pthread_mutex_lock(&log->lock);
    const size_t room = log->settings.queue_bytes > log->queue.size
                            ? log->settings.queue_bytes - log->queue.size
                            : 0;
    const bool taken = record.size < room && arcp_buf_reserve(&log->queue, record.size + 1);
    if (taken) {
        arcp_buf_append(&log->queue, record);
        arcp_buf_append_byte(&log->queue, '\n');
        log->taken++;
    } else {
        log->queue.failed = false;
        log->lost++;
        log->lost_unnoted++;
    }
    if (!log->is_failing) {
        wake(log);
    }
    (void)pthread_mutex_unlock(&log->lock);
    return taken;
}

void arcp__audit_log_reopen(arcp__audit_log *log)
{
    (void)pthread_mutex_lock(&log->lock);
    log->must_reopen = true;
    wake(log);
    (void)pthread_mutex_unlock(&log->lock);
}

void arcp__audit_log_hurry(arcp__audit_log *log)
{
    (void)pthread_mutex_lock(&log->lock);
    if (log->taken > log->hurried_upto) {
        log->hurried_upto = log->taken;
        (void)pthread_cond_signal(&log->wake);
    }
    (void)pthread_mutex_unlock(&log->lock);
}

bool arcp__audit_log_await(arcp__audit_log *log, uint64_t wait_ms_max)
{
    (void)pthread_mutex_lock(&log->lock);
    const uint64_t upto = log->hurried_upto;
    if (log->written_upto < upto && !log->is_failing) {
        const int64_t until = now_ns() + (int64_t)wait_ms_max * ARCP_NS_PER_MS;
        struct timespec deadline = instant(until);
        while (log->written_upto < upto && !log->is_failing && now_ns() < until) {
            (void)pthread_cond_timedwait(&log->done, &log->lock, &deadline);
        }
    }
    const bool written = log->written_upto >= upto;
    (void)pthread_mutex_unlock(&log->lock);
    return written;
}

bool arcp__audit_log_flush(arcp__audit_log *log)
{
    (void)pthread_mutex_lock(&log->lock);
    const uint64_t mine = ++log->syncs_requested;
    wake(log);
    while (!log->is_failing && log->syncs_done < mine) {
        (void)pthread_cond_wait(&log->done, &log->lock);
    }
    const bool clean = !log->is_failing;
    (void)pthread_mutex_unlock(&log->lock);
    return clean;
}

void arcp__audit_log_get_stats(arcp__audit_log *log, arcp__audit_stats *out)
{
    (void)pthread_mutex_lock(&log->lock);
    *out = (arcp__audit_stats){.head = log->written,
                               .lost = log->lost,
                               .queued_bytes = log->queue.size,
                               .is_failing = log->is_failing};
    (void)pthread_mutex_unlock(&log->lock);
}

void arcp__audit_log_close(arcp__audit_log *log, arcp__audit_head *last)
{
    if (log == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&log->lock);
    log->must_stop = true;
    wake(log);
    (void)pthread_mutex_unlock(&log->lock);
    (void)pthread_join(log->thread, NULL);
    arcp__audit_file_close(&log->file);
    if (last != NULL) {
        *last = log->file.head;
    }
    (void)pthread_cond_destroy(&log->wake);
    (void)pthread_cond_destroy(&log->done);
    (void)pthread_mutex_destroy(&log->lock);
    arcp_buf_fini(&log->queue);
    arcp_buf_fini(&log->work);
    arcp__free(log);
}
