/* The verifiers of bearer tokens that come with the runtime.
 *
 * Each is created here and passed to a runtime (arcp_runtime_set_token_verifiers), which frees it,
 * or freed with arcp_token_verifier_free. Other verifiers can be written with sys/token.h, or as a
 * callback. Texts and rows are copied. Creating fails with ARCP_E_NO_MEMORY or what its function
 * says; any thread. docs/deploying.md, Tokens; draft §6.1. */
#ifndef ARCP_TOKEN_H
#define ARCP_TOKEN_H

#include <arcp/sys/token.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL is accepted. Must not be called for one that was passed to a runtime. */
ARCP_API void arcp_token_verifier_free(arcp_token_verifier *verifier);

typedef struct arcp_token_row {
    const char *token; /* not empty */
    const char *principal;
} arcp_token_row;

/* A fixed table. Only hashes of the tokens are kept; every comparison reads all of them and takes
 * the same time. ARCP_E_USAGE for an empty token or principal. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_token_verifier_new_table(const arcp_token_row *rows,
                                                                   size_t count,
                                                                   arcp_token_verifier **out,
                                                                   arcp_error *err);

/* Such a table from a file with lines TOKEN=PRINCIPAL or TOKEN=PRINCIPAL role=ROLE, ROLE being
 * viewer or operator (the last '=' before the role separates; empty lines and lines that begin with
 * '#' are ignored). The file is read once: after a change, create a new verifier. ARCP_E_USAGE with
 * the file and line. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_token_verifier_new_file(const char *path,
                                                                  arcp_token_verifier **out,
                                                                  arcp_error *err);

/* Accepts every token, and gives each session its own principal ("anonymous-…"). */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_token_verifier_new_anonymous(arcp_token_verifier **out,
                                                                       arcp_error *err);

/* A function of the program: `verify` as in sys/token.h, with `user`. `free_user` (may be NULL) is
 * called when the verifier is freed. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_token_verifier_new_callback(
    void (*verify)(void *user, arcp_token_request *request), void (*free_user)(void *user),
    void *user, arcp_token_verifier **out, arcp_error *err);

typedef enum arcp_jwt_algorithm {
    ARCP_JWT_HS256 = 0, /* HMAC with SHA-256 and a shared secret of at least 32 bytes */
    ARCP_JWT_RS256 = 1, /* RSASSA-PKCS1-v1_5 with SHA-256 and an RSA key of at least 2048 bits */
    ARCP_JWT_ES256 = 2  /* ECDSA with P-256 and SHA-256 */
} arcp_jwt_algorithm;

#define ARCP_JWT_BYTES_MAX      16384u /* of a token */
#define ARCP_JWT_LEEWAY_SEC_MAX 3600u

typedef struct arcp_jwt_options {
    size_t struct_size;
    /* The only one that this key is used for: a token cannot choose another. */
    arcp_jwt_algorithm algorithm;
    /* HS256: the secret, without one final line feed; only owner and group may have access. RS256,
     * ES256: the public key, or a certificate with it, in PEM. Read once. */
    const char *key_file;
    arcp_span key;               /* instead of a file: the same bytes */
    const char *key_id;          /* tokens with another `kid`, or none, are refused; NULL: any */
    const char *issuer;          /* `iss` must be this; NULL: not checked */
    const char *audience;        /* must be in `aud`; NULL: tokens with an `aud` are refused */
    const char *principal_claim; /* the claim with the principal's name, a string; NULL: "sub" */
    uint64_t leeway_sec;         /* tolerance for different clocks, for `exp` and `nbf` */
} arcp_jwt_options;

static inline arcp_jwt_options arcp_jwt_options_init(void)
{
    arcp_jwt_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.algorithm = ARCP_JWT_HS256;
    options.leeway_sec = 60;
    return options;
}

/* JSON Web Tokens (RFC 7519, RFC 7515, RFC 8725) signed by one key. `exp` is required. A token is
 * valid from nbf - leeway until before exp + leeway. `crit` is refused; `typ`, if present, must be
 * JWT or at+jwt. The claim `arcp_role`, if present, must be "viewer" or "operator", and is the
 * session's role. A session continues when its token expires. ARCP_E_USAGE when the key or the
 * options are not usable. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_token_verifier_new_jwt(const arcp_jwt_options *options,
                                                                 arcp_token_verifier **out,
                                                                 arcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
