/* A request has one owner at a time: the authenticator, then the verifier that checks it, then the
 * authenticator again with the response. Only the list of answered requests is shared between
 * threads, under a lock; verifiers and counts are used on the loop's thread only.
 *
 * A verifier that was replaced stays until its last request is answered; a token that it refuses
 * is then passed to the current verifiers. */
#include "identity/identity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <arcp/secret.h>

#include "base/hash.h"
#include "base/options.h"
#include "base/utf8.h"

#define WHY_SIZE 256

typedef struct entry {
    struct entry *next;
    arcp_token_verifier *verifier; /* owned */
    size_t open;                   /* its requests without a response */
    bool is_retired;
} entry;

struct arcp_token_request {
    arcp__authenticator *authenticator; /* referenced; NULL: `answered` is called */
    arcp_token_request *prev, *next;
    entry *current;
    arcp_secret *token;
    uint64_t auth_id;
    int64_t wall_ns;
    arcp_status status; /* the last response */
    bool is_anonymous;
    arcp_role role;
    int64_t expires_wall_ns;
    bool is_undecided; /* some verifier could not decide */
    char principal[ARCP_PRINCIPAL_BYTES_MAX];
    size_t principal_size;
    char peer[64];
    char why[WHY_SIZE];
    void (*answered)(void *user, const arcp_token_response *response);
    void *user;
};

struct arcp__authenticator {
    arcp__authenticator_owner owner;
    pthread_mutex_t mutex;
    arcp_token_request *answered; /* under the lock, like is_closed */
    bool is_closed;
    atomic_uint refs;
    size_t open, open_max;
    entry *entries;
    entry *retired;
};

arcp__authenticator *arcp__authenticator_new(const arcp__authenticator_owner *owner,
                                             size_t requests_max)
{
    arcp__authenticator *authenticator = arcp__alloc(sizeof *authenticator);
    if (authenticator != NULL) {
        authenticator->owner = *owner;
        authenticator->open_max = requests_max;
        atomic_init(&authenticator->refs, 1);
        (void)pthread_mutex_init(&authenticator->mutex, NULL);
    }
    return authenticator;
}

static void authenticator_unref(arcp__authenticator *authenticator)
{
    if (atomic_fetch_sub(&authenticator->refs, 1) == 1) {
        (void)pthread_mutex_destroy(&authenticator->mutex);
        arcp__free(authenticator);
    }
}

/* ---- requests ---- */

static arcp_token_request *request_new(arcp_span token, int64_t wall_ns)
{
    arcp_token_request *request = arcp__alloc(sizeof *request);
    if (request != NULL) {
        request->status = ARCP_E_UNAUTHENTICATED;
        request->wall_ns = wall_ns;
        request->token = arcp_secret_new(token);
        if (request->token == NULL) {
            arcp__free(request);
            return NULL;
        }
    }
    return request;
}

static void request_free(arcp_token_request *request)
{
    if (request->authenticator != NULL) {
        authenticator_unref(request->authenticator);
    }
    arcp_secret_free(request->token);
    arcp__free(request);
}

arcp_token_request *arcp__token_request_new(arcp_span token, int64_t wall_ns,
                                            void (*answered)(void *user,
                                                             const arcp_token_response *response),
                                            void *user)
{
    arcp_token_request *request = request_new(token, wall_ns);
    if (request != NULL) {
        request->answered = answered;
        request->user = user;
    }
    return request;
}

arcp_span arcp_token_request_token(const arcp_token_request *request)
{
    return arcp_secret_reveal(request->token);
}

int64_t arcp_token_request_wall_ns(const arcp_token_request *request)
{
    return request->wall_ns;
}

static void add_why(arcp_token_request *request, const char *verifier, const char *why)
{
    const size_t used = strlen(request->why);
    (void)snprintf(request->why + used, WHY_SIZE - used, "%s%s: %s", used == 0 ? "" : "; ",
                   verifier, why == NULL ? "refused" : why);
}

static void keep_response(arcp_token_request *request, const arcp_token_response *given)
{
    arcp_token_response response = arcp_token_response_init();
    arcp_error why = {0};
    const char *verifier = request->current->verifier->ops->name;
    if (arcp__options_take(&response, given, sizeof response, "arcp_token_response", &why) !=
        ARCP_OK) {
        request->is_undecided = true;
        request->status = ARCP_E_UNAUTHENTICATED;
        add_why(request, verifier, why.message);
    } else if (response.status != ARCP_OK) {
        request->is_undecided = request->is_undecided || response.status == ARCP_E_INTERNAL_ERROR;
        request->status = ARCP_E_UNAUTHENTICATED;
        add_why(request, verifier, response.why);
    } else if (response.principal.size == 0 || response.principal.size > ARCP_PRINCIPAL_BYTES_MAX ||
               !arcp__utf8_is_valid(response.principal) ||
               arcp__has_control_byte(response.principal)) {
        request->status = ARCP_E_UNAUTHENTICATED;
        add_why(request, verifier,
                "the principal's name is empty, too long, not UTF-8 or has control characters");
    } else if (response.role != ARCP_ROLE_NONE &&
               (response.is_anonymous ||
                (response.role != ARCP_ROLE_VIEWER && response.role != ARCP_ROLE_OPERATOR))) {
        request->status = ARCP_E_UNAUTHENTICATED;
        add_why(request, verifier,
                response.is_anonymous ? "an anonymous principal cannot have a role"
                                      : "the role is not one of arcp_role");
    } else {
        request->status = ARCP_OK;
        request->is_anonymous = response.is_anonymous;
        request->role = response.role;
        request->expires_wall_ns = response.expires_wall_ns;
        request->principal_size = response.principal.size;
        memcpy(request->principal, response.principal.data, response.principal.size);
    }
}

void arcp_token_request_respond(arcp_token_request *request, const arcp_token_response *response)
{
    arcp__authenticator *authenticator = request->authenticator;
    if (authenticator == NULL) {
        request->answered(request->user, response);
        request_free(request);
        return;
    }
    (void)pthread_mutex_lock(&authenticator->mutex);
    const bool is_closed = authenticator->is_closed;
    if (!is_closed) {
        keep_response(request, response);
        DL_APPEND(authenticator->answered, request);
        /* Under the lock: the owner may be woken only until the authenticator is closed. */
        authenticator->owner.wake(authenticator->owner.user);
    }
    (void)pthread_mutex_unlock(&authenticator->mutex);
    if (is_closed) {
        request_free(request);
    }
}

/* ---- verifiers ---- */

static void entry_free(entry *old)
{
    arcp_token_verifier_free(old->verifier);
    arcp__free(old);
}

static void free_entries(entry **list)
{
    while (*list != NULL) {
        entry *old = *list;
        *list = old->next;
        entry_free(old);
    }
}

arcp_status arcp__authenticator_set(arcp__authenticator *authenticator,
                                    arcp_token_verifier *const *verifiers, size_t count,
                                    arcp_error *err)
{
    entry *fresh = NULL;
    entry **end = &fresh;
    bool failed = false;
    for (size_t i = 0; i < count; i++) {
        const arcp_status status =
            arcp__vtable_check(verifiers[i]->ops, ARCP__END_OF(arcp_token_verifier_ops, free),
                               sizeof(arcp_token_verifier_ops), "arcp_token_verifier_ops", err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < count; i++) {
        entry *added = failed ? NULL : arcp__alloc(sizeof *added);
        if (added == NULL) {
            failed = true;
            arcp_token_verifier_free(verifiers[i]);
            continue;
        }
        added->verifier = verifiers[i];
        *end = added;
        end = &added->next;
    }
    if (failed) {
        free_entries(&fresh);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    while (authenticator->entries != NULL) {
        entry *old = authenticator->entries;
        authenticator->entries = old->next;
        if (old->open == 0) {
            entry_free(old);
            continue;
        }
        old->is_retired = true;
        old->next = authenticator->retired;
        authenticator->retired = old;
    }
    authenticator->entries = fresh;
    return ARCP_OK;
}

/* ---- passing requests to verifiers ---- */

static void pass_to(arcp_token_request *request, entry *to)
{
    request->current = to;
    to->open++;
    to->verifier->ops->verify(to->verifier, request);
}

static void report(const arcp__authenticator *authenticator, uint64_t auth_id, arcp_status status,
                   const arcp__identity *identity)
{
    authenticator->owner.answered(authenticator->owner.user, auth_id, status, identity);
}

static const arcp__identity nobody = {.role = ARCP_ROLE_NONE};

void arcp__authenticator_verify(arcp__authenticator *authenticator, uint64_t auth_id,
                                arcp_span token, const char *peer, int64_t wall_ns)
{
    if (authenticator->entries == NULL) {
        report(authenticator, auth_id, ARCP_E_UNAUTHENTICATED, &nobody);
        return;
    }
    const bool is_full = authenticator->open >= authenticator->open_max;
    arcp_token_request *request = is_full ? NULL : request_new(token, wall_ns);
    if (request == NULL) {
        authenticator->owner.refused(
            authenticator->owner.user, peer,
            is_full ? "too many tokens are being verified" : "out of memory", true);
        report(authenticator, auth_id, ARCP_E_INTERNAL_ERROR, &nobody);
        return;
    }
    request->auth_id = auth_id;
    (void)snprintf(request->peer, sizeof request->peer, "%s", peer);
    request->authenticator = authenticator;
    (void)atomic_fetch_add(&authenticator->refs, 1);
    authenticator->open++;
    pass_to(request, authenticator->entries);
}

static arcp__origin origin_of(const arcp_token_request *request)
{
    arcp__origin origin = {.expires_wall_ns = request->expires_wall_ns};
    const arcp_token_verifier *verifier = request->current->verifier;
    (void)(arcp__token_table_origin(verifier, arcp_secret_reveal(request->token), origin.hash) ||
           arcp__jwt_origin(verifier, origin.hash));
    return origin;
}

bool arcp__authenticator_knows(const arcp__authenticator *authenticator, const arcp__origin *origin,
                               const char *principal, arcp_role role)
{
    uint8_t rules[sizeof origin->hash];
    for (const entry *at = authenticator->entries; at != NULL; at = at->next) {
        if (arcp__token_table_knows(at->verifier, origin->hash, principal, role) ||
            (arcp__jwt_origin(at->verifier, rules) &&
             memcmp(rules, origin->hash, sizeof rules) == 0)) {
            return true;
        }
    }
    return false;
}

/* After a response: passes a refused token to the next verifier, or reports the result. */
static void advance(arcp__authenticator *authenticator, arcp_token_request *request)
{
    entry *from = request->current;
    entry *next = from->is_retired ? authenticator->entries : from->next;
    const arcp__origin origin = origin_of(request);
    from->open--;
    if (from->is_retired && from->open == 0) {
        LL_DELETE(authenticator->retired, from);
        entry_free(from);
    }
    if (request->status != ARCP_OK && next != NULL) {
        pass_to(request, next);
        return;
    }
    arcp_status status = request->status;
    if (status != ARCP_OK) {
        status = request->is_undecided ? ARCP_E_INTERNAL_ERROR : ARCP_E_UNAUTHENTICATED;
        authenticator->owner.refused(authenticator->owner.user, request->peer, request->why,
                                     request->is_undecided);
    }
    authenticator->open--;
    const arcp__identity identity = {
        .principal = arcp_span_make(request->principal, request->principal_size),
        .is_anonymous = request->is_anonymous,
        .role = request->role,
        .origin = origin};
    report(authenticator, request->auth_id, status, status == ARCP_OK ? &identity : &nobody);
    request_free(request);
}

static arcp_token_request *take_answered(arcp__authenticator *authenticator)
{
    (void)pthread_mutex_lock(&authenticator->mutex);
    arcp_token_request *answered = authenticator->answered;
    authenticator->answered = NULL;
    (void)pthread_mutex_unlock(&authenticator->mutex);
    return answered;
}

bool arcp__authenticator_take(arcp__authenticator *authenticator)
{
    arcp_token_request *requests = take_answered(authenticator);
    const bool any = requests != NULL;
    while (requests != NULL) {
        arcp_token_request *request = requests;
        requests = request->next;
        advance(authenticator, request);
    }
    return any;
}

void arcp__authenticator_close(arcp__authenticator *authenticator)
{
    if (authenticator == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&authenticator->mutex);
    authenticator->is_closed = true;
    (void)pthread_mutex_unlock(&authenticator->mutex);
    for (arcp_token_request *at = take_answered(authenticator), *next = NULL; at != NULL;
         at = next) {
        next = at->next;
        request_free(at);
    }
    free_entries(&authenticator->entries);
    free_entries(&authenticator->retired);
    authenticator_unref(authenticator);
}
