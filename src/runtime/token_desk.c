/* One question belongs to one side at a time: the desk, then the verifier that is asked,
 * then the desk again with the answer. Only the list of answered ones is shared between
 * threads, and it has a lock; the verifiers and all counts are the loop's.
 *
 * A verifier that was replaced stays until its last question has come back; what it refuses
 * is then put to the verifiers of now. */
#include "runtime/token_desk.h"

#include <pthread.h>
#include <stdio.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "runtime/runtime_state.h"

#define WHY_SIZE 256

typedef struct entry {
    struct entry *next;
    arcp_token_verifier *verifier; /* owned */
    size_t open;                   /* questions that it has */
    bool is_retired;
} entry;

struct arcp_token_question {
    arcp__token_desk *desk; /* counted; NULL: `answered` is told */
    arcp_token_question *next;
    entry *asked;
    arcp_secret *token;
    uint64_t auth_id;
    int64_t wall_ns;
    arcp_status status; /* the answer; of refusals the one that promises most */
    bool is_anonymous;
    bool was_unsure; /* some verifier could not tell */
    char principal[ARCP_PRINCIPAL_BYTES_MAX];
    size_t principal_size;
    char peer[64];
    char why[WHY_SIZE];
    void (*answered)(void *user, const arcp_token_answer *answer);
    void *user;
};

struct arcp__token_desk {
    arcp_runtime *runtime; /* the loop's thread, or under the lock while not closed */
    pthread_mutex_t mutex;
    arcp_token_question *first, *last; /* answered; under the lock */
    unsigned refs;                     /* under the lock */
    bool is_closed;                    /* under the lock */
    size_t open, open_max;
    entry *entries;
    entry *retired;
};

arcp__token_desk *arcp__token_desk_new(arcp_runtime *runtime, size_t questions_max)
{
    arcp__token_desk *desk = arcp__alloc(sizeof(*desk));
    if (desk != NULL) {
        desk->runtime = runtime;
        desk->open_max = questions_max;
        desk->refs = 1;
        (void)pthread_mutex_init(&desk->mutex, NULL);
    }
    return desk;
}

static void desk_unref(arcp__token_desk *desk)
{
    (void)pthread_mutex_lock(&desk->mutex);
    bool is_last = --desk->refs == 0;
    (void)pthread_mutex_unlock(&desk->mutex);
    if (is_last) {
        (void)pthread_mutex_destroy(&desk->mutex);
        arcp__free(desk);
    }
}

/* ---- questions ---- */

static arcp_token_question *question_new(arcp_span token, int64_t wall_ns)
{
    arcp_token_question *question = arcp__alloc(sizeof(*question));
    if (question != NULL) {
        question->status = ARCP_E_UNAUTHENTICATED;
        question->wall_ns = wall_ns;
        question->token = arcp_secret_new(token);
        if (question->token == NULL) {
            arcp__free(question);
            return NULL;
        }
    }
    return question;
}

static void question_free(arcp_token_question *question)
{
    if (question->desk != NULL) {
        desk_unref(question->desk);
    }
    arcp_secret_free(question->token);
    arcp__free(question);
}

arcp_token_question *
arcp__token_question_new(arcp_span token, int64_t wall_ns,
                         void (*answered)(void *user, const arcp_token_answer *answer), void *user)
{
    arcp_token_question *question = question_new(token, wall_ns);
    if (question != NULL) {
        question->answered = answered;
        question->user = user;
    }
    return question;
}

arcp_span arcp_token_question_token(const arcp_token_question *question)
{
    return arcp_secret_reveal(question->token);
}

int64_t arcp_token_question_wall_ns(const arcp_token_question *question)
{
    return question->wall_ns;
}

static bool is_principal(arcp_span name)
{
    if (name.size == 0 || name.size > ARCP_PRINCIPAL_BYTES_MAX || !arcp__utf8_is_valid(name)) {
        return false;
    }
    for (size_t at = 0; at < name.size; at++) {
        unsigned char byte = (unsigned char)name.data[at];
        if (byte < 0x20 || byte == 0x7f) {
            return false;
        }
    }
    return true;
}

static void add_why(arcp_token_question *question, const char *verifier, const char *why)
{
    size_t used = strlen(question->why);
    (void)snprintf(question->why + used, WHY_SIZE - used, "%s%s: %s", used == 0 ? "" : "; ",
                   verifier, why == NULL ? "refused" : why);
}

static void keep_answer(arcp_token_question *question, const arcp_token_answer *answer)
{
    const char *verifier = question->asked->verifier->ops->name;
    if (answer->struct_size != sizeof(*answer)) {
        question->was_unsure = true;
        question->status = ARCP_E_UNAUTHENTICATED;
        add_why(question, verifier, "its answer did not begin as ARCP_TOKEN_ANSWER_INIT");
    } else if (answer->status != ARCP_OK) {
        question->was_unsure = question->was_unsure || answer->status == ARCP_E_INTERNAL_ERROR;
        question->status = ARCP_E_UNAUTHENTICATED;
        add_why(question, verifier, answer->why);
    } else if (!is_principal(answer->principal)) {
        question->status = ARCP_E_UNAUTHENTICATED;
        add_why(question, verifier,
                "the principal's name is empty, too long or has characters that no name has");
    } else {
        question->status = ARCP_OK;
        question->is_anonymous = answer->is_anonymous;
        question->principal_size = answer->principal.size;
        memcpy(question->principal, answer->principal.data, answer->principal.size);
    }
}

void arcp_token_question_answer(arcp_token_question *question, const arcp_token_answer *answer)
{
    arcp__token_desk *desk = question->desk;
    if (desk == NULL) {
        question->answered(question->user, answer);
        question_free(question);
        return;
    }
    (void)pthread_mutex_lock(&desk->mutex);
    bool is_closed = desk->is_closed;
    if (!is_closed) {
        keep_answer(question, answer);
        question->next = NULL;
        if (desk->first == NULL) {
            desk->first = question;
        } else {
            desk->last->next = question;
        }
        desk->last = question;
        /* Under the lock: whoever closes the desk closes this handle after it. */
        (void)uv_async_send(&desk->runtime->wake);
    }
    (void)pthread_mutex_unlock(&desk->mutex);
    if (is_closed) {
        question_free(question);
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

static void retire_all(arcp__token_desk *desk)
{
    while (desk->entries != NULL) {
        entry *old = desk->entries;
        desk->entries = old->next;
        if (old->open == 0) {
            entry_free(old);
            continue;
        }
        old->is_retired = true;
        old->next = desk->retired;
        desk->retired = old;
    }
}

arcp_status arcp__token_desk_set(arcp__token_desk *desk, arcp_token_verifier *const *verifiers,
                                 size_t count, arcp_error *err)
{
    entry *fresh = NULL;
    entry **end = &fresh;
    bool failed = false;
    for (size_t at = 0; at < count; at++) {
        entry *added = failed ? NULL : arcp__alloc(sizeof(*added));
        if (added == NULL) {
            failed = true;
            arcp_token_verifier_free(verifiers[at]);
            continue;
        }
        added->verifier = verifiers[at];
        *end = added;
        end = &added->next;
    }
    if (failed) {
        free_entries(&fresh);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    retire_all(desk);
    desk->entries = fresh;
    return ARCP_OK;
}

static void came_back(arcp__token_desk *desk, entry *from)
{
    from->open--;
    if (!from->is_retired || from->open != 0) {
        return;
    }
    for (entry **at = &desk->retired; *at != NULL; at = &(*at)->next) {
        if (*at == from) {
            *at = from->next;
            entry_free(from);
            return;
        }
    }
}

/* ---- asking ---- */

static void put_to(arcp_token_question *question, entry *to)
{
    question->asked = to;
    to->open++;
    to->verifier->ops->ask(to->verifier, question);
}

static void tell_engine(arcp__token_desk *desk, uint64_t auth_id, arcp_status status,
                        arcp_span principal, bool is_anonymous)
{
    arcp__engine_authenticated(desk->runtime->engine, arcp__runtime_now(), auth_id, status,
                               principal, is_anonymous);
}

static void tell_refused(arcp__token_desk *desk, const char *peer, const char *rule,
                         const char *why, bool is_trouble)
{
    const arcp__refusal refusal = {.peer = peer, .rule = rule, .is_trouble = is_trouble};
    arcp__engine_refused(desk->runtime->engine, arcp__runtime_now(), &refusal, why);
}

static void cannot_ask(arcp__token_desk *desk, uint64_t auth_id, const char *peer, const char *why)
{
    tell_refused(desk, peer, "bearer token", why, true);
    tell_engine(desk, auth_id, ARCP_E_INTERNAL_ERROR, arcp_span_make(NULL, 0), false);
}

void arcp__token_desk_ask(arcp__token_desk *desk, uint64_t auth_id, arcp_span token,
                          const char *peer)
{
    if (desk->entries == NULL) {
        tell_engine(desk, auth_id, ARCP_E_UNAUTHENTICATED, arcp_span_make(NULL, 0), false);
        return;
    }
    if (desk->open >= desk->open_max) {
        cannot_ask(desk, auth_id, peer, "too many others are being verified");
        return;
    }
    arcp_token_question *question = question_new(token, arcp__runtime_now().wall_ns);
    if (question == NULL) {
        cannot_ask(desk, auth_id, peer, "out of memory");
        return;
    }
    question->auth_id = auth_id;
    (void)snprintf(question->peer, sizeof(question->peer), "%s", peer);
    question->desk = desk;
    (void)pthread_mutex_lock(&desk->mutex);
    desk->refs++;
    (void)pthread_mutex_unlock(&desk->mutex);
    desk->open++;
    put_to(question, desk->entries);
}

/* Refused by one verifier: the next one, or the end. */
static void go_on(arcp__token_desk *desk, arcp_token_question *question)
{
    entry *from = question->asked;
    entry *next = from->is_retired ? desk->entries : from->next;
    came_back(desk, from);
    if (question->status != ARCP_OK && next != NULL) {
        put_to(question, next);
        return;
    }
    arcp_status status = question->status;
    if (status != ARCP_OK) {
        status = question->was_unsure ? ARCP_E_INTERNAL_ERROR : ARCP_E_UNAUTHENTICATED;
        tell_refused(desk, question->peer, "bearer token", question->why, question->was_unsure);
    }
    desk->open--;
    tell_engine(desk, question->auth_id, status,
                arcp_span_make(question->principal, question->principal_size),
                question->is_anonymous);
    question_free(question);
}

static arcp_token_question *take_answered(arcp__token_desk *desk)
{
    (void)pthread_mutex_lock(&desk->mutex);
    arcp_token_question *first = desk->first;
    desk->first = desk->last = NULL;
    (void)pthread_mutex_unlock(&desk->mutex);
    return first;
}

bool arcp__token_desk_take(arcp__token_desk *desk)
{
    arcp_token_question *questions = take_answered(desk);
    bool any = questions != NULL;
    while (questions != NULL) {
        arcp_token_question *question = questions;
        questions = question->next;
        go_on(desk, question);
    }
    return any;
}

void arcp__token_desk_close(arcp__token_desk *desk)
{
    if (desk == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&desk->mutex);
    desk->is_closed = true;
    (void)pthread_mutex_unlock(&desk->mutex);
    for (arcp_token_question *at = take_answered(desk), *next = NULL; at != NULL; at = next) {
        next = at->next;
        question_free(at);
    }
    free_entries(&desk->entries);
    free_entries(&desk->retired);
    desk_unref(desk);
}
