/* Idempotency keys (§7.2): which job was made under a principal's key, until the key expires.
 *
 * While its job exists, a key is part of the job's row, and the job holds the response. When the
 * job is removed first, the key takes over the response and gets a row of its own.
 *
 * No key is removed before it expires: a retry would run a second job. Instead the number of keys
 * is bounded: a principal may have at most as many keys, and as many bytes of responses, as are
 * still free, so that there is always some left for the next principal. Beyond that its submits are
 * refused until keys expire (docs/decisions/0014-shares.md). */
#include "job/job_state.h"

#include "base/hex.h"

arcp__idempotency *arcp__idempotency_find(arcp__jobs *jobs, const arcp__principal *principal,
                                          arcp_span key)
{
    arcp__idempotency *entry = NULL;
    arcp_buf whole = arcp__context_take_buf(jobs->context);
    arcp_buf_append_cstr(&whole, principal->name);
    arcp_buf_append_byte(&whole, '\n');
    arcp_buf_append(&whole, key);
    HASH_FIND(hh, jobs->keys, whole.data, whole.size, entry);
    arcp__context_give_buf(jobs->context, &whole);
    return entry == NULL || entry->expires_wall_ns <= jobs->context->now.wall_ns ? NULL : entry;
}

arcp_span arcp__idempotency_accepted(const arcp__idempotency *entry)
{
    return arcp_span_cstr(entry->job != NULL ? entry->job->accepted : entry->accepted);
}

/* Removes the key from the table and frees it. */
static void forget(arcp__jobs *jobs, arcp__idempotency *entry)
{
    if (entry->hh.tbl != NULL) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash knows its neighbours */
        HASH_DEL(jobs->keys, entry);
        DL_DELETE2(jobs->oldest_key, entry, older, newer);
        jobs->key_count--;
        jobs->key_bytes -= entry->accepted_size;
        entry->principal->key_count--;
        entry->principal->key_bytes -= entry->accepted_size;
    }
    if (entry->job != NULL) {
        entry->job->idempotency = NULL;
    }
    arcp__free(entry->accepted);
    arcp__free(entry);
}

/* ---- rows ---- */

static void row_key(arcp__jobs *jobs, const arcp__idempotency *entry, char out[64])
{
    uint8_t hash[32];
    arcp__context_sha256(jobs->context, arcp_span_make(entry->key, entry->key_size), hash);
    arcp__hex_format(hash, 32, out);
}

typedef struct key_row {
    arcp_span key;
    arcp_span job_id; /* absent in the job's own row */
    uint8_t fingerprint[32];
    int64_t expires_at;
    arcp_json_ref accepted;
} key_row;

#define MEMBER(member, kind) ARCP__MEMBER(key_row, member, #member, kind)

static const arcp__member rows[] = {
    {MEMBER(key, TEXT)},
    {MEMBER(job_id, STRING)},
    {MEMBER(fingerprint, HASH), .required = true},
    {MEMBER(expires_at, INSTANT), .required = true},
    {MEMBER(accepted, OBJECT)},
};
static const arcp__members members = ARCP__MEMBERS(rows);

static void write_members(const arcp__idempotency *entry, arcp_span key, const char *job_id,
                          arcp_json_writer *writer)
{
    key_row row = {
        .key = key, .job_id = arcp_span_cstr(job_id), .expires_at = entry->expires_wall_ns};
    memcpy(row.fingerprint, entry->fingerprint, sizeof row.fingerprint);
    arcp__encode_row(writer, &members, &row);
}

static void delete_row(arcp__jobs *jobs, arcp__idempotency *entry)
{
    char key[64];
    if (entry->has_row) {
        row_key(jobs, entry, key);
        arcp__batch_delete(jobs->log, ARCP_STORE_IDEMPOTENCY, arcp_span_make(key, sizeof key));
        entry->has_row = false;
    }
}

/* ---- the table ---- */

/* The key is not in the table yet. NULL when out of memory. */
static arcp__idempotency *entry_new(arcp__jobs *jobs, arcp__principal *principal, arcp_span key,
                                    const char *job_id, const uint8_t fingerprint[32],
                                    int64_t expires_wall_ns)
{
    const size_t name_size = strlen(principal->name);
    arcp__idempotency *entry = arcp__alloc(sizeof *entry + name_size + 1 + key.size);
    if (entry == NULL) {
        arcp__context_no_memory(jobs->context);
        return NULL;
    }
    entry->principal = principal;
    entry->key_size = (uint32_t)(name_size + 1 + key.size);
    memcpy(entry->key, principal->name, name_size);
    entry->key[name_size] = '\n';
    memcpy(entry->key + name_size + 1, key.data, key.size);
    memcpy(entry->job_id, job_id, strlen(job_id) + 1);
    memcpy(entry->fingerprint, fingerprint, 32);
    entry->expires_wall_ns = expires_wall_ns;
    return entry;
}

/* Adds the key to the table. When two entries share a key, the one that expires later wins: the
 * other had expired when the later one was made. */
static void add(arcp__jobs *jobs, arcp__idempotency *entry)
{
    arcp__idempotency *other = NULL;
    HASH_FIND(hh, jobs->keys, entry->key, entry->key_size, other);
    if (other != NULL && other->expires_wall_ns > entry->expires_wall_ns) {
        forget(jobs, entry);
        return;
    }
    if (other != NULL) {
        entry->has_row = entry->has_row || other->has_row; /* both have the same row key */
        forget(jobs, other);
    }
    HASH_ADD_KEYPTR(hh, jobs->keys, entry->key, entry->key_size, entry);
    if (!ARCP__HASH_ADDED(entry)) {
        forget(jobs, entry);
        arcp__context_no_memory(jobs->context);
        return;
    }
    DL_APPEND2(jobs->oldest_key, entry, older, newer);
    entry->accepted_size = (uint32_t)arcp__idempotency_accepted(entry).size;
    jobs->key_count++;
    jobs->key_bytes += entry->accepted_size;
    entry->principal->key_count++;
    entry->principal->key_bytes += entry->accepted_size;
}

void arcp__idempotency_add(arcp__jobs *jobs, arcp__job *job, arcp_span key,
                           const uint8_t fingerprint[32])
{
    const int64_t ttl_ns =
        (int64_t)jobs->context->settings.jobs_idempotency_ttl_sec * ARCP_NS_PER_SEC;
    arcp__idempotency *entry = entry_new(jobs, job->principal, key, job->id, fingerprint,
                                         jobs->context->now.wall_ns + ttl_ns);
    if (entry == NULL) {
        return;
    }
    entry->job = job;
    job->idempotency = entry;
    arcp__idempotency *expired = NULL;
    HASH_FIND(hh, jobs->keys, entry->key, entry->key_size, expired);
    if (expired != NULL) {
        delete_row(jobs, expired);
    }
    add(jobs, entry);
}

void arcp__idempotency_remove(arcp__jobs *jobs, arcp__job *job)
{
    if (job->idempotency != NULL) {
        forget(jobs, job->idempotency);
    }
}

/* ---- in the job's row ---- */

void arcp__idempotency_write_row(const arcp__job *job, arcp_json_writer *writer)
{
    const arcp__idempotency *entry = job->idempotency;
    if (entry == NULL) {
        return;
    }
    const size_t before = strlen(job->principal->name) + 1;
    arcp__put_object(writer, "idempotency");
    write_members(entry, arcp_span_make(entry->key + before, entry->key_size - before), NULL,
                  writer);
    arcp_json_end_object(writer);
}

/* ---- expiry ---- */

bool arcp__idempotency_expire(arcp__jobs *jobs)
{
    for (unsigned count = 0; jobs->oldest_key != NULL; count++) {
        arcp__idempotency *oldest = jobs->oldest_key;
        arcp__principal *principal = oldest->principal;
        if (oldest->expires_wall_ns > jobs->context->now.wall_ns) {
            return false;
        }
        if (count == ARCP__REMOVED_AT_ONCE) {
            return true;
        }
        delete_row(jobs, oldest);
        forget(jobs, oldest);
        arcp__principal_maybe_free(jobs, principal);
    }
    return false;
}

/* ---- limits ---- */

/* The setting whose limit one more key would exceed; NULL: none. What a principal has counts twice:
 * as part of all keys and as its own. */
static const char *full(const arcp__jobs *jobs, const arcp__principal *principal, uint64_t bytes)
{
    const arcp_settings *settings = &jobs->context->settings;
    if (jobs->key_count + principal->key_count >= settings->jobs_idempotency_max) {
        return "jobs.idempotency_max";
    }
    return jobs->key_bytes + principal->key_bytes + bytes > settings->jobs_idempotency_bytes
               ? "jobs.idempotency_bytes"
               : NULL;
}

arcp_status arcp__idempotency_check(arcp__jobs *jobs, const arcp__principal *principal,
                                    uint64_t bytes, arcp_buf *details, arcp_error *err)
{
    const char *limit = full(jobs, principal, bytes);
    if (limit != NULL) {
        (void)arcp__idempotency_expire(jobs);
        limit = full(jobs, principal, bytes);
    }
    if (limit == NULL) {
        return ARCP_OK;
    }
    arcp_buf_append_format(details, "{\"limit\":\"%s\"", limit);
    if (jobs->oldest_key != NULL) { /* the earliest time at which a key expires */
        const int64_t left_ns = jobs->oldest_key->expires_wall_ns - jobs->context->now.wall_ns;
        const int64_t left_ms = left_ns <= 0 ? 1 : (left_ns + ARCP_NS_PER_MS - 1) / ARCP_NS_PER_MS;
        arcp_buf_append_format(details, ",\"retry_after_ms\":%lld", (long long)left_ms);
    }
    arcp_buf_append_byte(details, '}');
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "too many idempotency keys (%s)", limit);
}

/* ---- keys of removed jobs ---- */

void arcp__idempotency_detach(arcp__jobs *jobs, arcp__job *job)
{
    arcp__idempotency *entry = job->idempotency;
    if (entry == NULL) {
        return;
    }
    if (entry->expires_wall_ns > jobs->context->now.wall_ns && jobs->log->options.keeps_rows) {
        char key[64];
        arcp_buf row = arcp__context_take_buf(jobs->context);
        row_key(jobs, entry, key);
        arcp_json_writer writer = arcp__put_begin(&row);
        write_members(entry, arcp_span_make(entry->key, entry->key_size), entry->job_id, &writer);
        arcp__put_raw(&writer, "accepted", arcp__idempotency_accepted(entry));
        arcp_json_end_object(&writer);
        arcp__batch_put(jobs->log, ARCP_STORE_IDEMPOTENCY, arcp_span_make(key, sizeof key),
                        arcp_buf_span(&row));
        entry->has_row = true;
        arcp__context_give_buf(jobs->context, &row);
    }
    entry->job = NULL;
    entry->accepted = job->accepted;
    job->idempotency = NULL;
    job->accepted = NULL;
}

void arcp__idempotency_free_all(arcp__jobs *jobs)
{
    while (jobs->oldest_key != NULL) {
        forget(jobs, jobs->oldest_key);
    }
}

/* ---- after a restart ---- */

static int by_expiry(const arcp__idempotency *a, const arcp__idempotency *b)
{
    return (a->expires_wall_ns > b->expires_wall_ns) - (a->expires_wall_ns < b->expires_wall_ns);
}

arcp_status arcp__idempotency_restore_of_job(arcp__jobs *jobs, const arcp_json *json,
                                             arcp_json_ref object, arcp__job *job, arcp_error *err)
{
    key_row row = {0};
    if (object == ARCP_JSON_ABSENT) {
        return ARCP_OK;
    }
    if (!arcp__decode_row(json, &jobs->context->scratch, object, &members, &row)) {
        return arcp__row_damaged("job", arcp_span_cstr(job->id), err);
    }
    arcp__idempotency *entry =
        entry_new(jobs, job->principal, row.key, job->id, row.fingerprint, row.expires_at);
    if (entry == NULL) {
        return arcp__row_out_of_memory(err);
    }
    entry->job = job;
    job->idempotency = entry;
    add(jobs, entry);
    return ARCP_OK;
}

void arcp__idempotency_restored(arcp__jobs *jobs)
{
    DL_SORT2(jobs->oldest_key, by_expiry, older, newer);
    (void)arcp__idempotency_expire(jobs);
}

arcp_status arcp__idempotency_restore_row(arcp__jobs *jobs, arcp_span key, arcp_error *err)
{
    const arcp_json *json = &jobs->context->json;
    key_row row = {0};
    const bool is_read =
        arcp__decode_row(json, &jobs->context->scratch, ARCP_JSON_ROOT, &members, &row);
    const char *end = row.key.size == 0 ? NULL : memchr(row.key.data, '\n', row.key.size);
    if (!is_read || end == NULL || row.job_id.size == 0 || row.job_id.size >= ARCP__ID_SIZE ||
        row.accepted == ARCP_JSON_ABSENT) {
        return arcp__row_damaged("idempotency key", key, err);
    }
    const size_t name_size = (size_t)(end - row.key.data);
    char job_id[ARCP__ID_SIZE] = "";
    memcpy(job_id, row.job_id.data, row.job_id.size);
    arcp__principal *principal = arcp__principal_get(jobs, arcp_span_first(row.key, name_size));
    arcp__idempotency *entry =
        principal == NULL ? NULL
                          : entry_new(jobs, principal, arcp_span_from(row.key, name_size + 1),
                                      job_id, row.fingerprint, row.expires_at);
    if (entry == NULL) {
        return arcp__row_out_of_memory(err);
    }
    const arcp_span payload = arcp_json_raw(json, row.accepted);
    entry->accepted = arcp__copy_cstr(payload.data, payload.size);
    entry->has_row = true;
    if (entry->accepted == NULL) {
        forget(jobs, entry);
        return arcp__row_out_of_memory(err);
    }
    add(jobs, entry);
    return ARCP_OK;
}
