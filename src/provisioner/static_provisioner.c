/* A pool of values. An issue takes the next unused one off the pool, writes its sum down on a
 * thread of the loop's pool, one after the other, and only then hands it out: killed in
 * between, the value is used up, and nobody has it. */
#include "provisioner/static_provisioner.h"

#include <arcp/secret.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "provisioner/used_values.h"

typedef struct pool_value {
    arcp_secret *secret; /* NULL: used */
    char sum[ARCP__USED_SUM_SIZE];
} pool_value;

typedef struct call {
    struct call *next;
    uint64_t id;
    arcp_secret *secret; /* of an issue that goes on; NULL: nothing to write down */
    char sum[ARCP__USED_SUM_SIZE];
    arcp_provision_outcome outcome;
    const char *message; /* static */
    bool is_written;
} call;

typedef struct static_provisioner {
    arcp_provisioner base;
    arcp__static_provisioner_options options;
    arcp_provisioner_callbacks callbacks;
    arcp__used_values used;
    pool_value *values;
    size_t value_count;
    size_t next_value;
    call *calls; /* oldest first; the first one is at work */
    uv_work_t work;
    bool is_working;
    bool is_freeing;
} static_provisioner;

static void call_free(call *self)
{
    arcp_secret_free(self->secret);
    arcp__free(self);
}

static void release_memory(static_provisioner *self)
{
    while (self->calls != NULL) {
        call *first = self->calls;
        self->calls = first->next;
        call_free(first);
    }
    for (size_t at = 0; at < self->value_count; at++) {
        arcp_secret_free(self->values[at].secret);
    }
    arcp__used_values_close(&self->used);
    arcp__free(self->values);
    arcp__free(self);
}

/* ---- one call after the other ---- */

static void on_work(uv_work_t *work)
{
    static_provisioner *self = work->data;
    call *first = self->calls;
    first->is_written = first->secret == NULL || arcp__used_values_add(&self->used, first->sum);
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
    if (done->secret != NULL && done->is_written) {
        result.value = arcp_secret_reveal(done->secret);
        result.endpoint = arcp_span_cstr(self->options.endpoint);
        result.scheme = arcp_span_cstr(self->options.scheme);
        result.profile = arcp_span_cstr(self->options.profile);
    } else if (done->secret != NULL) {
        result.outcome = ARCP_PROVISION_REFUSED;
        result.message = "the pool's file of used values cannot be written";
    }
    begin(self);
    self->callbacks.done(self->callbacks.user, &result);
    call_free(done);
}

static void begin(static_provisioner *self)
{
    if (!self->is_working && self->calls != NULL) {
        self->is_working = uv_queue_work(self->options.loop, &self->work, on_work, on_worked) == 0;
    }
}

static arcp_status add_call(static_provisioner *self, call *added, arcp_error *err)
{
    LL_APPEND(self->calls, added);
    begin(self);
    return self->is_working ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static arcp_status take_one(arcp_provisioner *base, const arcp_provision_request *request,
                            arcp_error *err)
{
    static_provisioner *self = (static_provisioner *)base;
    call *added = arcp__alloc(sizeof(*added));
    if (added == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    added->id = request->call_id;
    added->outcome = ARCP_PROVISION_REFUSED;
    added->message = "the pool of credentials is used up";
    while (self->next_value < self->value_count && added->secret == NULL) {
        pool_value *value = &self->values[self->next_value++];
        if (value->secret != NULL) {
            added->secret = value->secret;
            added->outcome = ARCP_PROVISION_DONE;
            memcpy(added->sum, value->sum, sizeof(added->sum));
            value->secret = NULL;
        }
    }
    return add_call(self, added, err);
}

static arcp_status give_back(arcp_provisioner *base, const arcp_provision_request *request,
                             arcp_error *err)
{
    call *added = arcp__alloc(sizeof(*added));
    if (added == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    added->id = request->call_id;
    added->outcome = ARCP_PROVISION_DONE;
    return add_call((static_provisioner *)base, added, err);
}

static arcp_status translate_error(const arcp_provisioner *base, const arcp_upstream_error *error)
{
    const static_provisioner *self = (const static_provisioner *)base;
    return arcp__upstream_rules_apply(self->options.error_rules, self->options.error_rule_count,
                                      error);
}

static void set_callbacks(arcp_provisioner *base, const arcp_provisioner_callbacks *callbacks)
{
    ((static_provisioner *)base)->callbacks = *callbacks;
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
    .name = "static",
    .set_callbacks = set_callbacks,
    .issue = take_one,
    .revoke = give_back,
    .translate_error = translate_error,
    .free = provisioner_free,
};

/* ---- making one ---- */

static void mark_used(void *user, const char *sum)
{
    static_provisioner *self = user;
    for (size_t at = 0; at < self->value_count; at++) {
        if (memcmp(self->values[at].sum, sum, ARCP__USED_SUM_SIZE) == 0) {
            arcp_secret_free(self->values[at].secret);
            self->values[at].secret = NULL;
        }
    }
}

/* A value that is in the list twice is still one value. */
static bool is_listed(const static_provisioner *self, const char *sum)
{
    for (size_t at = 0; at < self->value_count; at++) {
        if (memcmp(self->values[at].sum, sum, ARCP__USED_SUM_SIZE) == 0) {
            return true;
        }
    }
    return false;
}

static arcp_status take_values(static_provisioner *self,
                               const arcp__static_provisioner_options *options, arcp_error *err)
{
    self->values = arcp__alloc_array(options->value_count + 1, sizeof(*self->values));
    for (size_t at = 0; self->values != NULL && at < options->value_count; at++) {
        char sum[ARCP__USED_SUM_SIZE];
        arcp_span value = arcp_span_cstr(options->values[at]);
        arcp__used_value_sum(value, sum);
        if (is_listed(self, sum)) {
            continue;
        }
        pool_value *added = &self->values[self->value_count++];
        memcpy(added->sum, sum, sizeof(sum));
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
    self->options = *options;
    self->options.values = NULL;
    self->base.ops = &ops;
    self->base.terms = &self->options.terms;
    self->work.data = self;
    self->used.fd = -1;
    arcp_status status = take_values(self, options, err);
    if (status == ARCP_OK) {
        status = arcp__used_values_open(options->used_file, &self->used, err);
    }
    if (status == ARCP_OK) {
        status = arcp__used_values_read(&self->used, mark_used, self, err);
    }
    if (status != ARCP_OK) {
        release_memory(self);
        return status;
    }
    *out = &self->base;
    return ARCP_OK;
}
