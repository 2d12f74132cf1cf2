#include <arcp/token.h>

#include "base/alloc.h"

typedef struct callback_verifier {
    arcp_token_verifier base;
    void (*ask)(void *user, arcp_token_question *question);
    void (*release)(void *user);
    void *user;
} callback_verifier;

static void ask(arcp_token_verifier *base, arcp_token_question *question)
{
    const callback_verifier *verifier = (const callback_verifier *)base;
    verifier->ask(verifier->user, question);
}

static void free_callback(arcp_token_verifier *base)
{
    callback_verifier *verifier = (callback_verifier *)base;
    if (verifier->release != NULL) {
        verifier->release(verifier->user);
    }
    arcp__free(verifier);
}

arcp_status arcp_token_verifier_new_callback(void (*ask_fn)(void *user,
                                                            arcp_token_question *question),
                                             void (*release)(void *user), void *user,
                                             arcp_token_verifier **out, arcp_error *err)
{
    static const arcp_token_verifier_ops ops = {
        .name = "callback", .ask = ask, .free = free_callback};
    callback_verifier *verifier = arcp__alloc(sizeof(*verifier));
    if (verifier == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *verifier =
        (callback_verifier){.base = {&ops}, .ask = ask_fn, .release = release, .user = user};
    *out = &verifier->base;
    return ARCP_OK;
}

void arcp_token_verifier_free(arcp_token_verifier *verifier)
{
    if (verifier != NULL) {
        verifier->ops->free(verifier);
    }
}
