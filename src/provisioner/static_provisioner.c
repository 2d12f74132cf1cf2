/* A pool of values. An issue takes the next unused value, records its checksum in a file, and only
 * then returns it. If arcpd is killed in between, the value counts as used although no job got it.
 * Records are written one after the other on a thread of the loop's thread pool.
 *
 * The file of used values is append-only: SHA-256 checksums, one per line. */
#include "provisioner/static_provisioner.h"

#include <arcp/secret.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/hex.h"

#define SUM_SIZE  64 /* hex digits */
#define LINE_SIZE (SUM_SIZE + 1)

typedef struct pool_value {
    arcp_secret *secret; /* NULL: used */
    char sum[SUM_SIZE];
} pool_value;

typedef struct call {
    struct call *next;
    uint64_t id;
    pool_value *value; /* of an issue; NULL: nothing to record */
    arcp_provision_outcome outcome;
    const char *message; /* static */
    bool is_written;
} call;

typedef struct static_provisioner {
    arcp__upstream_provisioner common;
    struct uv_loop_s *loop;
    int used_fd;
    pool_value *values;
    size_t value_count;
    size_t next_value;
    call *calls; /* oldest first; the first one is in progress */
    uv_work_t work;
    bool is_working;
    bool is_freeing;
} static_provisioner;

static void release_memory(static_provisioner *pool)
{
    while (pool->calls != NULL) {
        call *first = pool->calls;
        pool->calls = first->next;
        arcp__free(first);
    }
    for (size_t i = 0; i < pool->value_count; i++) {
        arcp_secret_free(pool->values[i].secret);
    }
    if (pool->used_fd >= 0) {
        (void)close(pool->used_fd);
    }
    arcp__free(pool->values);
    arcp__free(pool);
}

/* ---- the file of used values ---- */

/* Removes an incomplete last line. Its value was never returned, so nothing is lost. */
static bool drop_torn_line(int fd)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return false;
    }
    const off_t whole = facts.st_size - facts.st_size % LINE_SIZE;
    return whole == facts.st_size || ftruncate(fd, whole) == 0;
}

static pool_value *find_value(const static_provisioner *pool, const char *sum)
{
    for (size_t i = 0; i < pool->value_count; i++) {
        if (memcmp(pool->values[i].sum, sum, SUM_SIZE) == 0) {
            return &pool->values[i];
        }
    }
    return NULL;
}

/* Opens the file, or creates it with mode 0600, and removes the values in it from the pool. */
static arcp_status read_used(static_provisioner *pool, const char *path, arcp_error *err)
{
    pool->used_fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (pool->used_fd < 0 || !drop_torn_line(pool->used_fd) || fsync(pool->used_fd) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "%s: %s", path, strerror(errno));
    }
    for (off_t offset = 0;; offset += LINE_SIZE) {
        char line[LINE_SIZE];
        const ssize_t size = pread(pool->used_fd, line, sizeof line, offset);
        if (size < 0) {
            return arcp_error_set(err, ARCP_E_IO, "%s: %s", path, strerror(errno));
        }
        if (size < (ssize_t)sizeof line) {
            return ARCP_OK;
        }
        pool_value *used = find_value(pool, line);
        if (used != NULL) {
            arcp_secret_free(used->secret);
            used->secret = NULL;
        }
    }
}

/* ---- calls, one after the other ---- */

/* Appends the value's checksum durably, on a thread of the loop's thread pool. */
static void on_work(uv_work_t *work)
{
    const static_provisioner *pool = work->data;
    call *first = pool->calls;
    char line[LINE_SIZE];
    if (first->value == NULL) {
        return;
    }
    memcpy(line, first->value->sum, SUM_SIZE);
    line[SUM_SIZE] = '\n';
    if (write(pool->used_fd, line, sizeof line) == (ssize_t)sizeof line) {
        first->is_written = fdatasync(pool->used_fd) == 0;
    } else {
        (void)drop_torn_line(pool->used_fd); /* a partial line would shift all later ones */
    }
}

static void begin(static_provisioner *pool);

static void on_worked(uv_work_t *work, int status)
{
    static_provisioner *pool = work->data;
    (void)status;
    pool->is_working = false;
    if (pool->is_freeing) {
        release_memory(pool);
        return;
    }
    call *done = pool->calls;
    pool->calls = done->next;
    arcp_provision_result result = {.struct_size = sizeof result,
                                    .call_id = done->id,
                                    .outcome = done->outcome,
                                    .status = ARCP_E_INTERNAL_ERROR,
                                    .message = done->message};
    const arcp__upstream *upstream = &pool->common.upstream;
    arcp_secret *secret = NULL;
    if (done->value != NULL) { /* taken first, because the callback may free the provisioner */
        secret = done->value->secret;
        done->value->secret = NULL;
    }
    if (secret != NULL && done->is_written) {
        result.value = arcp_secret_reveal(secret);
        result.endpoint = arcp_span_cstr(upstream->endpoint);
        result.scheme = arcp_span_cstr(upstream->scheme);
        result.profile = arcp_span_cstr(upstream->profile);
    } else if (secret != NULL) {
        result.outcome = ARCP_PROVISION_REFUSED;
        result.message = "the file of used values cannot be written";
    }
    begin(pool);
    pool->common.callbacks.done(pool->common.callbacks.user, &result);
    arcp_secret_free(secret);
    arcp__free(done);
}

static void begin(static_provisioner *pool)
{
    if (!pool->is_working && pool->calls != NULL) {
        pool->is_working = true; /* uv_queue_work cannot fail here */
        (void)uv_queue_work(pool->loop, &pool->work, on_work, on_worked);
    }
}

static arcp_status add_call(static_provisioner *pool, const call *asked, arcp_error *err)
{
    call *added = arcp__alloc(sizeof *added);
    if (added == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *added = *asked;
    LL_APPEND(pool->calls, added);
    begin(pool);
    return ARCP_OK;
}

static arcp_status issue_value(arcp_provisioner *base, const arcp_provision_request *request,
                               arcp_error *err)
{
    static_provisioner *pool = (static_provisioner *)base;
    call asked = {.id = request->call_id,
                  .outcome = ARCP_PROVISION_REFUSED,
                  .message = "the pool of credentials is exhausted"};
    while (pool->next_value < pool->value_count && pool->values[pool->next_value].secret == NULL) {
        pool->next_value++;
    }
    if (pool->next_value < pool->value_count) {
        asked = (call){.id = request->call_id,
                       .value = &pool->values[pool->next_value],
                       .outcome = ARCP_PROVISION_DONE};
    }
    const arcp_status status = add_call(pool, &asked, err);
    pool->next_value += status == ARCP_OK && asked.value != NULL;
    return status;
}

static arcp_status revoke_value(arcp_provisioner *base, const arcp_provision_request *request,
                                arcp_error *err)
{
    const call asked = {.id = request->call_id, .outcome = ARCP_PROVISION_DONE};
    return add_call((static_provisioner *)base, &asked, err);
}

static void provisioner_free(arcp_provisioner *base)
{
    static_provisioner *pool = (static_provisioner *)base;
    if (pool->is_working) {
        pool->is_freeing = true; /* on_worked releases the memory */
    } else {
        release_memory(pool);
    }
}

static const arcp_provisioner_ops ops = {
    .struct_size = sizeof(arcp_provisioner_ops),
    .name = "static",
    .set_callbacks = arcp__upstream_set_callbacks,
    .issue = issue_value,
    .revoke = revoke_value,
    .translate_error = arcp__upstream_translate,
    .free = provisioner_free,
};

/* ---- creation ---- */

static arcp_status take_values(static_provisioner *pool,
                               const arcp__static_provisioner_options *options, arcp_error *err)
{
    pool->values = arcp__alloc_array(options->value_count + 1, sizeof *pool->values);
    for (size_t i = 0; pool->values != NULL && i < options->value_count; i++) {
        unsigned char digest[SHA256_DIGEST_LENGTH];
        char sum[SUM_SIZE];
        const arcp_span value = arcp_span_cstr(options->values[i]);
        (void)SHA256((const unsigned char *)value.data, value.size, digest);
        arcp__hex_format(digest, sizeof digest, sum);
        if (find_value(pool, sum) != NULL) {
            continue; /* a value that is listed twice counts once */
        }
        pool_value *added = &pool->values[pool->value_count++];
        memcpy(added->sum, sum, sizeof sum);
        added->secret = arcp_secret_new(value);
        if (added->secret == NULL) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    return pool->values == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp_status arcp__static_provisioner_new(const arcp__static_provisioner_options *options,
                                         arcp_provisioner **out, arcp_error *err)
{
    static_provisioner *pool = arcp__alloc(sizeof *pool);
    if (pool == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    pool->common.upstream = options->upstream;
    pool->common.base = (arcp_provisioner){&ops, &pool->common.upstream.terms};
    pool->loop = options->loop;
    pool->work.data = pool;
    pool->used_fd = -1;
    arcp_status status = take_values(pool, options, err);
    if (status == ARCP_OK) {
        status = read_used(pool, options->used_file, err);
    }
    if (status != ARCP_OK) {
        release_memory(pool);
        return status;
    }
    *out = &pool->common.base;
    return ARCP_OK;
}
