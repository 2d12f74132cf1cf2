/* JSON Web Tokens: which are accepted, and that all others are refused (RFC 7519, RFC 8725). */
#include "support/check.h"

#include <openssl/evp.h>

#include <arcp/time.h>

#include "core/role.h"
#include "identity/jwt.h"
#include "support/jwt_maker.h"

#define NOW 1700000000 /* s since 1970, everywhere here */

/* Checks nothing except what the test sets. */
static arcp_jwt_options secret_options(void)
{
    arcp_jwt_options options = arcp_jwt_options_init();
    options.algorithm = ARCP_JWT_HS256;
    options.key = ARCP_SPAN_LITERAL(JWT_SECRET);
    return options;
}

static arcp_jwt_options pem_options(arcp_jwt_algorithm algorithm, const char *pem)
{
    arcp_jwt_options options = arcp_jwt_options_init();
    options.algorithm = algorithm;
    options.key = arcp_span_cstr(pem);
    return options;
}

/* The principal, or "! " and the reason of the refusal. Borrowed until the next call. */
static const char *check_at(const arcp_jwt_options *options, arcp_span token, int64_t now_sec)
{
    static char result[300];
    arcp__jwt_rules rules = {0};
    arcp_error error = {0};
    arcp__jwt_identity identity = {.principal = arcp_buf_init()};
    const arcp_buf *principal = &identity.principal;
    check_ok(arcp__jwt_rules_init(&rules, options, &error), &error);
    const arcp_status status =
        arcp__jwt_check(&rules, token, now_sec * ARCP_NS_PER_SEC, &identity, &error);
    if (status == ARCP_OK) {
        (void)snprintf(result, sizeof result, "%.*s%s%s", (int)principal->size, principal->data,
                       identity.role == ARCP_ROLE_NONE ? "" : " as ",
                       arcp__role_name(identity.role));
    } else {
        assert_int_equal(status, ARCP_E_UNAUTHENTICATED);
        assert_int_equal(principal->size, 0);
        (void)snprintf(result, sizeof result, "! %s", error.message);
    }
    arcp_buf_fini(&identity.principal);
    arcp__jwt_rules_fini(&rules);
    return result;
}

/* Takes the token. */
static const char *check(const arcp_jwt_options *options, char *token)
{
    const char *result = check_at(options, arcp_span_cstr(token), NOW);
    free(token);
    return result;
}

static const char *check_claims(const arcp_jwt_options *options, const char *claims)
{
    return check(options, jwt_hs256(claims));
}

static const char good[] = "{\"sub\":\"alice\",\"exp\":1700000100}";

static void a_token_of_each_algorithm_names_its_principal(void **state)
{
    EVP_PKEY *rsa = jwt_rsa_key(2048);
    EVP_PKEY *ec = jwt_ec_key("P-256");
    char *rsa_pem = jwt_public_pem(rsa);
    char *ec_pem = jwt_public_pem(ec);
    char *certificate = jwt_certificate_pem(ec);
    arcp_jwt_options options = secret_options();
    (void)state;
    assert_string_equal(check_claims(&options, good), "alice");

    char *text = jwt_text("{\"alg\":\"RS256\",\"typ\":\"JWT\"}", good);
    options = pem_options(ARCP_JWT_RS256, rsa_pem);
    assert_string_equal(check(&options, jwt_join(text, jwt_sign_rs256(text, rsa))), "alice");

    text = jwt_text("{\"typ\":\"at+jwt\",\"alg\":\"ES256\"}", good);
    options = pem_options(ARCP_JWT_ES256, ec_pem);
    assert_string_equal(check(&options, jwt_join(text, jwt_sign_es256(text, ec, false))), "alice");

    text = jwt_text("{\"alg\":\"ES256\"}", good);
    options = pem_options(ARCP_JWT_ES256, certificate);
    assert_string_equal(check(&options, jwt_join(text, jwt_sign_es256(text, ec, false))), "alice");
    free(rsa_pem);
    free(ec_pem);
    free(certificate);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(ec);
}

/* ---- signatures ---- */

/* Every character of the token, replaced by another of the alphabet. */
static void check_tampered(const arcp_jwt_options *options, char *token)
{
    assert_string_equal(check_at(options, arcp_span_cstr(token), NOW), "alice");
    for (char *byte = token; *byte != '\0'; byte++) {
        const char was = *byte;
        for (const char *other = "AQgw0-_."; *other != '\0'; other++) {
            if (*other == was) {
                continue;
            }
            *byte = *other;
            const char *result = check_at(options, arcp_span_cstr(token), NOW);
            if (result[0] != '!') {
                fail_msg("byte %td as '%c' was accepted as %s", byte - token, *other, result);
            }
        }
        *byte = was;
    }
    free(token);
}

static void a_token_with_any_byte_changed_is_refused(void **state)
{
    EVP_PKEY *ec = jwt_ec_key("P-256");
    char *pem = jwt_public_pem(ec);
    arcp_jwt_options options = secret_options();
    (void)state;
    check_tampered(&options, jwt_hs256(good));
    options = pem_options(ARCP_JWT_ES256, pem);
    char *text = jwt_text("{\"alg\":\"ES256\"}", good);
    check_tampered(&options, jwt_join(text, jwt_sign_es256(text, ec, false)));
    free(pem);
    EVP_PKEY_free(ec);
}

static void check_cut_and_prolonged(const arcp_jwt_options *options, char *token)
{
    assert_string_equal(check_at(options, arcp_span_cstr(token), NOW), "alice");
    for (size_t size = 0; size < strlen(token); size++) {
        assert_int_equal(check_at(options, arcp_span_make(token, size), NOW)[0], '!');
    }
    static const char *const tails[] = {"A", "AA", "AAA", "AAAA", "=", ".", " ", "\n", ".A"};
    char *longer = malloc(strlen(token) + 8);
    assert_non_null(longer);
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        (void)snprintf(longer, strlen(token) + 8, "%s%s", token, tails[i]);
        assert_int_equal(check_at(options, arcp_span_cstr(longer), NOW)[0], '!');
    }
    free(longer);
    free(token);
}

static void a_token_cut_or_prolonged_anywhere_is_refused(void **state)
{
    EVP_PKEY *ec = jwt_ec_key("P-256");
    EVP_PKEY *rsa = jwt_rsa_key(2048);
    char *ec_pem = jwt_public_pem(ec);
    char *rsa_pem = jwt_public_pem(rsa);
    arcp_jwt_options options = secret_options();
    (void)state;
    check_cut_and_prolonged(&options, jwt_hs256(good));
    options = pem_options(ARCP_JWT_ES256, ec_pem);
    char *text = jwt_text("{\"alg\":\"ES256\"}", good);
    check_cut_and_prolonged(&options, jwt_join(text, jwt_sign_es256(text, ec, false)));
    options = pem_options(ARCP_JWT_RS256, rsa_pem);
    text = jwt_text("{\"alg\":\"RS256\"}", good);
    check_cut_and_prolonged(&options, jwt_join(text, jwt_sign_rs256(text, rsa)));
    free(ec_pem);
    free(rsa_pem);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(rsa);
}

static void the_signature_of_another_key_is_refused(void **state)
{
    EVP_PKEY *mine = jwt_rsa_key(2048);
    EVP_PKEY *theirs = jwt_rsa_key(2048);
    char *pem = jwt_public_pem(mine);
    (void)state;
    arcp_jwt_options options = pem_options(ARCP_JWT_RS256, pem);
    char *text = jwt_text("{\"alg\":\"RS256\"}", good);
    assert_string_equal(check(&options, jwt_join(text, jwt_sign_rs256(text, theirs))),
                        "! its signature is wrong");
    options = secret_options();
    text = jwt_text("{\"alg\":\"HS256\"}", good);
    assert_string_equal(
        check(&options,
              jwt_join(text, jwt_sign_hs256(text, "fedcba9876543210fedcba9876543210", 32))),
        "! its signature is wrong");
    text = jwt_text("{\"alg\":\"HS256\"}", good);
    assert_string_equal(check(&options, jwt_join(text, strdup(""))), "! its signature is wrong");
    free(pem);
    EVP_PKEY_free(mine);
    EVP_PKEY_free(theirs);
}

/* RFC 8725 §2.1: the public key, which everybody has, as the secret of an HMAC. */
static void a_token_does_not_choose_its_algorithm(void **state)
{
    EVP_PKEY *rsa = jwt_rsa_key(2048);
    char *pem = jwt_public_pem(rsa);
    static const char *const headers[] = {
        "{\"alg\":\"HS256\"}", "{\"alg\":\"none\"}", "{\"alg\":\"None\"}",    "{\"alg\":\"rs256\"}",
        "{\"alg\":\"\"}",      "{\"alg\":null}",     "{\"alg\":[\"RS256\"]}", "{}",
        "{\"alg\":\"RS512\"}", "{\"alg\":\"ES256\"}"};
    arcp_jwt_options options = pem_options(ARCP_JWT_RS256, pem);
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        char *text = jwt_text(headers[i], good);
        assert_string_equal(check(&options, jwt_join(text, jwt_sign_hs256(text, pem, strlen(pem)))),
                            "! its alg is not RS256");
        text = jwt_text(headers[i], good);
        assert_string_equal(check(&options, jwt_join(text, strdup(""))), "! its alg is not RS256");
        text = jwt_text(headers[i], good);
        assert_string_equal(check(&options, jwt_join(text, jwt_sign_rs256(text, rsa))),
                            "! its alg is not RS256");
    }
    options = secret_options();
    char *text = jwt_text("{\"alg\":\"none\"}", good);
    assert_string_equal(check(&options, jwt_join(text, strdup(""))), "! its alg is not HS256");
    free(pem);
    EVP_PKEY_free(rsa);
}

static void es256_signatures_have_one_form(void **state)
{
    EVP_PKEY *ec = jwt_ec_key("P-256");
    char *pem = jwt_public_pem(ec);
    arcp_jwt_options options = pem_options(ARCP_JWT_ES256, pem);
    (void)state;
    char *text = jwt_text("{\"alg\":\"ES256\"}", good);
    assert_string_equal(check(&options, jwt_join(text, jwt_sign_es256(text, ec, true))),
                        "! its signature is wrong");
    /* r = s = 0, which a broken verifier accepts for every key. */
    unsigned char zeros[128] = {0};
    static const size_t sizes[] = {0, 1, 32, 63, 64, 65, 128};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        text = jwt_text("{\"alg\":\"ES256\"}", good);
        assert_string_equal(check(&options, jwt_join(text, jwt_base64url(zeros, sizes[i]))),
                            "! its signature is wrong");
    }
    memset(zeros, 0xff, sizeof zeros);
    text = jwt_text("{\"alg\":\"ES256\"}", good);
    assert_string_equal(check(&options, jwt_join(text, jwt_base64url(zeros, 64))),
                        "! its signature is wrong");
    free(pem);
    EVP_PKEY_free(ec);
}

/* ---- header ---- */

static void headers_with_unsupported_requirements_are_refused(void **state)
{
    static const struct {
        const char *header;
        const char *result;
    } rows[] = {
        {"{\"alg\":\"HS256\",\"crit\":[\"exp\"],\"exp\":1}",
         "! its header has crit, which is not supported"},
        {"{\"alg\":\"HS256\",\"crit\":null}", "! its header has crit, which is not supported"},
        {"{\"alg\":\"HS256\",\"typ\":\"dpop+jwt\"}", "! its typ is not JWT or at+jwt"},
        {"{\"alg\":\"HS256\",\"typ\":7}", "! its typ is not JWT or at+jwt"},
        {"{\"alg\":\"HS256\",\"typ\":\"\"}", "! its typ is not JWT or at+jwt"},
        {"{\"alg\":\"HS256\",\"typ\":\"jwt\"}", "alice"},
        {"{\"alg\":\"HS256\",\"typ\":\"application/at+jwt\"}", "alice"},
        {"{\"alg\":\"HS256\",\"jku\":\"https://evil.example\",\"jwk\":{},\"kid\":\"x\"}", "alice"},
        {"{\"alg\":\"HS256\",\"alg\":\"HS256\"}", "! its header is not a JSON object in base64url"},
        {"[\"HS256\"]", "! its header is not a JSON object in base64url"},
        {"\"HS256\"", "! its header is not a JSON object in base64url"},
        {"{\"alg\":\"HS256\"", "! its header is not a JSON object in base64url"},
    };
    arcp_jwt_options options = secret_options();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = jwt_text(rows[i].header, good);
        assert_string_equal(check(&options, jwt_join(text, jwt_sign_hs256(text, JWT_SECRET, 32))),
                            rows[i].result);
    }
}

static void a_key_with_an_id_is_for_tokens_that_name_it(void **state)
{
    static const struct {
        const char *header;
        const char *result;
    } rows[] = {{"{\"alg\":\"HS256\",\"kid\":\"k1\"}", "alice"},
                {"{\"alg\":\"HS256\",\"kid\":\"k2\"}", "! its kid is not the configured key id"},
                {"{\"alg\":\"HS256\",\"kid\":1}", "! its kid is not the configured key id"},
                {"{\"alg\":\"HS256\"}", "! its kid is not the configured key id"}};
    arcp_jwt_options options = secret_options();
    (void)state;
    options.key_id = "k1";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = jwt_text(rows[i].header, good);
        assert_string_equal(check(&options, jwt_join(text, jwt_sign_hs256(text, JWT_SECRET, 32))),
                            rows[i].result);
    }
}

/* ---- claims ---- */

static void a_token_is_valid_within_its_time_and_the_leeway(void **state)
{
    static const struct {
        const char *claims;
        uint64_t leeway_sec;
        const char *result;
    } rows[] = {
        {"{\"sub\":\"a\",\"exp\":1700000001}", 0, "a"},
        {"{\"sub\":\"a\",\"exp\":1700000000}", 0, "! it has expired"},
        {"{\"sub\":\"a\",\"exp\":1699999941}", 60, "a"},
        {"{\"sub\":\"a\",\"exp\":1699999940}", 60, "! it has expired"},
        {"{\"sub\":\"a\",\"exp\":1699999940.999}", 60, "! it has expired"},
        {"{\"sub\":\"a\",\"exp\":1.700000001e9}", 0, "a"},
        {"{\"sub\":\"a\",\"exp\":1700000009,\"nbf\":1700000000}", 0, "a"},
        {"{\"sub\":\"a\",\"exp\":1700000009,\"nbf\":1700000001}", 0, "! it is not valid yet"},
        {"{\"sub\":\"a\",\"exp\":1700000009,\"nbf\":1700000000.1}", 0, "! it is not valid yet"},
        {"{\"sub\":\"a\",\"exp\":1700000009,\"nbf\":1700000060}", 60, "a"},
        {"{\"sub\":\"a\",\"exp\":1700000009,\"nbf\":1700000061}", 60, "! it is not valid yet"},
        {"{\"sub\":\"a\",\"exp\":253402300799}", 0, "a"},
        /* Milliseconds are no seconds: such a token would live for ever. */
        {"{\"sub\":\"a\",\"exp\":253402300800}", 0,
         "! its exp is missing or not a time in seconds"},
        {"{\"sub\":\"a\",\"exp\":1700000100000}", 0,
         "! its exp is missing or not a time in seconds"},
        {"{\"sub\":\"a\",\"exp\":1e400}", 0, "! its exp is missing or not a time in seconds"},
        {"{\"sub\":\"a\",\"exp\":-1}", 0, "! its exp is missing or not a time in seconds"},
        {"{\"sub\":\"a\",\"exp\":\"1700000100\"}", 0,
         "! its exp is missing or not a time in seconds"},
        {"{\"sub\":\"a\",\"exp\":null}", 0, "! its exp is missing or not a time in seconds"},
        {"{\"sub\":\"a\",\"exp\":true}", 0, "! its exp is missing or not a time in seconds"},
        {"{\"sub\":\"a\"}", 0, "! its exp is missing or not a time in seconds"},
        {"{\"sub\":\"a\",\"exp\":1700000009,\"nbf\":\"0\"}", 0,
         "! its nbf is not a time in seconds"},
        {"{\"sub\":\"a\",\"exp\":1700000009,\"nbf\":null}", 0,
         "! its nbf is not a time in seconds"},
        {"{\"sub\":\"a\",\"exp\":1700000009,\"exp\":1}", 0,
         "! its claims are not a JSON object in base64url"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_jwt_options options = secret_options();
        options.leeway_sec = rows[i].leeway_sec;
        assert_string_equal(check_claims(&options, rows[i].claims), rows[i].result);
    }
}

static void a_clock_before_1970_accepts_no_token_by_accident(void **state)
{
    arcp_jwt_options options = secret_options();
    char *token = jwt_hs256("{\"sub\":\"a\",\"exp\":0}");
    (void)state;
    options.leeway_sec = 0;
    assert_string_equal(check_at(&options, arcp_span_cstr(token), -5), "! it has expired");
    free(token);
}

static void issuer_and_audience_must_be_ours(void **state)
{
#define TIME "\"sub\":\"a\",\"exp\":1700000100"
    static const struct {
        const char *issuer, *audience, *claims, *result;
    } rows[] = {
        {"https://id", NULL, "{" TIME ",\"iss\":\"https://id\"}", "a"},
        {"https://id", NULL, "{" TIME ",\"iss\":\"https://id/\"}",
         "! its iss is not the configured issuer"},
        {"https://id", NULL, "{" TIME ",\"iss\":[\"https://id\"]}",
         "! its iss is not the configured issuer"},
        {"https://id", NULL, "{" TIME "}", "! its iss is not the configured issuer"},
        {NULL, NULL, "{" TIME ",\"iss\":\"anybody\"}", "a"},
        {NULL, "arcp", "{" TIME ",\"aud\":\"arcp\"}", "a"},
        {NULL, "arcp", "{" TIME ",\"aud\":[\"mail\",\"arcp\"]}", "a"},
        {NULL, "arcp", "{" TIME ",\"aud\":[]}",
         "! its aud does not include the configured audience"},
        {NULL, "arcp", "{" TIME ",\"aud\":[[\"arcp\"]]}",
         "! its aud does not include the configured audience"},
        {NULL, "arcp", "{" TIME ",\"aud\":{\"arcp\":1}}",
         "! its aud does not include the configured audience"},
        {NULL, "arcp", "{" TIME ",\"aud\":\"arcpd\"}",
         "! its aud does not include the configured audience"},
        {NULL, "arcp", "{" TIME "}", "! its aud does not include the configured audience"},
        {NULL, NULL, "{" TIME ",\"aud\":\"mail\"}",
         "! it has an aud, and no audience is configured"},
        {NULL, NULL, "{" TIME ",\"aud\":null}", "! it has an aud, and no audience is configured"},
    };
#undef TIME
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_jwt_options options = secret_options();
        options.issuer = rows[i].issuer;
        options.audience = rows[i].audience;
        assert_string_equal(check_claims(&options, rows[i].claims), rows[i].result);
    }
}

static void the_principal_is_the_text_of_one_claim(void **state)
{
    static const struct {
        const char *claim, *claims, *result;
    } rows[] = {
        {NULL, "{\"exp\":1700000100,\"sub\":\"al\\u0069ce\"}", "alice"},
        {"email", "{\"exp\":1700000100,\"sub\":\"x\",\"email\":\"a@b.example\"}", "a@b.example"},
        {"email", "{\"exp\":1700000100,\"sub\":\"x\"}",
         "! its claim email is missing or not a string"},
        {NULL, "{\"exp\":1700000100,\"sub\":\"\"}", "! its claim sub is missing or not a string"},
        {NULL, "{\"exp\":1700000100,\"sub\":7}", "! its claim sub is missing or not a string"},
        {NULL, "{\"exp\":1700000100,\"sub\":[\"alice\"]}",
         "! its claim sub is missing or not a string"},
        {NULL, "{\"exp\":1700000100,\"sub\":null}", "! its claim sub is missing or not a string"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_jwt_options options = secret_options();
        options.principal_claim = rows[i].claim;
        assert_string_equal(check_claims(&options, rows[i].claims), rows[i].result);
    }
}

/* ---- size and form ---- */

/* Claims of so many bytes; base64url makes 4 of every 3. */
static char *token_with_claims(size_t size)
{
    static const char head[] = "{\"sub\":\"a\",\"exp\":1700000100,\"p\":\"";
    char *claims = malloc(size + 1);
    assert_non_null(claims);
    memset(claims, 'x', size);
    memcpy(claims, head, sizeof head - 1);
    memcpy(claims + size - 2, "\"}", 3);
    char *token = jwt_hs256(claims);
    free(claims);
    return token;
}

static void a_token_has_a_size_limit(void **state)
{
    arcp_jwt_options options = secret_options();
    char *token = token_with_claims(12239);
    (void)state;
    assert_int_equal(strlen(token), ARCP_JWT_BYTES_MAX);
    assert_string_equal(check(&options, token), "a");
    token = token_with_claims(12240);
    assert_int_equal(strlen(token), ARCP_JWT_BYTES_MAX + 1);
    assert_string_equal(check(&options, token), "! it is too large for a JWT");
}

static void text_that_is_not_a_token_is_refused(void **state)
{
    static const char *const texts[] = {"",    ".",         "..",    "...",
                                        "a.b", "a..c",      ".b.c",  "a.b.",
                                        "t-1", "a.b.c.d.e", "a.b.c", "\x01.\x02.\x03"};
    arcp_jwt_options options = secret_options();
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(check_at(&options, arcp_span_cstr(texts[i]), NOW)[0], '!');
    }
    assert_string_equal(check_at(&options, arcp_span_make(NULL, 0), NOW), "! it is not a JWT");
}

/* Claims are believed only when they are signed, and even then they must be JSON. */
static void signed_nonsense_is_refused(void **state)
{
    static const char *const claims[] = {"", "null", "[]", "{", "{\"sub\":\"a\xff\"}", "alice"};
    arcp_jwt_options options = secret_options();
    (void)state;
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        assert_int_equal(check_claims(&options, claims[i])[0], '!');
    }
}

/* ---- keys ---- */

static const char *key_error(arcp_jwt_algorithm algorithm, arcp_span bytes)
{
    static arcp_error error = {0};
    arcp__jwt_key *key = NULL;
    error = (arcp_error){0};
    assert_int_equal(arcp__jwt_key_new(algorithm, bytes, &key, &error), ARCP_E_USAGE);
    assert_null(key);
    return error.message;
}

static void a_key_that_is_not_for_its_algorithm_is_refused(void **state)
{
    EVP_PKEY *rsa = jwt_rsa_key(2048);
    EVP_PKEY *small = jwt_rsa_key(1024);
    EVP_PKEY *ec = jwt_ec_key("P-256");
    EVP_PKEY *other = jwt_ec_key("P-384");
    char *rsa_pem = jwt_public_pem(rsa);
    char *small_pem = jwt_public_pem(small);
    char *ec_pem = jwt_public_pem(ec);
    char *other_pem = jwt_public_pem(other);
    char *private_pem = jwt_private_pem(ec);
    (void)state;
    assert_non_null(strstr(key_error(ARCP_JWT_HS256, arcp_span_cstr(rsa_pem)), "PEM"));
    assert_non_null(strstr(key_error(ARCP_JWT_HS256, arcp_span_make(JWT_SECRET, 31)), "has 31"));
    assert_non_null(strstr(key_error(ARCP_JWT_HS256, arcp_span_make("", 0)), "has 0"));
    assert_non_null(strstr(key_error(ARCP_JWT_RS256, arcp_span_cstr(ec_pem)), "needs an RSA key"));
    assert_non_null(strstr(key_error(ARCP_JWT_RS256, arcp_span_cstr(small_pem)), "has 1024"));
    assert_non_null(strstr(key_error(ARCP_JWT_RS256, arcp_span_cstr(JWT_SECRET)), "PEM"));
    assert_non_null(strstr(key_error(ARCP_JWT_ES256, arcp_span_cstr(rsa_pem)), "P-256"));
    assert_non_null(strstr(key_error(ARCP_JWT_ES256, arcp_span_cstr(other_pem)), "P-256"));
    assert_non_null(strstr(key_error(ARCP_JWT_ES256, arcp_span_cstr(private_pem)), "private key"));
    assert_non_null(strstr(key_error((arcp_jwt_algorithm)3, arcp_span_cstr(rsa_pem)), "HS256"));
    free(rsa_pem);
    free(small_pem);
    free(ec_pem);
    free(other_pem);
    free(private_pem);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(small);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(other);
}

static void a_leeway_has_a_limit(void **state)
{
    arcp_jwt_options options = secret_options();
    arcp_token_verifier *verifier = NULL;
    arcp_error error = {0};
    (void)state;
    options.leeway_sec = ARCP_JWT_LEEWAY_SEC_MAX;
    check_ok(arcp_token_verifier_new_jwt(&options, &verifier, &error), &error);
    arcp_token_verifier_free(verifier);
    options.leeway_sec++;
    assert_int_equal(arcp_token_verifier_new_jwt(&options, &verifier, &error), ARCP_E_USAGE);
}

/* ---- roles ---- */

static void the_claim_arcp_role_is_the_role_and_nothing_else_is(void **state)
{
    static const struct {
        const char *claims, *result;
    } rows[] = {
        {"\"arcp_role\":\"viewer\",", "alice as viewer"},
        {"\"arcp_role\":\"operator\",", "alice as operator"},
        {"\"role\":\"operator\",\"ARCP_ROLE\":\"operator\",", "alice"},
        {"\"arcp_role\":\"none\",", "! its claim arcp_role is neither viewer nor operator"},
        {"\"arcp_role\":\"Operator\",", "! its claim arcp_role is neither viewer nor operator"},
        {"\"arcp_role\":\"\",", "! its claim arcp_role is neither viewer nor operator"},
        {"\"arcp_role\":null,", "! its claim arcp_role is neither viewer nor operator"},
        {"\"arcp_role\":2,", "! its claim arcp_role is neither viewer nor operator"},
        {"\"arcp_role\":[\"operator\"],", "! its claim arcp_role is neither viewer nor operator"},
    };
    const arcp_jwt_options options = secret_options();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char claims[160];
        (void)snprintf(claims, sizeof claims, "{%s\"sub\":\"alice\",\"exp\":1700000100}",
                       rows[i].claims);
        assert_string_equal(check_claims(&options, claims), rows[i].result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_of_each_algorithm_names_its_principal),
        cmocka_unit_test(a_token_with_any_byte_changed_is_refused),
        cmocka_unit_test(a_token_cut_or_prolonged_anywhere_is_refused),
        cmocka_unit_test(the_signature_of_another_key_is_refused),
        cmocka_unit_test(a_token_does_not_choose_its_algorithm),
        cmocka_unit_test(es256_signatures_have_one_form),
        cmocka_unit_test(headers_with_unsupported_requirements_are_refused),
        cmocka_unit_test(a_key_with_an_id_is_for_tokens_that_name_it),
        cmocka_unit_test(a_token_is_valid_within_its_time_and_the_leeway),
        cmocka_unit_test(a_clock_before_1970_accepts_no_token_by_accident),
        cmocka_unit_test(issuer_and_audience_must_be_ours),
        cmocka_unit_test(the_principal_is_the_text_of_one_claim),
        cmocka_unit_test(a_token_has_a_size_limit),
        cmocka_unit_test(text_that_is_not_a_token_is_refused),
        cmocka_unit_test(signed_nonsense_is_refused),
        cmocka_unit_test(a_key_that_is_not_for_its_algorithm_is_refused),
        cmocka_unit_test(a_leeway_has_a_limit),
        cmocka_unit_test(the_claim_arcp_role_is_the_role_and_nothing_else_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
