/* The signature is verified before the claims are decoded, and the header is only checked against
 * the key: a token cannot choose its algorithm or key. RFC 7519 §7.2, RFC 8725. */
#include "identity/jwt.h"

#include <openssl/sha.h>
#include <string.h>
#include <strings.h>

#include <arcp/time.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/options.h"
#include "core/decimal.h"
#include "identity/identity.h"
#include "json/json.h"

/* The end of the year 9999: later dates are not in seconds. */
#define SECONDS_MAX 253402300799u

typedef struct jwt_parts {
    arcp_span header, claims, signature; /* as in the token */
    arcp_span signed_text;               /* header.claims */
} jwt_parts;

static arcp_status refuse(arcp_error *err, const char *why)
{
    (void)arcp_error_set(err, ARCP_E_UNAUTHENTICATED, "%s", why);
    return ARCP_E_UNAUTHENTICATED;
}

/* ---- rules ---- */

static bool copy(char **to, const char *text)
{
    *to = text == NULL ? NULL : arcp__copy_cstr(text, strlen(text));
    return text == NULL || *to != NULL;
}

void arcp__jwt_rules_fini(arcp__jwt_rules *rules)
{
    arcp__jwt_key_free(rules->key);
    arcp__free(rules->key_id);
    arcp__free(rules->issuer);
    arcp__free(rules->audience);
    arcp__free(rules->principal_claim);
    *rules = (arcp__jwt_rules){0};
}

arcp_status arcp__jwt_rules_init(arcp__jwt_rules *rules, const arcp_jwt_options *options,
                                 arcp_error *err)
{
    *rules = (arcp__jwt_rules){.leeway_sec = options->leeway_sec};
    if (options->leeway_sec > ARCP_JWT_LEEWAY_SEC_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "leeway_sec is at most %u",
                              ARCP_JWT_LEEWAY_SEC_MAX);
    }
    const arcp_status status =
        options->key_file != NULL
            ? arcp__jwt_key_read(options->algorithm, options->key_file, &rules->key, err)
            : arcp__jwt_key_new(options->algorithm, options->key, &rules->key, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (!copy(&rules->key_id, options->key_id) || !copy(&rules->issuer, options->issuer) ||
        !copy(&rules->audience, options->audience) ||
        !copy(&rules->principal_claim,
              options->principal_claim == NULL ? "sub" : options->principal_claim)) {
        arcp__jwt_rules_fini(rules);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return ARCP_OK;
}

/* ---- form ---- */

/* Three parts and two points, exactly. */
static bool split(arcp_span token, jwt_parts *out)
{
    const char *first = memchr(token.data, '.', token.size);
    const char *last = first == NULL ? NULL : memrchr(token.data, '.', token.size);
    if (first == NULL || last == first ||
        memchr(first + 1, '.', (size_t)(last - first - 1)) != NULL) {
        return false;
    }
    out->header = arcp_span_make(token.data, (size_t)(first - token.data));
    out->claims = arcp_span_make(first + 1, (size_t)(last - first - 1));
    out->signed_text = arcp_span_make(token.data, (size_t)(last - token.data));
    out->signature = arcp_span_from(token, out->signed_text.size + 1);
    return out->header.size != 0 && out->claims.size != 0;
}

/* Decodes a part, which must be a JSON object. `json` indexes `text`. */
static arcp_status read_object(arcp_span part, arcp_buf *text, arcp_json *json, const char *wrong,
                               arcp_error *err)
{
    static const arcp_json_limits limits = {16, 256, ARCP_JWT_BYTES_MAX};
    arcp_error why = {0};
    arcp_status status = arcp__base64_decode(part, ARCP__BASE64_URL, text, &why);
    if (status == ARCP_OK) {
        status = arcp_json_scan(json, arcp_buf_span(text), &limits, &why);
    }
    if (status == ARCP_E_NO_MEMORY) {
        (void)arcp_error_set(err, status, "out of memory");
        return ARCP_E_NO_MEMORY;
    }
    return status == ARCP_OK && arcp_json_is(json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)
               ? ARCP_OK
               : refuse(err, wrong);
}

static arcp_json_ref member(const arcp_json *json, const char *name)
{
    return arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name));
}

/* ---- header ---- */

static bool is_token_type(const arcp_json *json, arcp_json_ref type)
{
    char text[32] = {0};
    const arcp_span raw = arcp_json_raw(json, type);
    if (!arcp_json_is(json, type, ARCP_JSON_STRING) || raw.size < 2 ||
        raw.size - 2 >= sizeof text) {
        return false;
    }
    memcpy(text, raw.data + 1, raw.size - 2);
    const char *name = strncasecmp(text, "application/", 12) == 0 ? text + 12 : text;
    return strcasecmp(name, "JWT") == 0 || strcasecmp(name, "at+jwt") == 0;
}

static arcp_status check_header(const arcp__jwt_rules *rules, const arcp_json *json,
                                arcp_error *err)
{
    const char *algorithm = arcp__jwt_key_algorithm(rules->key);
    const arcp_json_ref type = member(json, "typ");
    if (!arcp_json_string_equals(json, member(json, "alg"), arcp_span_cstr(algorithm))) {
        return arcp_error_set(err, ARCP_E_UNAUTHENTICATED, "its alg is not %s", algorithm);
    }
    if (member(json, "crit") != ARCP_JSON_ABSENT) {
        return refuse(err, "its header has crit, which is not supported");
    }
    if (type != ARCP_JSON_ABSENT && !is_token_type(json, type)) {
        return refuse(err, "its typ is not JWT or at+jwt");
    }
    if (rules->key_id != NULL &&
        !arcp_json_string_equals(json, member(json, "kid"), arcp_span_cstr(rules->key_id))) {
        return refuse(err, "its kid is not the configured key id");
    }
    return ARCP_OK;
}

/* ---- claims ---- */

/* Reads a NumericDate (RFC 7519 §2) as whole seconds; `has_more` says whether it has a fraction. */
static bool read_date(const arcp_json *json, arcp_json_ref ref, uint64_t *seconds, bool *has_more)
{
    const arcp__units one = (arcp__units)1000000000 * 1000000000;
    arcp_decimal value;
    if (!arcp_json_is(json, ref, ARCP_JSON_NUMBER) ||
        arcp_decimal_parse_spend(arcp_json_raw(json, ref), &value, NULL) != ARCP_OK) {
        return false;
    }
    const arcp__units units = arcp__decimal_units(value);
    if (units / one > (arcp__units)SECONDS_MAX) {
        return false;
    }
    *seconds = (uint64_t)(units / one);
    *has_more = units % one != 0;
    return true;
}

/* Valid from nbf - leeway on, and before exp + leeway; fractions of a second count against
 * the token. */
static arcp_status check_dates(const arcp__jwt_rules *rules, const arcp_json *json, int64_t now_ns,
                               int64_t *expires_ns, arcp_error *err)
{
    const uint64_t now = now_ns < 0 ? 0 : (uint64_t)(now_ns / ARCP_NS_PER_SEC);
    uint64_t seconds = 0;
    bool has_more = false;
    if (!read_date(json, member(json, "exp"), &seconds, &has_more)) {
        return refuse(err, "its exp is missing or not a time in seconds");
    }
    if (now >= seconds + rules->leeway_sec) {
        return refuse(err, "it has expired");
    }
    seconds += rules->leeway_sec;
    *expires_ns = seconds > INT64_MAX / ARCP_NS_PER_SEC ? 0 : (int64_t)seconds * ARCP_NS_PER_SEC;
    const arcp_json_ref not_before = member(json, "nbf");
    if (not_before == ARCP_JSON_ABSENT) {
        return ARCP_OK;
    }
    if (!read_date(json, not_before, &seconds, &has_more)) {
        return refuse(err, "its nbf is not a time in seconds");
    }
    if (now + rules->leeway_sec < seconds + (has_more ? 1 : 0)) {
        return refuse(err, "it is not valid yet");
    }
    return ARCP_OK;
}

/* Whether `aud`, a string or an array of strings, includes ours (RFC 7519 §4.1.3). */
static bool has_audience(const arcp_json *json, arcp_json_ref audience, arcp_span ours)
{
    if (arcp_json_is(json, audience, ARCP_JSON_STRING)) {
        return arcp_json_string_equals(json, audience, ours);
    }
    if (!arcp_json_is(json, audience, ARCP_JSON_ARRAY)) {
        return false;
    }
    for (arcp_json_ref item = arcp_json_first(json, audience); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, audience, item)) {
        if (arcp_json_string_equals(json, item, ours)) {
            return true;
        }
    }
    return false;
}

/* The claim arcp_role. A token with another value is refused, because it was meant to have a role
 * that this release does not know. */
static arcp_status read_role(const arcp_json *json, arcp_role *role, arcp_error *err)
{
    const arcp_json_ref claim = member(json, "arcp_role");
    arcp_buf scratch = arcp_buf_init();
    *role = arcp__role_from_name(arcp_json_string(json, claim, &scratch));
    const bool failed = scratch.failed;
    arcp_buf_fini(&scratch);
    if (failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return claim == ARCP_JSON_ABSENT || *role != ARCP_ROLE_NONE
               ? ARCP_OK
               : refuse(err, "its claim arcp_role is neither viewer nor operator");
}

static arcp_status check_claims(const arcp__jwt_rules *rules, const arcp_json *json, int64_t now_ns,
                                arcp__jwt_identity *out, arcp_error *err)
{
    arcp_buf *principal = &out->principal;
    arcp_status status = check_dates(rules, json, now_ns, &out->expires_wall_ns, err);
    if (status != ARCP_OK) {
        return status;
    }
    const arcp_json_ref audience = member(json, "aud");
    if (rules->issuer != NULL &&
        !arcp_json_string_equals(json, member(json, "iss"), arcp_span_cstr(rules->issuer))) {
        return refuse(err, "its iss is not the configured issuer");
    }
    if (rules->audience == NULL && audience != ARCP_JSON_ABSENT) {
        return refuse(err, "it has an aud, and no audience is configured");
    }
    if (rules->audience != NULL && !has_audience(json, audience, arcp_span_cstr(rules->audience))) {
        return refuse(err, "its aud does not include the configured audience");
    }
    status = read_role(json, &out->role, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_buf scratch = arcp_buf_init();
    const arcp_json_ref ref = member(json, rules->principal_claim);
    const arcp_span name = arcp_json_string(json, ref, &scratch);
    arcp_buf_append(principal, name);
    if (scratch.failed || principal->failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else if (name.size == 0) {
        status =
            arcp_error_set(err, ARCP_E_UNAUTHENTICATED,
                           "its claim %.64s is missing or not a string", rules->principal_claim);
    }
    arcp_buf_fini(&scratch);
    return status;
}

/* ---- the whole token ---- */

/* `text`, `json` and `signature` are empty buffers to work in. */
static arcp_status check_parts(const arcp__jwt_rules *rules, const jwt_parts *parts,
                               int64_t now_wall_ns, arcp_json *json, arcp_buf *text,
                               arcp_buf *signature, arcp__jwt_identity *out, arcp_error *err)
{
    arcp_status status =
        read_object(parts->header, text, json, "its header is not a JSON object in base64url", err);
    if (status != ARCP_OK) {
        return status;
    }
    status = check_header(rules, json, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp__base64_decode(parts->signature, ARCP__BASE64_URL, signature, NULL);
    if (status != ARCP_OK) {
        return status == ARCP_E_NO_MEMORY ? status : refuse(err, "its signature is not base64url");
    }
    if (!arcp__jwt_key_verify(rules->key, parts->signed_text, arcp_buf_span(signature))) {
        return refuse(err, "its signature is wrong");
    }
    arcp_buf_clear(text);
    status = read_object(parts->claims, text, json, "its claims are not a JSON object in base64url",
                         err);
    return status == ARCP_OK ? check_claims(rules, json, now_wall_ns, out, err) : status;
}

arcp_status arcp__jwt_check(const arcp__jwt_rules *rules, arcp_span token, int64_t now_wall_ns,
                            arcp__jwt_identity *out, arcp_error *err)
{
    jwt_parts parts;
    if (token.size > ARCP_JWT_BYTES_MAX) {
        return refuse(err, "it is too large for a JWT");
    }
    if (token.size == 0 || !split(token, &parts)) {
        return refuse(err, "it is not a JWT");
    }
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    arcp_buf signature = arcp_buf_secret_init();
    const arcp_status status =
        check_parts(rules, &parts, now_wall_ns, &json, &text, &signature, out, err);
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
    arcp_buf_fini(&signature);
    return status;
}

/* ---- the verifier ---- */

typedef struct jwt_verifier {
    arcp_token_verifier base;
    arcp__jwt_rules rules;
    uint8_t hash[SHA256_DIGEST_LENGTH]; /* of the rules and the key */
} jwt_verifier;

static void verify(arcp_token_verifier *base, arcp_token_request *request)
{
    const jwt_verifier *verifier = (const jwt_verifier *)base;
    arcp_token_response response = arcp_token_response_init();
    arcp_error why = {0};
    arcp__jwt_identity identity = {.principal = arcp_buf_init()};
    const arcp_status status =
        arcp__jwt_check(&verifier->rules, arcp_token_request_token(request),
                        arcp_token_request_wall_ns(request), &identity, &why);
    if (status == ARCP_OK) {
        response.status = ARCP_OK;
        response.principal = arcp_buf_span(&identity.principal);
        response.role = identity.role;
        response.expires_wall_ns = identity.expires_wall_ns;
    } else {
        response.status =
            status == ARCP_E_NO_MEMORY ? ARCP_E_INTERNAL_ERROR : ARCP_E_UNAUTHENTICATED;
        response.why = why.message;
    }
    arcp_token_request_respond(request, &response);
    arcp_buf_fini(&identity.principal);
}

static void free_jwt(arcp_token_verifier *base)
{
    jwt_verifier *verifier = (jwt_verifier *)base;
    arcp__jwt_rules_fini(&verifier->rules);
    arcp__free(verifier);
}

static const arcp_token_verifier_ops jwt_ops = {
    .struct_size = sizeof jwt_ops, .name = "jwt", .verify = verify, .free = free_jwt};

bool arcp__jwt_origin(const arcp_token_verifier *verifier, uint8_t out[32])
{
    if (verifier->ops != &jwt_ops) {
        return false;
    }
    memcpy(out, ((const jwt_verifier *)verifier)->hash, SHA256_DIGEST_LENGTH);
    return true;
}

static bool hash_rules(jwt_verifier *verifier)
{
    const arcp__jwt_rules *rules = &verifier->rules;
    const char *const texts[] = {arcp__jwt_key_algorithm(rules->key), rules->key_id, rules->issuer,
                                 rules->audience, rules->principal_claim};
    arcp_buf all = arcp_buf_init();
    arcp_buf_append(
        &all, arcp_span_make((const char *)arcp__jwt_key_hash(rules->key), SHA256_DIGEST_LENGTH));
    arcp_buf_append_format(&all, "%llu", (unsigned long long)rules->leeway_sec);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        arcp_buf_append_byte(&all, '\0'); /* no text has one */
        arcp_buf_append_cstr(&all, texts[i] == NULL ? "" : texts[i]);
    }
    (void)SHA256((const unsigned char *)all.data, all.size, verifier->hash);
    const bool is_made = !all.failed;
    arcp_buf_fini(&all);
    return is_made;
}

arcp_status arcp_token_verifier_new_jwt(const arcp_jwt_options *given, arcp_token_verifier **out,
                                        arcp_error *err)
{
    arcp_jwt_options options = arcp_jwt_options_init();
    arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_jwt_options", err);
    if (status != ARCP_OK) {
        return status;
    }
    jwt_verifier *verifier = arcp__alloc(sizeof *verifier);
    if (verifier == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    verifier->base.ops = &jwt_ops;
    status = arcp__jwt_rules_init(&verifier->rules, &options, err);
    if (status == ARCP_OK && !hash_rules(verifier)) {
        arcp__jwt_rules_fini(&verifier->rules);
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status != ARCP_OK) {
        arcp__free(verifier);
        return status;
    }
    *out = &verifier->base;
    return ARCP_OK;
}
