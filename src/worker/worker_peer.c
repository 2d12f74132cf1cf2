#include "worker/worker_peer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "worker/worker_core.h"

/* One job that the link is about. */
typedef struct peer_job {
    UT_hash_handle hh; /* by id */
    char id[ARCP__WORKER_ID_MAX + 1];
    void *job;                     /* the owner's */
    uint64_t items_first;          /* of hello; numbers below are open ones */
    uint64_t open;                 /* the last of those that came */
    uint64_t items, bytes, errors; /* that came, or that the worker has been allowed to forget */
    arcp__worker_kept sent;        /* the numbers of the last `kept` */
    bool is_dirty;                 /* there may be more to be kept no more */
    uint64_t forgotten;            /* the number of the ping after it was forgotten; 0: it is not */
    struct peer_job *prev, *next;  /* dirty ones, or forgotten ones */
    arcp__worker_usage_row usage;  /* without its job */
    uint64_t log_dropped;          /* bytes, since that was reported */
} peer_job;

struct arcp__worker_peer {
    arcp__worker_peer_owner owner;
    bool has_joined;
    int64_t began_ns, heard_ns, pinged_ns;
    uint64_t ping;
    peer_job *jobs;              /* owned */
    peer_job *dirty, *forgotten; /* oldest first */
    int64_t dirty_ns;            /* since when there are any */
    size_t dirty_bytes;
    int64_t log_ns; /* the second in which log_bytes came */
    size_t log_bytes;
    arcp__worker_reader reader; /* of rows */
    arcp_buf rows;
};

static arcp_status refuse(arcp_error *err, const arcp__worker_message *message, const char *why)
{
    return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s: %s",
                          arcp__worker_kind_name(message->kind), why);
}

static arcp_status out_of_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- jobs ---- */

static peer_job *find_job(const arcp__worker_peer *peer, arcp_span id)
{
    peer_job *found = NULL;
    HASH_FIND(hh, peer->jobs, id.data, id.size, found);
    return found;
}

static bool is_id(arcp_span id)
{
    return id.size != 0 && id.size <= ARCP__WORKER_ID_MAX && memchr(id.data, '\0', id.size) == NULL;
}

static peer_job *add_job(arcp__worker_peer *peer, arcp_span id, void *job)
{
    peer_job *added = arcp__alloc(sizeof *added);
    if (added == NULL) {
        return NULL;
    }
    memcpy(added->id, id.data, id.size);
    added->job = job;
    added->items_first = 1;
    HASH_ADD_STR(peer->jobs, id, added);
    if (!ARCP__HASH_ADDED(added)) {
        arcp__free(added);
        return NULL;
    }
    return added;
}

static void clean(arcp__worker_peer *peer, peer_job *job)
{
    if (job->is_dirty) {
        job->is_dirty = false;
        DL_DELETE(peer->dirty, job);
    }
}

static void remove_job(arcp__worker_peer *peer, peer_job *job)
{
    clean(peer, job);
    if (job->forgotten != 0) {
        DL_DELETE(peer->forgotten, job);
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash knows its neighbours */
    HASH_DEL(peer->jobs, job);
    arcp__free(job);
}

bool arcp__worker_peer_add(arcp__worker_peer *peer, arcp_span id, void *job)
{
    return add_job(peer, id, job) != NULL;
}

void arcp__worker_peer_forget(arcp__worker_peer *peer, arcp_span id)
{
    peer_job *job = find_job(peer, id);
    if (job != NULL && job->forgotten == 0) {
        clean(peer, job);
        job->forgotten = peer->ping + 1;
        DL_APPEND(peer->forgotten, job);
        peer->owner.send(peer->owner.user,
                         &(arcp__worker_message){.kind = ARCP__WORKER_FORGET, .forget = {id}});
    }
}

/* ---- what need not be kept ---- */

static void mark_dirty(arcp__worker_peer *peer, peer_job *job, size_t bytes, int64_t now_ns)
{
    if (peer->dirty == NULL) {
        peer->dirty_ns = now_ns;
        peer->dirty_bytes = 0;
    }
    peer->dirty_bytes += bytes;
    if (!job->is_dirty) {
        job->is_dirty = true;
        DL_APPEND(peer->dirty, job);
    }
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Whether the worker keeps nothing any more of what has come. */
static bool send_kept(const arcp__worker_peer *peer, peer_job *job)
{
    arcp__worker_message message = {.kind = ARCP__WORKER_KEPT};
    arcp__worker_kept *kept = &message.kept;
    peer->owner.get_kept(peer->owner.user, job->job, kept);
    const bool is_all = kept->items >= job->items && kept->bytes >= job->bytes &&
                        kept->errors >= job->errors && kept->open_count == 0;
    kept->job = arcp_span_cstr(job->id);
    kept->items = lesser(kept->items, job->items);
    kept->bytes = lesser(kept->bytes, job->bytes);
    kept->errors = lesser(kept->errors, job->errors);
    kept->stored = lesser(kept->stored, job->items);
    while (kept->open_count != 0 && kept->open[kept->open_count - 1] > kept->items) {
        kept->open_count--;
    }
    if (kept->items != job->sent.items || kept->bytes != job->sent.bytes ||
        kept->errors != job->sent.errors || kept->stored != job->sent.stored ||
        kept->open_count != job->sent.open_count) {
        peer->owner.send(peer->owner.user, &message);
        job->sent = *kept;
        job->sent.open = NULL; /* the owner's */
    }
    return is_all;
}

/* Those of which the store does not have all stay dirty. */
static void send_all_kept(arcp__worker_peer *peer, int64_t now_ns)
{
    peer_job *const last = peer->dirty == NULL ? NULL : peer->dirty->prev;
    for (peer_job *job = peer->dirty, *next = NULL; job != NULL; job = next) {
        next = job == last ? NULL : job->next;
        if (send_kept(peer, job)) {
            clean(peer, job);
        }
    }
    peer->dirty_ns = now_ns;
    peer->dirty_bytes = 0;
}

/* ---- the handshake ---- */

static arcp_status claim(arcp__worker_peer *peer, const arcp__worker_job_row *row, arcp_error *err)
{
    arcp__worker_resume_row answer = {.job = row->job, .what = ARCP__WORKER_FORGET_JOB};
    void *owned = NULL;
    if (!is_id(row->job) || find_job(peer, row->job) != NULL) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "hello: it names a job twice");
    }
    if (!peer->owner.claim(peer->owner.user, row, &answer.what, &owned)) {
        return ARCP_OK;
    }
    if (answer.what != ARCP__WORKER_FORGET_JOB) {
        peer_job *job = add_job(peer, row->job, owned);
        if (job == NULL) {
            return out_of_memory(err);
        }
        job->items_first = row->items_first;
        job->items = row->items_first - 1;
        job->bytes = row->bytes_first;
        job->errors = row->errors_first - 1;
    }
    arcp__worker_resume_row_write(&answer, &peer->rows);
    return ARCP_OK;
}

static arcp_status take_hello(arcp__worker_peer *peer, const arcp__worker_message *message,
                              int64_t now_ns, arcp_error *err)
{
    const arcp__worker_hello *hello = &message->hello;
    arcp__worker_message welcome = {.kind = ARCP__WORKER_WELCOME};
    if (peer->has_joined) {
        return refuse(err, message, "it came twice");
    }
    if (hello->v_low > ARCP__WORKER_V_HIGH || hello->v_high < ARCP__WORKER_V_LOW) {
        if (peer->owner.foreign != NULL) {
            peer->owner.foreign(peer->owner.user, hello);
        }
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the worker speaks versions %llu to %llu, not %u to %u",
                              (unsigned long long)hello->v_low, (unsigned long long)hello->v_high,
                              ARCP__WORKER_V_LOW, ARCP__WORKER_V_HIGH);
    }
    arcp_status status = peer->owner.hello(peer->owner.user, hello, &welcome.welcome, err);
    welcome.welcome.v = lesser(hello->v_high, ARCP__WORKER_V_HIGH);
    for (arcp_span rest = message->body; rest.size != 0 && status == ARCP_OK;) {
        arcp__worker_job_row row;
        status = arcp__worker_job_row_read(&peer->reader, &rest, &row, err);
        status = status == ARCP_OK ? claim(peer, &row, err) : status;
    }
    if (status == ARCP_OK && peer->rows.failed) {
        status = out_of_memory(err);
    }
    if (status == ARCP_OK) {
        welcome.body = arcp_buf_span(&peer->rows);
        peer->has_joined = true;
        peer->pinged_ns = now_ns;
        peer->owner.send(peer->owner.user, &welcome);
        peer->owner.ready(peer->owner.user);
    }
    arcp_buf_fini(&peer->rows);
    return status;
}

/* ---- what jobs say ---- */

/* Whether these items are the next ones on this link. */
static bool are_next(peer_job *job, uint64_t first, uint64_t count)
{
    if (first < job->items_first) { /* open: taken again; what follows may be in the same run */
        const uint64_t last = first + count - 1;
        const bool is_next = first > job->open && job->items == job->items_first - 1;
        if (is_next && last >= job->items_first) {
            job->items = last;
        }
        job->open = is_next ? lesser(last, job->items_first - 1) : job->open;
        return is_next;
    }
    if (first != job->items + 1) {
        return false;
    }
    job->items += count;
    return true;
}

static arcp_status take_items(arcp__worker_peer *peer, peer_job *job,
                              const arcp__worker_message *message, int64_t now_ns, arcp_error *err)
{
    const arcp__worker_items *items = &message->items;
    arcp_span rest = message->body;
    if (!are_next(job, items->first, items->count)) {
        return refuse(err, message, "these are not the next numbers of the job");
    }
    mark_dirty(peer, job, rest.size, now_ns);
    if (items->what != ARCP__WORKER_ITEM_LINE) {
        peer->owner.item(peer->owner.user, job->job, items->first, items->what, rest);
        return ARCP_OK;
    }
    for (uint64_t i = 0; i < items->count; i++) {
        const char *end = memchr(rest.data, '\n', rest.size); /* ends every line */
        const size_t size = (size_t)(end - rest.data);
        peer->owner.item(peer->owner.user, job->job, items->first + i, items->what,
                         arcp_span_first(rest, size));
        rest = arcp_span_from(rest, size + 1);
    }
    return ARCP_OK;
}

static arcp_status take_output(arcp__worker_peer *peer, peer_job *job,
                               const arcp__worker_message *message, int64_t now_ns, arcp_error *err)
{
    if (message->output.first != job->bytes) {
        return refuse(err, message, "these are not the next bytes of the job");
    }
    job->bytes += message->body.size;
    mark_dirty(peer, job, message->body.size, now_ns);
    peer->owner.output(peer->owner.user, job->job, job->bytes, message->body);
    return ARCP_OK;
}

static arcp_status take_errors(arcp__worker_peer *peer, peer_job *job,
                               const arcp__worker_message *message, int64_t now_ns, arcp_error *err)
{
    arcp_span rest = message->body;
    if (message->errors.first != job->errors + 1) {
        return refuse(err, message, "these are not the next lines of the job");
    }
    mark_dirty(peer, job, rest.size, now_ns);
    for (uint64_t i = 0; i < message->errors.count; i++) {
        const char *end = memchr(rest.data, '\n', rest.size);
        const size_t size = (size_t)(end - rest.data);
        job->errors++;
        peer->owner.error_line(peer->owner.user, job->job, job->errors,
                               arcp_span_first(rest, size));
        rest = arcp_span_from(rest, size + 1);
    }
    return ARCP_OK;
}

/* Whether the log of the worker's jobs stays below its limit with these bytes. */
static bool admit_log(arcp__worker_peer *peer, size_t size, int64_t now_ns)
{
    if (now_ns - peer->log_ns >= ARCP_NS_PER_SEC) {
        peer->log_ns = now_ns;
        peer->log_bytes = 0;
    }
    if (peer->log_bytes != 0 && (peer->log_bytes >= ARCP__PEER_LOG_BYTES ||
                                 size > ARCP__PEER_LOG_BYTES - peer->log_bytes)) {
        return false;
    }
    peer->log_bytes += size;
    return true;
}

static void report_dropped(const arcp__worker_peer *peer, peer_job *job)
{
    if (job->log_dropped != 0 && peer->owner.log_dropped != NULL) {
        peer->owner.log_dropped(peer->owner.user, job->job, job->log_dropped);
    }
    job->log_dropped = 0;
}

/* The last line may be cut where the run of bytes ends. */
static arcp_status take_log(arcp__worker_peer *peer, peer_job *job,
                            const arcp__worker_message *message, int64_t now_ns, arcp_error *err)
{
    job->log_dropped += message->log.dropped;
    if (!admit_log(peer, message->body.size, now_ns)) {
        job->log_dropped += message->body.size;
        return ARCP_OK;
    }
    report_dropped(peer, job);
    for (arcp_span rest = message->body; rest.size != 0;) {
        const char *end = memchr(rest.data, '\n', rest.size);
        const size_t size = end == NULL ? rest.size : (size_t)(end - rest.data);
        peer->owner.log(peer->owner.user, job->job, arcp_span_first(rest, size));
        rest = arcp_span_from(rest, end == NULL ? size : size + 1);
    }
    return ARCP_OK;
}

static arcp_status take_started(arcp__worker_peer *peer, peer_job *job,
                                const arcp__worker_message *message, int64_t now_ns,
                                arcp_error *err)
{
    job->usage.pid = message->started.pid;
    peer->owner.started(peer->owner.user, job->job, message->started.pid);
    return ARCP_OK;
}

static arcp_status take_refused(arcp__worker_peer *peer, peer_job *job,
                                const arcp__worker_message *message, int64_t now_ns,
                                arcp_error *err)
{
    void *owned = job->job;
    remove_job(peer, job); /* as the worker has */
    peer->owner.refused(peer->owner.user, owned, &message->refused);
    return ARCP_OK;
}

static arcp_status take_exited(arcp__worker_peer *peer, peer_job *job,
                               const arcp__worker_message *message, int64_t now_ns, arcp_error *err)
{
    const arcp__worker_exited *exited = &message->exited;
    if (exited->items != job->items || exited->bytes != job->bytes ||
        exited->errors != job->errors) {
        return refuse(err, message, "its last numbers are not those that came");
    }
    report_dropped(peer, job);
    peer->owner.exited(peer->owner.user, job->job, exited, message->body);
    return ARCP_OK;
}

static arcp_status take_got(arcp__worker_peer *peer, peer_job *job,
                            const arcp__worker_message *message, int64_t now_ns, arcp_error *err)
{
    peer->owner.got(peer->owner.user, job->job, message->got.at);
    return ARCP_OK;
}

static arcp_status take_pong(arcp__worker_peer *peer, const arcp__worker_message *message,
                             arcp_error *err)
{
    if (message->pong.number > peer->ping) {
        return refuse(err, message, "there was no such ping");
    }
    while (peer->forgotten != NULL && peer->forgotten->forgotten <= message->pong.number) {
        remove_job(peer, peer->forgotten);
    }
    return ARCP_OK;
}

static arcp_status take_usage(arcp__worker_peer *peer, const arcp__worker_message *message,
                              arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (arcp_span rest = message->body; rest.size != 0 && status == ARCP_OK;) {
        arcp__worker_usage_row row;
        status = arcp__worker_usage_row_read(&peer->reader, &rest, &row, err);
        peer_job *job = status == ARCP_OK ? find_job(peer, row.job) : NULL;
        if (status == ARCP_OK && job == NULL) {
            return refuse(err, message, "the worker was not given one of its jobs");
        }
        if (job != NULL) {
            job->usage = row;
            job->usage.job = arcp_span_make(NULL, 0); /* the reader's */
        }
    }
    return status;
}

bool arcp__worker_peer_usage(const arcp__worker_peer *peer, arcp_span id,
                             arcp__worker_usage_row *out)
{
    const peer_job *job = find_job(peer, id);
    if (job == NULL || job->usage.pid == 0) {
        return false;
    }
    *out = job->usage;
    return true;
}

/* ---- by kind ---- */

typedef arcp_status take_fn(arcp__worker_peer *peer, peer_job *job,
                            const arcp__worker_message *message, int64_t now_ns, arcp_error *err);

static take_fn *const kinds[ARCP__WORKER_KINDS] = {
    [ARCP__WORKER_ITEMS] = take_items,     [ARCP__WORKER_OUTPUT] = take_output,
    [ARCP__WORKER_ERRORS] = take_errors,   [ARCP__WORKER_LOG] = take_log,
    [ARCP__WORKER_STARTED] = take_started, [ARCP__WORKER_REFUSED] = take_refused,
    [ARCP__WORKER_EXITED] = take_exited,   [ARCP__WORKER_GOT] = take_got,
};

arcp_status arcp__worker_peer_receive(arcp__worker_peer *peer, int64_t now_ns,
                                      const arcp__worker_message *message, arcp_error *err)
{
    if (message->kind == ARCP__WORKER_HELLO) {
        peer->heard_ns = now_ns;
        return take_hello(peer, message, now_ns, err);
    }
    if (!peer->has_joined) {
        return refuse(err, message, "it came before hello");
    }
    peer->heard_ns = now_ns;
    if (message->kind == ARCP__WORKER_PING) {
        peer->owner.send(peer->owner.user, &(arcp__worker_message){.kind = ARCP__WORKER_PONG,
                                                                   .pong = {message->ping.number}});
        return ARCP_OK;
    }
    if (message->kind == ARCP__WORKER_PONG) {
        return take_pong(peer, message, err);
    }
    if (message->kind == ARCP__WORKER_USAGE) {
        return take_usage(peer, message, err);
    }
    peer_job *job = find_job(peer, message->items.job); /* all of these begin with it */
    if (job == NULL) {
        return refuse(err, message, "the worker was not given this job");
    }
    if (job->forgotten != 0) {
        return ARCP_OK; /* which the worker may not have read yet */
    }
    return kinds[message->kind](peer, job, message, now_ns, err);
}

/* ---- time ---- */

/* When `kept` is due; after enough bytes at once. */
static int64_t kept_due(const arcp__worker_peer *peer)
{
    return peer->dirty == NULL                          ? ARCP_TIME_NEVER
           : peer->dirty_bytes >= ARCP__PEER_KEPT_BYTES ? peer->dirty_ns
                                                        : peer->dirty_ns + ARCP__PEER_KEPT_NS;
}

int64_t arcp__worker_peer_due(const arcp__worker_peer *peer)
{
    if (!peer->has_joined) {
        return peer->began_ns + ARCP__PEER_HELLO_NS;
    }
    const int64_t ping_ns = peer->pinged_ns + ARCP__WORKER_PING_NS;
    const int64_t silent_ns = peer->heard_ns + ARCP__WORKER_SILENT_NS;
    const int64_t kept_ns = kept_due(peer);
    const int64_t first_ns = ping_ns < silent_ns ? ping_ns : silent_ns;
    return first_ns < kept_ns ? first_ns : kept_ns;
}

arcp_status arcp__worker_peer_tick(arcp__worker_peer *peer, int64_t now_ns, arcp_error *err)
{
    if (!peer->has_joined) {
        return now_ns - peer->began_ns < ARCP__PEER_HELLO_NS
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_TIMEOUT, "it has sent no hello in 10 s");
    }
    if (now_ns - peer->heard_ns >= ARCP__WORKER_SILENT_NS) {
        return arcp_error_set(err, ARCP_E_TIMEOUT, "it has sent nothing for 15 s");
    }
    if (now_ns - peer->pinged_ns >= ARCP__WORKER_PING_NS) {
        peer->pinged_ns = now_ns;
        peer->ping++;
        peer->owner.send(peer->owner.user,
                         &(arcp__worker_message){.kind = ARCP__WORKER_PING, .ping = {peer->ping}});
    }
    if (now_ns >= kept_due(peer)) {
        send_all_kept(peer, now_ns);
    }
    return ARCP_OK;
}

/* ---- the peer ---- */

size_t arcp__worker_peer_jobs(const arcp__worker_peer *peer)
{
    size_t count = 0;
    for (const peer_job *job = peer->jobs; job != NULL; job = job->hh.next) {
        count += job->forgotten == 0 ? 1 : 0;
    }
    return count;
}

bool arcp__worker_peer_has_joined(const arcp__worker_peer *peer)
{
    return peer->has_joined;
}

arcp__worker_peer *arcp__worker_peer_new(const arcp__worker_peer_owner *owner, int64_t now_ns)
{
    arcp__worker_peer *peer = arcp__alloc(sizeof *peer);
    if (peer != NULL) {
        peer->owner = *owner;
        peer->began_ns = peer->heard_ns = now_ns;
    }
    return peer;
}

void arcp__worker_peer_free(arcp__worker_peer *peer)
{
    if (peer != NULL) {
        while (peer->jobs != NULL) {
            remove_job(peer, peer->jobs);
        }
        arcp__worker_reader_fini(&peer->reader);
        arcp_buf_fini(&peer->rows);
        arcp__free(peer);
    }
}
