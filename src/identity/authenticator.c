/* A question has one owner at a time: the authenticator, then the verifier that checks it, then the
 * authenticator again with the answer. Only the list of answered questions is shared between
 * threads, under a lock; verifiers and counts are used on the loop's thread only.
 *
 * A verifier that was replaced stays until its last question is answered; a token that it refuses
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
    size_t open;                   /* its questions without an answer */
    bool is_retired;
} entry;

struct arcp_token_question {
    arcp__authenticator *authenticator; /* referenced; NULL: `answered` is called */
    arcp_token_question *prev, *next;
    entry *current;
    arcp_secret *token;
    uint64_t auth_id;
    int64_t wall_ns;
    arcp_status status; /* the last answer */
    bool is_anonymous;
    bool is_undecided; /* some verifier could not decide */
    char principal[ARCP_PRINCIPAL_BYTES_MAX];
    size_t principal_size;
    char peer[64];
    char why[WHY_SIZE];
    void (*answered)(void *user, const arcp_token_answer *answer);
    void *user;
};

struct arcp__authenticator {
    arcp__authenticator_owner owner;
    pthread_mutex_t mutex;
    arcp_token_question *answered; /* under the lock, like is_closed */
    bool is_closed;
    atomic_uint refs;
    size_t open, open_max;
    entry *entries;
    entry *retired;
};

arcp__authenticator *arcp__authenticator_new(const arcp__authenticator_owner *owner,
                                             size_t questions_max)
{
    arcp__authenticator *authenticator = arcp__alloc(sizeof *authenticator);
    if (authenticator != NULL) {
        authenticator->owner = *owner;
        authenticator->open_max = questions_max;
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

/* ---- questions ---- */

static arcp_token_question *question_new(arcp_span token, int64_t wall_ns)
{
    arcp_token_question *question = arcp__alloc(sizeof *question);
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
    if (question->authenticator != NULL) {
        authenticator_unref(question->authenticator);
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

static void add_why(arcp_token_question *question, const char *verifier, const char *why)
{
    const size_t used = strlen(question->why);
    (void)snprintf(question->why + used, WHY_SIZE - used, "%s%s: %s", used == 0 ? "" : "; ",
                   verifier, why == NULL ? "refused" : why);
}

static void keep_answer(arcp_token_question *question, const arcp_token_answer *given)
{
    arcp_token_answer answer = arcp_token_answer_init();
    arcp_error why = {0};
    const char *verifier = question->current->verifier->ops->name;
    if (arcp__options_take(&answer, given, sizeof answer, "arcp_token_answer", &why) != ARCP_OK) {
        question->is_undecided = true;
        question->status = ARCP_E_UNAUTHENTICATED;
        add_why(question, verifier, why.message);
    } else if (answer.status != ARCP_OK) {
        question->is_undecided = question->is_undecided || answer.status == ARCP_E_INTERNAL_ERROR;
        question->status = ARCP_E_UNAUTHENTICATED;
        add_why(question, verifier, answer.why);
    } else if (answer.principal.size == 0 || answer.principal.size > ARCP_PRINCIPAL_BYTES_MAX ||
               !arcp__utf8_is_valid(answer.principal) || arcp__has_control_byte(answer.principal)) {
        question->status = ARCP_E_UNAUTHENTICATED;
        add_why(question, verifier,
                "the principal's name is empty, too long, not UTF-8 or has control characters");
    } else {
        question->status = ARCP_OK;
        question->is_anonymous = answer.is_anonymous;
        question->principal_size = answer.principal.size;
        memcpy(question->principal, answer.principal.data, answer.principal.size);
    }
}

void arcp_token_question_answer(arcp_token_question *question, const arcp_token_answer *answer)
{
    arcp__authenticator *authenticator = question->authenticator;
    if (authenticator == NULL) {
        question->answered(question->user, answer);
        question_free(question);
        return;
    }
    (void)pthread_mutex_lock(&authenticator->mutex);
    const bool is_closed = authenticator->is_closed;
    if (!is_closed) {
        keep_answer(question, answer);
        DL_APPEND(authenticator->answered, question);
        /* Under the lock: the owner may be woken only until the authenticator is closed. */
        authenticator->owner.wake(authenticator->owner.user);
    }
    (void)pthread_mutex_unlock(&authenticator->mutex);
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

/* ---- passing questions to verifiers ---- */

static void pass_to(arcp_token_question *question, entry *to)
{
    question->current = to;
    to->open++;
    to->verifier->ops->ask(to->verifier, question);
}

static void report(const arcp__authenticator *authenticator, uint64_t auth_id, arcp_status status,
                   arcp_span principal, bool is_anonymous)
{
    authenticator->owner.answered(authenticator->owner.user, auth_id, status, principal,
                                  is_anonymous);
}

void arcp__authenticator_ask(arcp__authenticator *authenticator, uint64_t auth_id, arcp_span token,
                             const char *peer, int64_t wall_ns)
{
    if (authenticator->entries == NULL) {
        report(authenticator, auth_id, ARCP_E_UNAUTHENTICATED, arcp_span_make(NULL, 0), false);
        return;
    }
    const bool is_full = authenticator->open >= authenticator->open_max;
    arcp_token_question *question = is_full ? NULL : question_new(token, wall_ns);
    if (question == NULL) {
        authenticator->owner.refused(
            authenticator->owner.user, peer,
            is_full ? "too many tokens are being verified" : "out of memory", true);
        report(authenticator, auth_id, ARCP_E_INTERNAL_ERROR, arcp_span_make(NULL, 0), false);
        return;
    }
    question->auth_id = auth_id;
    (void)snprintf(question->peer, sizeof question->peer, "%s", peer);
    question->authenticator = authenticator;
    (void)atomic_fetch_add(&authenticator->refs, 1);
    authenticator->open++;
    pass_to(question, authenticator->entries);
}

/* After an answer: passes a refused token to the next verifier, or reports the result. */
static void advance(arcp__authenticator *authenticator, arcp_token_question *question)
{
    entry *from = question->current;
    entry *next = from->is_retired ? authenticator->entries : from->next;
    from->open--;
    if (from->is_retired && from->open == 0) {
        LL_DELETE(authenticator->retired, from);
        entry_free(from);
    }
    if (question->status != ARCP_OK && next != NULL) {
        pass_to(question, next);
        return;
    }
    arcp_status status = question->status;
    if (status != ARCP_OK) {
        status = question->is_undecided ? ARCP_E_INTERNAL_ERROR : ARCP_E_UNAUTHENTICATED;
        authenticator->owner.refused(authenticator->owner.user, question->peer, question->why,
                                     question->is_undecided);
    }
    authenticator->open--;
    report(authenticator, question->auth_id, status,
           arcp_span_make(question->principal, question->principal_size), question->is_anonymous);
    question_free(question);
}

static arcp_token_question *take_answered(arcp__authenticator *authenticator)
{
    (void)pthread_mutex_lock(&authenticator->mutex);
    arcp_token_question *answered = authenticator->answered;
    authenticator->answered = NULL;
    (void)pthread_mutex_unlock(&authenticator->mutex);
    return answered;
}

bool arcp__authenticator_take(arcp__authenticator *authenticator)
{
    arcp_token_question *questions = take_answered(authenticator);
    const bool any = questions != NULL;
    while (questions != NULL) {
        arcp_token_question *question = questions;
        questions = question->next;
        advance(authenticator, question);
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
    for (arcp_token_question *question = take_answered(authenticator), *next = NULL;
         question != NULL; question = next) {
        next = question->next;
        question_free(question);
    }
    free_entries(&authenticator->entries);
    free_entries(&authenticator->retired);
    authenticator_unref(authenticator);
}
