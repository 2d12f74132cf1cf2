#include "session/page_key.h"

#include <arcp/secret.h>

#include <stdio.h>

#include "base/base64.h"
#include "base/hex.h"
#include "session/view.h"

#define CODE_PREFIX "page_code_"
#define KEY_PREFIX  "page_key_"
#define ROW_PREFIX  "page:" /* of the row's key, with the hash in hex behind it */
#define CODE_BYTES  16u
#define KEY_BYTES   32u
#define SEC_NS      ARCP_NS_PER_SEC

/* Uses are stored when they are this far from the stored one. */
#define STORE_USE_NS (300 * SEC_NS)

struct arcp__page_key {
    uint8_t hash[32];
    UT_hash_handle hh; /* in sessions->page_keys, the oldest first */
    bool is_code;
    bool is_restored; /* by a restart, and its origin was not checked yet: not valid */
    arcp_role role;
    arcp__origin origin;
    int64_t ends_wall_ns;
    int64_t used_wall_ns, stored_wall_ns;
    char principal[];
};

/* ---- rows ---- */

typedef struct key_row {
    uint8_t hash[32];
    arcp_span principal;
    uint64_t role;
    uint8_t origin[32];
    int64_t expires_at; /* of the origin */
    int64_t ends_at, used_at;
} key_row;

#define KEY_ROW(member, kind) ARCP__MEMBER(key_row, member, #member, kind)
static const arcp__member key_rows[] = {
    {KEY_ROW(hash, HASH), .required = true},
    {KEY_ROW(principal, STRING), .required = true},
    {KEY_ROW(role, COUNT)},
    {KEY_ROW(origin, HASH), .required = true},
    {KEY_ROW(expires_at, INSTANT)},
    {KEY_ROW(ends_at, INSTANT), .required = true},
    {KEY_ROW(used_at, INSTANT), .required = true},
};
static const arcp__members key_members = ARCP__MEMBERS(key_rows);

static arcp_span row_key(const uint8_t hash[32], char out[sizeof ROW_PREFIX + 64])
{
    memcpy(out, ROW_PREFIX, sizeof ROW_PREFIX - 1);
    arcp__hex_format(hash, 32, out + sizeof ROW_PREFIX - 1);
    return arcp_span_make(out, sizeof ROW_PREFIX - 1 + 64);
}

/* What stands for an unknown origin ends with this process. */
static bool is_stored(const arcp__page_key *key)
{
    static const arcp__origin unknown;
    return !key->is_code && !arcp__origin_equals(&key->origin, &unknown);
}

static void store(arcp__sessions *sessions, arcp__page_key *key)
{
    char name[sizeof ROW_PREFIX + 64];
    if (!is_stored(key)) {
        return;
    }
    key_row row = {.principal = arcp_span_cstr(key->principal),
                   .role = (uint64_t)key->role,
                   .expires_at = key->origin.expires_wall_ns,
                   .ends_at = key->ends_wall_ns,
                   .used_at = key->used_wall_ns};
    memcpy(row.hash, key->hash, sizeof row.hash);
    memcpy(row.origin, key->origin.hash, sizeof row.origin);
    key->stored_wall_ns = key->used_wall_ns;
    arcp_buf text = arcp__context_take_buf(sessions->context);
    arcp__row_format(&key_members, &row, &text);
    arcp__batch_put(sessions->log, ARCP_STORE_META, row_key(key->hash, name), arcp_buf_span(&text));
    arcp__context_give_buf(sessions->context, &text);
}

static arcp__page_key *new_key(arcp_span principal)
{
    arcp__page_key *key = arcp__alloc(sizeof *key + principal.size + 1);
    if (key != NULL) {
        memcpy(key->principal, principal.data, principal.size);
        key->principal[principal.size] = '\0';
    }
    return key;
}

bool arcp__page_key_is_row(arcp_span key)
{
    return arcp_span_starts_with(key, ARCP_SPAN_LITERAL(ROW_PREFIX));
}

arcp_status arcp__page_key_restore_row(arcp__sessions *sessions, arcp_span name, arcp_error *err)
{
    key_row row = {.role = ARCP_ROLE_NONE};
    char expected[sizeof ROW_PREFIX + 64];
    if (!arcp__decode_row(&sessions->context->json, &sessions->context->scratch, ARCP_JSON_ROOT,
                          &key_members, &row) ||
        row.role > ARCP_ROLE_OPERATOR || !arcp_span_equal(name, row_key(row.hash, expected))) {
        return arcp__row_damaged("browser's key", name, err);
    }
    arcp__page_key *key = new_key(row.principal);
    if (key == NULL) {
        return arcp__row_out_of_memory(err);
    }
    memcpy(key->hash, row.hash, sizeof key->hash);
    memcpy(key->origin.hash, row.origin, sizeof row.origin);
    key->origin.expires_wall_ns = row.expires_at;
    key->is_restored = true;
    key->role = (arcp_role)row.role;
    key->ends_wall_ns = row.ends_at;
    key->used_wall_ns = key->stored_wall_ns = row.used_at;
    HASH_ADD(hh, sessions->page_keys, hash, sizeof key->hash, key);
    return ARCP_OK;
}

/* ---- all of them ---- */

static void key_free(arcp__sessions *sessions, arcp__page_key *key)
{
    HASH_DEL(sessions->page_keys, key);
    arcp_wipe(key->hash, sizeof key->hash);
    arcp__free(key);
}

static void end(arcp__sessions *sessions, arcp__page_key *key)
{
    char name[sizeof ROW_PREFIX + 64];
    if (is_stored(key)) {
        arcp__batch_delete(sessions->log, ARCP_STORE_META, row_key(key->hash, name));
    }
    key_free(sessions, key);
}

void arcp__page_keys_fini(arcp__sessions *sessions)
{
    while (sessions->page_keys != NULL) {
        key_free(sessions, sessions->page_keys);
    }
}

static bool is_over(const arcp__page_key *key, int64_t now_wall_ns)
{
    return now_wall_ns >= key->ends_wall_ns ||
           (!key->is_code && now_wall_ns - key->used_wall_ns >= ARCP__PAGE_KEY_IDLE_SEC * SEC_NS);
}

/* The one of the two that was not used for longer; the first may be NULL. */
static arcp__page_key *idler(arcp__page_key *a, arcp__page_key *b)
{
    return a == NULL || b->used_wall_ns < a->used_wall_ns ? b : a;
}

/* Ends those that are over and, if the principal or all together have no room left, the one that
 * was not used for the longest time. */
static void make_room(arcp__sessions *sessions, const char *principal)
{
    const int64_t now_ns = sessions->context->now.wall_ns;
    arcp__page_key *idlest_own = NULL;
    arcp__page_key *idlest = NULL;
    arcp__page_key *key = NULL;
    arcp__page_key *next = NULL;
    unsigned count = 0;
    HASH_ITER (hh, sessions->page_keys, key, next) {
        if (is_over(key, now_ns)) {
            end(sessions, key);
            continue;
        }
        idlest = idler(idlest, key);
        if (strcmp(key->principal, principal) == 0) {
            idlest_own = idler(idlest_own, key);
            count++;
        }
    }
    if (idlest_own != NULL && count >= ARCP__PAGE_KEYS_MAX) {
        end(sessions, idlest_own);
    } else if (idlest != NULL && HASH_COUNT(sessions->page_keys) >= ARCP__PAGE_KEYS_TOTAL_MAX) {
        end(sessions, idlest);
    }
}

/* Makes a code or a key for the session's principal, appends its text, and writes its hash. */
static bool make(arcp__sessions *sessions, const arcp__session *session, bool is_code,
                 arcp_buf *out, uint8_t hash[32])
{
    uint8_t bytes[KEY_BYTES];
    const size_t size = is_code ? CODE_BYTES : KEY_BYTES;
    const int64_t now_ns = sessions->context->now.wall_ns;
    const int64_t expires_ns = session->origin.expires_wall_ns;
    make_room(sessions, session->principal->name);
    arcp__page_key *key = new_key(arcp_span_cstr(session->principal->name));
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
    key->is_code = is_code;
    key->role = session->role;
    key->origin = session->origin;
    key->used_wall_ns = now_ns;
    key->ends_wall_ns =
        now_ns + (int64_t)(is_code ? ARCP__PAGE_CODE_SEC : ARCP__PAGE_KEY_SEC) * SEC_NS;
    if (expires_ns != 0 && expires_ns < key->ends_wall_ns) {
        key->ends_wall_ns = expires_ns;
    }
    HASH_ADD(hh, sessions->page_keys, hash, sizeof key->hash, key);
    store(sessions, key);
    return true;
}

/* ---- whether what they stand for is still valid ---- */

const arcp__page_key *arcp__page_key_next(const arcp__sessions *sessions,
                                          const arcp__page_key *after)
{
    return after == NULL ? sessions->page_keys : after->hh.next;
}

void arcp__page_key_look(const arcp__page_key *key, arcp__page_key_facts *out)
{
    *out = (arcp__page_key_facts){.origin = &key->origin,
                                  .principal = key->principal,
                                  .role = key->role,
                                  .is_restored = key->is_restored};
    memcpy(out->hash, key->hash, sizeof out->hash);
}

void arcp__page_key_checked(arcp__sessions *sessions, const uint8_t hash[32], bool is_valid)
{
    arcp__page_key *key = NULL;
    HASH_FIND(hh, sessions->page_keys, hash, sizeof key->hash, key);
    if (key != NULL && (!is_valid || is_over(key, sessions->context->now.wall_ns))) {
        end(sessions, key);
    } else if (key != NULL) {
        key->is_restored = false;
    }
}

/* ---- as a bearer ---- */

bool arcp__page_is_bearer(arcp_span token)
{
    return arcp_span_starts_with(token, ARCP_SPAN_LITERAL(CODE_PREFIX)) ||
           arcp_span_starts_with(token, ARCP_SPAN_LITERAL(KEY_PREFIX));
}

bool arcp__page_is_code(arcp_span token)
{
    return arcp_span_starts_with(token, ARCP_SPAN_LITERAL(CODE_PREFIX));
}

/* Codes are short, so guesses are counted: after some wrong ones no code is taken for the rest of
 * the minute. */
bool arcp__page_may_try(arcp__sessions *sessions, arcp_span token)
{
    if (!arcp__page_is_code(token)) {
        return true;
    }
    const int64_t now_ns = sessions->context->now.mono_ns;
    if (now_ns - sessions->wrong_codes_since_ns >= 60 * SEC_NS) {
        sessions->wrong_codes_since_ns = now_ns;
        sessions->wrong_codes = 0;
    }
    return sessions->wrong_codes < ARCP__PAGE_CODES_WRONG;
}

bool arcp__page_is_known(arcp__sessions *sessions, arcp_span token)
{
    uint8_t hash[32];
    arcp__page_key *key = NULL;
    arcp__context_sha256(sessions->context, token, hash);
    HASH_FIND(hh, sessions->page_keys, hash, sizeof hash, key);
    return key != NULL;
}

void arcp__page_authenticate(arcp__sessions *sessions, arcp_span token, arcp__authentication *out)
{
    const bool is_code = arcp__page_is_code(token);
    const int64_t now_ns = sessions->context->now.wall_ns;
    arcp__page_key *key = NULL;
    *out = (arcp__authentication){.status = ARCP_E_UNAUTHENTICATED};
    if (!arcp__page_may_try(sessions, token)) {
        return;
    }
    arcp__context_sha256(sessions->context, token, out->page_hash);
    HASH_FIND(hh, sessions->page_keys, out->page_hash, sizeof out->page_hash, key);
    if (key == NULL || key->is_restored || is_over(key, now_ns)) {
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
    out->origin = key->origin;
    out->page = is_code ? ARCP__PAGE_CODE : ARCP__PAGE_KEY;
    if (is_code) {
        end(sessions, key);
    } else {
        key->used_wall_ns = now_ns;
        store(sessions, key);
    }
}

void arcp__page_keys_end(arcp__sessions *sessions, arcp_span principal)
{
    arcp__page_key *key = NULL;
    arcp__page_key *next = NULL;
    HASH_ITER (hh, sessions->page_keys, key, next) {
        if (arcp_span_equal_cstr(principal, key->principal)) {
            end(sessions, key);
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

static arcp__page_key *key_of(const arcp__sessions *sessions, const arcp__session *session)
{
    arcp__page_key *key = NULL;
    if (session->has_page_key) {
        HASH_FIND(hh, sessions->page_keys, session->page_hash, sizeof session->page_hash, key);
    }
    return key;
}

void arcp__page_key_use(arcp__sessions *sessions, const arcp__session *session)
{
    const int64_t now_ns = sessions->context->now.wall_ns;
    arcp__page_key *key = key_of(sessions, session);
    if (key != NULL && !is_over(key, now_ns)) {
        key->used_wall_ns = now_ns;
        if (now_ns - key->stored_wall_ns >= STORE_USE_NS) {
            store(sessions, key);
        }
    }
}

void arcp__page_key_end(arcp__sessions *sessions, arcp__session *session)
{
    arcp__page_key *key = key_of(sessions, session);
    session->has_page_key = false;
    if (key != NULL) {
        end(sessions, key);
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
