#include "session/page_key.h"

#include <arcp/secret.h>

#include <stdio.h>

#include "base/base64.h"
#include "session/view.h"

#define CODE_PREFIX "page_code_"
#define KEY_PREFIX  "page_key_"
#define CODE_BYTES  16u
#define KEY_BYTES   32u

struct arcp__page_key {
    uint8_t hash[32];
    UT_hash_handle hh; /* in sessions->page_keys, the oldest first */
    bool is_code;
    arcp_role role;
    int64_t made_ns, used_ns;
    char principal[];
};

static void key_free(arcp__sessions *sessions, struct arcp__page_key *key)
{
    HASH_DEL(sessions->page_keys, key);
    arcp_wipe(key->hash, sizeof key->hash);
    arcp__free(key);
}

void arcp__page_keys_clear(arcp__sessions *sessions)
{
    while (sessions->page_keys != NULL) {
        key_free(sessions, sessions->page_keys);
    }
}

static bool is_over(const struct arcp__page_key *key, int64_t now_ns)
{
    if (key->is_code) {
        return now_ns - key->made_ns >= ARCP__PAGE_CODE_SEC * ARCP_NS_PER_SEC;
    }
    return now_ns - key->made_ns >= ARCP__PAGE_KEY_SEC * ARCP_NS_PER_SEC ||
           now_ns - key->used_ns >= ARCP__PAGE_KEY_IDLE_SEC * ARCP_NS_PER_SEC;
}

/* Frees those that are over and, if the principal or all together have no room left, the oldest. */
static void make_room(arcp__sessions *sessions, const char *principal)
{
    const int64_t now_ns = sessions->context->now.mono_ns;
    struct arcp__page_key *oldest = NULL;
    struct arcp__page_key *key = NULL;
    struct arcp__page_key *next = NULL;
    unsigned count = 0;
    HASH_ITER (hh, sessions->page_keys, key, next) {
        if (is_over(key, now_ns)) {
            key_free(sessions, key);
        } else if (strcmp(key->principal, principal) == 0) {
            oldest = oldest == NULL ? key : oldest;
            count++;
        }
    }
    if (count >= ARCP__PAGE_KEYS_MAX) {
        key_free(sessions, oldest);
    }
    if (HASH_COUNT(sessions->page_keys) >= ARCP__PAGE_KEYS_TOTAL_MAX) {
        key_free(sessions, sessions->page_keys);
    }
}

/* Makes a code or a key for the session's principal, appends its text, and writes its hash. */
static bool make(arcp__sessions *sessions, const arcp__session *session, bool is_code,
                 arcp_buf *out, uint8_t hash[32])
{
    uint8_t bytes[KEY_BYTES];
    const size_t size = is_code ? CODE_BYTES : KEY_BYTES;
    const char *principal = session->principal->name;
    make_room(sessions, principal);
    struct arcp__page_key *key = arcp__alloc(sizeof *key + strlen(principal) + 1);
    if (key == NULL) {
        arcp__context_no_memory(sessions->context);
        return false;
    }
    arcp__context_random(sessions->context, bytes, size);
    arcp_buf_append_cstr(out, is_code ? CODE_PREFIX : KEY_PREFIX);
    arcp__base64_encode(arcp_span_make((const char *)bytes, size), ARCP__BASE64_URL, out);
    arcp_wipe(bytes, sizeof bytes);
    arcp__context_sha256(sessions->context, arcp_buf_span(out), hash);
    memcpy(key->hash, hash, sizeof key->hash);
    memcpy(key->principal, principal, strlen(principal) + 1);
    key->is_code = is_code;
    key->role = session->role;
    key->made_ns = key->used_ns = sessions->context->now.mono_ns;
    HASH_ADD(hh, sessions->page_keys, hash, sizeof key->hash, key);
    return true;
}

/* ---- as a bearer ---- */

bool arcp__page_is_bearer(arcp_span token)
{
    return arcp_span_starts_with(token, ARCP_SPAN_LITERAL(CODE_PREFIX)) ||
           arcp_span_starts_with(token, ARCP_SPAN_LITERAL(KEY_PREFIX));
}

/* Codes are short, so guesses are counted: after some wrong ones no code is taken for the rest of
 * the minute. */
static bool may_try_code(arcp__sessions *sessions)
{
    const int64_t now_ns = sessions->context->now.mono_ns;
    if (now_ns - sessions->wrong_codes_since_ns >= 60 * ARCP_NS_PER_SEC) {
        sessions->wrong_codes_since_ns = now_ns;
        sessions->wrong_codes = 0;
    }
    return sessions->wrong_codes < ARCP__PAGE_CODES_WRONG;
}

void arcp__page_authenticate(arcp__sessions *sessions, arcp_span token, arcp__authentication *out)
{
    const bool is_code = arcp_span_starts_with(token, ARCP_SPAN_LITERAL(CODE_PREFIX));
    const int64_t now_ns = sessions->context->now.mono_ns;
    struct arcp__page_key *key = NULL;
    *out = (arcp__authentication){.status = ARCP_E_UNAUTHENTICATED};
    if (is_code && !may_try_code(sessions)) {
        return;
    }
    arcp__context_sha256(sessions->context, token, out->page_hash);
    HASH_FIND(hh, sessions->page_keys, out->page_hash, sizeof out->page_hash, key);
    if (key == NULL || is_over(key, now_ns)) {
        sessions->wrong_codes += is_code;
        return;
    }
    arcp_buf_clear(&sessions->page_principal);
    arcp_buf_append_cstr(&sessions->page_principal, key->principal);
    if (sessions->page_principal.failed) {
        arcp__context_no_memory(sessions->context);
        return;
    }
    out->status = ARCP_OK;
    out->principal = arcp_buf_span(&sessions->page_principal);
    out->role = key->role;
    out->page = is_code ? ARCP__PAGE_CODE : ARCP__PAGE_KEY;
    key->used_ns = now_ns;
    if (is_code) {
        key_free(sessions, key);
    }
}

void arcp__page_keys_end(arcp__sessions *sessions, arcp_span principal)
{
    struct arcp__page_key *key = NULL;
    struct arcp__page_key *next = NULL;
    HASH_ITER (hh, sessions->page_keys, key, next) {
        if (arcp_span_equal_cstr(principal, key->principal)) {
            key_free(sessions, key);
        }
    }
}

/* ---- of a session ---- */

void arcp__page_key_make(arcp__sessions *sessions, arcp__session *session, arcp_buf *out)
{
    if (arcp__session_has_feature(session, ARCP_FEATURE_PAGE_KEY) && !session->is_anonymous &&
        !session->has_page_key && session->link != NULL && arcp__link_is_private(session->link)) {
        session->has_page_key = make(sessions, session, false, out, session->page_hash);
    }
}

void arcp__page_key_end(arcp__sessions *sessions, arcp__session *session)
{
    struct arcp__page_key *key = NULL;
    if (session->has_page_key) {
        HASH_FIND(hh, sessions->page_keys, session->page_hash, sizeof session->page_hash, key);
        session->has_page_key = false;
    }
    if (key != NULL) {
        key_free(sessions, key);
    }
}

/* x-vendor.arcpd.page */
void arcp__view_page_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    arcp__session *session = call->session;
    uint8_t hash[32];
    arcp_buf code = arcp_buf_secret_init();
    arcp_buf payload = arcp_buf_secret_init();
    arcp_error error = {0};
    if (session->is_anonymous || session->is_by_page) {
        (void)arcp_error_set(&error, ARCP_E_PERMISSION_DENIED, "%s",
                             session->is_anonymous
                                 ? "without authentication a page needs no code"
                                 : "a page cannot make a code: sign in with a token");
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    if (make(sessions, session, true, &code, hash)) {
        arcp_json_writer writer = arcp__put_begin(&payload);
        arcp__put_string(&writer, "code", arcp_buf_span(&code));
        arcp_json_end_object(&writer);
        arcp__view_answer(sessions, call, &payload);
    }
    arcp_buf_fini(&payload);
    arcp_buf_fini(&code);
}
