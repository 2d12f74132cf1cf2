/* A pool of values. An issue takes the next unused one off the pool, writes its sum down on a
 * thread of the loop's pool, one after the other, and only then hands it out: killed in
 * between, the value is used up, and nobody has it.
 *
 * What was used stands in a file that only grows: SHA-256 sums, one a line. */
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
    pool_value *value; /* of an issue that goes on; NULL: nothing to write down */
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
    call *calls; /* oldest first; the first one is at work */
    uv_work_t work;
    bool is_working;
    bool is_freeing;
} static_provisioner;

static void release_memory(static_provisioner *self)
{
    while (self->calls != NULL) {
        call *first = self->calls;
        self->calls = first->next;
        arcp__free(first);
    }
    for (size_t i = 0; i < self->value_count; i++) {
        arcp_secret_free(self->values[i].secret);
    }
    if (self->used_fd >= 0) {
        (void)close(self->used_fd);
    }
    arcp__free(self->values);
    arcp__free(self);
}

/* ---- the file of what was used ---- */

/* A line that was cut off by a crash was never relied upon: nothing was handed out for it. */
static bool drop_torn_line(int fd)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return false;
    }
    const off_t whole = facts.st_size - facts.st_size % LINE_SIZE;
    return whole == facts.st_size || ftruncate(fd, whole) == 0;
}

static pool_value *find_value(const static_provisioner *self, const char *sum)
{
    for (size_t i = 0; i < self->value_count; i++) {
        if (memcmp(self->values[i].sum, sum, SUM_SIZE) == 0) {
            return &self->values[i];
        }
    }
    return NULL;
}

/* Opens the file, or makes it (mode 0600), and drops the values that stand in it. */
static arcp_status read_used(static_provisioner *self, const char *path, arcp_error *err)
{
    self->used_fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (self->used_fd < 0 || !drop_torn_line(self->used_fd) || fsync(self->used_fd) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "%s: %s", path, strerror(errno));
    }
    for (off_t at = 0;; at += LINE_SIZE) {
        char line[LINE_SIZE];
        const ssize_t size = pread(self->used_fd, line, sizeof line, at);
        if (size < 0) {
            return arcp_error_set(err, ARCP_E_IO, "the file of used values: %s", strerror(errno));
        }
        if (size < (ssize_t)sizeof line) {
            return ARCP_OK;
        }
        pool_value *used = find_value(self, line);
        if (used != NULL) {
            arcp_secret_free(used->secret);
            used->secret = NULL;
        }
    }
}

/* ---- one call after the other ---- */

/* Appends the value's sum, durably: on a thread of the pool. */
static void on_work(uv_work_t *work)
{
    const static_provisioner *self = work->data;
    call *first = self->calls;
    char line[LINE_SIZE];
    if (first->value == NULL) {
        return;
    }
    memcpy(line, first->value->sum, SUM_SIZE);
    line[SUM_SIZE] = '\n';
    if (write(self->used_fd, line, sizeof line) == (ssize_t)sizeof line) {
        first->is_written = fdatasync(self->used_fd) == 0;
    } else {
        (void)drop_torn_line(self->used_fd); /* a part of a line would shift all later ones */
    }
}

static void begin(static_provisioner *self);

static void on_worked(uv_work_t *work, int status)
{
    static_provisioner *self = work->data;
    (void)status;
    self->is_working = false;
    if (self->is_freeing) {
        release_memory(self);
        return;
    }
    call *done = self->calls;
    self->calls = done->next;
    arcp_provision_result result = {.struct_size = sizeof(result),
                                    .call_id = done->id,
                                    .outcome = done->outcome,
                                    .status = ARCP_E_INTERNAL_ERROR,
                                    .message = done->message};
    const arcp__upstream *upstream = &self->common.upstream;
    arcp_secret *secret = NULL;
    if (done->value != NULL) { /* who is told may free us */
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
        result.message = "the pool's file of used values cannot be written";
    }
    begin(self);
    self->common.callbacks.done(self->common.callbacks.user, &result);
    arcp_secret_free(secret);
    arcp__free(done);
}

static void begin(static_provisioner *self)
{
    if (!self->is_working && self->calls != NULL) {
        self->is_working = true; /* it fails only without a function */
        (void)uv_queue_work(self->loop, &self->work, on_work, on_worked);
    }
}

static arcp_status add_call(static_provisioner *self, const call *asked, arcp_error *err)
{
    call *added = arcp__alloc(sizeof *added);
    if (added == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *added = *asked;
    LL_APPEND(self->calls, added);
    begin(self);
    return ARCP_OK;
}

static arcp_status take_one(arcp_provisioner *base, const arcp_provision_request *request,
                            arcp_error *err)
{
    static_provisioner *self = (static_provisioner *)base;
    call asked = {.id = request->call_id,
                  .outcome = ARCP_PROVISION_REFUSED,
                  .message = "the pool of credentials is used up"};
    while (self->next_value < self->value_count && self->values[self->next_value].secret == NULL) {
        self->next_value++;
    }
    if (self->next_value < self->value_count) {
        asked = (call){.id = request->call_id,
                       .value = &self->values[self->next_value],
                       .outcome = ARCP_PROVISION_DONE};
    }
    const arcp_status status = add_call(self, &asked, err);
    self->next_value += status == ARCP_OK && asked.value != NULL;
    return status;
}

static arcp_status give_back(arcp_provisioner *base, const arcp_provision_request *request,
                             arcp_error *err)
{
    const call asked = {.id = request->call_id, .outcome = ARCP_PROVISION_DONE};
    return add_call((static_provisioner *)base, &asked, err);
}

static void provisioner_free(arcp_provisioner *base)
{
    static_provisioner *self = (static_provisioner *)base;
    if (self->is_working) {
        self->is_freeing = true; /* on_worked does the rest */
    } else {
        release_memory(self);
    }
}

static const arcp_provisioner_ops ops = {
    .struct_size = sizeof(arcp_provisioner_ops),
    .name = "static",
    .set_callbacks = arcp__upstream_set_callbacks,
    .issue = take_one,
    .revoke = give_back,
    .translate_error = arcp__upstream_translate,
    .free = provisioner_free,
};

/* ---- making one ---- */

static arcp_status take_values(static_provisioner *self,
                               const arcp__static_provisioner_options *options, arcp_error *err)
{
    self->values = arcp__alloc_array(options->value_count + 1, sizeof *self->values);
    for (size_t i = 0; self->values != NULL && i < options->value_count; i++) {
        unsigned char digest[SHA256_DIGEST_LENGTH];
        char sum[SUM_SIZE];
        const arcp_span value = arcp_span_cstr(options->values[i]);
        (void)SHA256((const unsigned char *)value.data, value.size, digest);
        arcp__hex_format(digest, sizeof digest, sum);
        if (find_value(self, sum) != NULL) {
            continue; /* in the list twice it is still one value */
        }
        pool_value *added = &self->values[self->value_count++];
        memcpy(added->sum, sum, sizeof sum);
        added->secret = arcp_secret_new(value);
        if (added->secret == NULL) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    return self->values == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp_status arcp__static_provisioner_new(const arcp__static_provisioner_options *options,
                                         arcp_provisioner **out, arcp_error *err)
{
    static_provisioner *self = arcp__alloc(sizeof(*self));
    if (self == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    self->common.upstream = options->upstream;
    self->common.base = (arcp_provisioner){&ops, &self->common.upstream.terms};
    self->loop = options->loop;
    self->work.data = self;
    self->used_fd = -1;
    arcp_status status = take_values(self, options, err);
    if (status == ARCP_OK) {
        status = read_used(self, options->used_file, err);
    }
    if (status != ARCP_OK) {
        release_memory(self);
        return status;
    }
    *out = &self->common.base;
    return ARCP_OK;
}
