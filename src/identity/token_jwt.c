#include <arcp/token.h>

#include "base/alloc.h"
#include "base/options.h"
#include "identity/jwt.h"

typedef struct jwt_verifier {
    arcp_token_verifier base;
    arcp__jwt_rules rules;
} jwt_verifier;

static void ask(arcp_token_verifier *base, arcp_token_question *question)
{
    const jwt_verifier *verifier = (const jwt_verifier *)base;
    arcp_token_answer answer = ARCP_TOKEN_ANSWER_INIT;
    arcp_error why = {0};
    arcp_buf principal = ARCP_BUF_INIT;
    arcp_status status = arcp__jwt_check(&verifier->rules, arcp_token_question_token(question),
                                         arcp_token_question_wall_ns(question), &principal, &why);
    if (status == ARCP_OK) {
        answer.status = ARCP_OK;
        answer.principal = arcp_buf_span(&principal);
    } else {
        answer.status = status == ARCP_E_NO_MEMORY ? ARCP_E_INTERNAL_ERROR : ARCP_E_UNAUTHENTICATED;
        answer.why = why.message;
    }
    arcp_token_question_answer(question, &answer);
    arcp_buf_fini(&principal);
}

static void free_jwt(arcp_token_verifier *base)
{
    jwt_verifier *verifier = (jwt_verifier *)base;
    arcp__jwt_rules_fini(&verifier->rules);
    arcp__free(verifier);
}

arcp_status arcp_token_verifier_new_jwt(const arcp_jwt_options *options, arcp_token_verifier **out,
                                        arcp_error *err)
{
    arcp_status status =
        arcp__options_check(options, sizeof(*options), "ARCP_JWT_OPTIONS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    static const arcp_token_verifier_ops ops = {.name = "jwt", .ask = ask, .free = free_jwt};
    jwt_verifier *verifier = arcp__alloc(sizeof(*verifier));
    if (verifier == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    verifier->base.ops = &ops;
    status = arcp__jwt_rules_init(&verifier->rules, options, err);
    if (status != ARCP_OK) {
        arcp__free(verifier);
        return status;
    }
    *out = &verifier->base;
    return ARCP_OK;
}
