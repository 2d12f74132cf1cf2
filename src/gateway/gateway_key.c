/* Keys of jobs. The program of a job has one, which is made when the job is opened; others are
 * issued for the job, also before it is opened, as credentials of its submitter.
 *
 *   issue, adopt ──> EARLY ── open ──> WORKS ── close, or revoke ──> freed
 *
 * Only digests are kept. All keys of a job are dead when it is closed. */
#include "gateway/gateway_parts.h"

#include <assert.h>
#include <stdio.h>

#include <arcp/secret.h>
#include <openssl/evp.h>

#include "base/base64.h"
#include "base/random.h"

#define KEY_BYTES 32u

/* A key. All of this file's state is under the gateway's lock. */
struct arcp__gateway_key {
    UT_hash_handle hh; /* by digest */
    unsigned char digest[ARCP__GATEWAY_DIGEST_SIZE];
    arcp__gateway_owner *owner;
    arcp__gateway_key *next;                   /* of its owner */
    char alias[ARCP_CREDENTIAL_ALIAS_MAX + 1]; /* "": the program's own */
};

/* The keys of one job, from the first of them until the job is closed. */
struct arcp__gateway_owner {
    UT_hash_handle hh;            /* by id */
    arcp__gateway_job_parts *job; /* NULL: it is not open yet */
    arcp__gateway_key *keys;
    char id[];
};

bool arcp__gateway_digest(arcp_span key, unsigned char out[ARCP__GATEWAY_DIGEST_SIZE])
{
    unsigned int size = 0;
    return EVP_Digest(key.data, key.size, out, &size, EVP_sha256(), NULL) == 1 &&
           size == ARCP__GATEWAY_DIGEST_SIZE;
}

arcp__gateway_job *arcp__gateway_find(arcp__gateway *gateway, arcp_span key, bool *is_early)
{
    unsigned char digest[ARCP__GATEWAY_DIGEST_SIZE];
    *is_early = false;
    arcp__gateway_job *job = arcp__gateway_digest(key, digest)
                                 ? arcp__gateway_find_digest(gateway, digest, is_early)
                                 : NULL;
    arcp_wipe(digest, sizeof digest);
    return job;
}

arcp__gateway_job *arcp__gateway_find_digest(arcp__gateway *gateway,
                                             const unsigned char digest[ARCP__GATEWAY_DIGEST_SIZE],
                                             bool *is_early)
{
    const arcp__gateway_key *found = NULL;
    arcp__gateway_job_parts *job = NULL;
    *is_early = false;
    (void)pthread_mutex_lock(&gateway->lock);
    HASH_FIND(hh, gateway->keys, digest, ARCP__GATEWAY_DIGEST_SIZE, found);
    if (found != NULL) {
        job = found->owner->job;
        *is_early = job == NULL;
    }
    (void)pthread_mutex_unlock(&gateway->lock);
    return job == NULL ? NULL : &job->job;
}

/* Writes a new key and its digest. */
static bool make_key(char out[ARCP__GATEWAY_KEY_MAX],
                     unsigned char digest[ARCP__GATEWAY_DIGEST_SIZE])
{
    unsigned char bytes[KEY_BYTES];
    arcp_buf text = arcp_buf_secret_init();
    arcp__random(bytes, sizeof bytes);
    arcp_buf_append_cstr(&text, ARCP__GATEWAY_KEY_PREFIX);
    arcp__base64_encode(arcp_span_make((const char *)bytes, sizeof bytes), ARCP__BASE64_URL, &text);
    arcp_wipe(bytes, sizeof bytes);
    const bool is_made = !text.failed && text.size < ARCP__GATEWAY_KEY_MAX &&
                         arcp__gateway_digest(arcp_buf_span(&text), digest);
    if (is_made) {
        memcpy(out, text.data, text.size);
        out[text.size] = '\0';
    }
    arcp_buf_fini(&text);
    return is_made;
}

/* ---- under the lock ---- */

static arcp__gateway_owner *find_owner(const arcp__gateway *gateway, arcp_span job_id)
{
    arcp__gateway_owner *owner = NULL;
    HASH_FIND(hh, gateway->owners, job_id.data, job_id.size, owner);
    return owner;
}

/* NULL when memory is missing. */
static arcp__gateway_owner *take_owner(arcp__gateway *gateway, arcp_span job_id)
{
    arcp__gateway_owner *owner = find_owner(gateway, job_id);
    if (owner != NULL) {
        return owner;
    }
    owner = arcp__alloc(sizeof *owner + job_id.size + 1);
    if (owner == NULL) {
        return NULL;
    }
    memcpy(owner->id, job_id.data, job_id.size);
    HASH_ADD_KEYPTR(hh, gateway->owners, owner->id, job_id.size, owner);
    if (!ARCP__HASH_ADDED(owner)) {
        arcp__free(owner);
        return NULL;
    }
    return owner;
}

/* Frees an owner that has neither a job nor a key. */
static void drop_owner(arcp__gateway *gateway, arcp__gateway_owner *owner)
{
    if (owner->job == NULL && owner->keys == NULL) {
        HASH_DELETE(hh, gateway->owners, owner);
        arcp__free(owner);
    }
}

static bool add_digest(arcp__gateway *gateway, arcp__gateway_owner *owner, arcp_span alias,
                       const unsigned char digest[ARCP__GATEWAY_DIGEST_SIZE])
{
    arcp__gateway_key *key = arcp__alloc(sizeof *key);
    if (key == NULL) {
        return false;
    }
    key->owner = owner;
    memcpy(key->digest, digest, sizeof key->digest);
    (void)snprintf(key->alias, sizeof key->alias, "%.*s", (int)alias.size, alias.data);
    HASH_ADD(hh, gateway->keys, digest, ARCP__GATEWAY_DIGEST_SIZE, key);
    if (!ARCP__HASH_ADDED(key)) {
        arcp__free(key);
        return false;
    }
    LL_PREPEND(owner->keys, key);
    return true;
}

static bool add_key(arcp__gateway *gateway, arcp__gateway_owner *owner, arcp_span alias,
                    char out[ARCP__GATEWAY_KEY_MAX])
{
    unsigned char digest[ARCP__GATEWAY_DIGEST_SIZE];
    bool is_added = make_key(out, digest);
    if (is_added && !add_digest(gateway, owner, alias, digest)) {
        arcp_wipe(out, ARCP__GATEWAY_KEY_MAX);
        is_added = false;
    }
    arcp_wipe(digest, sizeof digest);
    return is_added;
}

static void remove_key(arcp__gateway *gateway, arcp__gateway_key *key)
{
    LL_DELETE(key->owner->keys, key);
    HASH_DELETE(hh, gateway->keys, key);
    arcp_wipe(key->digest, sizeof key->digest);
    arcp__free(key);
}

static void remove_owner(arcp__gateway *gateway, arcp__gateway_owner *owner)
{
    while (owner->keys != NULL) {
        remove_key(gateway, owner->keys);
    }
    owner->job = NULL;
    drop_owner(gateway, owner);
}

bool arcp__gateway_keys_open(arcp__gateway_job_parts *parts, const unsigned char *known,
                             char own[ARCP__GATEWAY_KEY_MAX])
{
    arcp__gateway *gateway = parts->job.gateway;
    arcp__gateway_owner *owner = take_owner(gateway, arcp_span_cstr(parts->job.id));
    if (owner == NULL) {
        return false;
    }
    assert(owner->job == NULL);
    const arcp_span none = arcp_span_make("", 0);
    if (known != NULL ? !add_digest(gateway, owner, none, known)
                      : own != NULL && !add_key(gateway, owner, none, own)) {
        drop_owner(gateway, owner);
        return false;
    }
    owner->job = parts;
    parts->keys = owner;
    return true;
}

void arcp__gateway_keys_close(arcp__gateway_job_parts *parts)
{
    if (parts->keys != NULL) {
        remove_owner(parts->job.gateway, parts->keys);
        parts->keys = NULL;
    }
}

void arcp__gateway_keys_free(arcp__gateway *gateway)
{
    arcp__gateway_owner *owner = NULL;
    arcp__gateway_owner *next = NULL;
    HASH_ITER (hh, gateway->owners, owner, next) {
        remove_owner(gateway, owner);
    }
}

/* ---- the runtime's thread: keys that are issued ---- */

arcp_status arcp__gateway_issue(arcp__gateway *gateway, arcp_span job_id, arcp_span alias,
                                char out[ARCP__GATEWAY_KEY_MAX], arcp_error *err)
{
    assert(alias.size != 0 && alias.size <= ARCP_CREDENTIAL_ALIAS_MAX);
    (void)pthread_mutex_lock(&gateway->lock);
    arcp__gateway_owner *owner = take_owner(gateway, job_id);
    const bool is_made = owner != NULL && add_key(gateway, owner, alias, out);
    if (owner != NULL) {
        drop_owner(gateway, owner);
    }
    (void)pthread_mutex_unlock(&gateway->lock);
    return is_made ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a key");
}

arcp_status arcp__gateway_adopt(arcp__gateway *gateway, arcp_span job_id, arcp_span alias,
                                arcp_span key, arcp_error *err)
{
    unsigned char digest[ARCP__GATEWAY_DIGEST_SIZE];
    const arcp__gateway_key *other = NULL;
    bool is_made = arcp__gateway_digest(key, digest);
    (void)pthread_mutex_lock(&gateway->lock);
    HASH_FIND(hh, gateway->keys, digest, sizeof digest, other);
    arcp__gateway_owner *owner = is_made && other == NULL ? take_owner(gateway, job_id) : NULL;
    is_made = owner != NULL && add_digest(gateway, owner, alias, digest);
    if (owner != NULL) {
        drop_owner(gateway, owner);
    }
    (void)pthread_mutex_unlock(&gateway->lock);
    arcp_wipe(digest, sizeof digest);
    return is_made ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a key");
}

void arcp__gateway_revoke(arcp__gateway *gateway, arcp_span job_id, arcp_span alias)
{
    (void)pthread_mutex_lock(&gateway->lock);
    arcp__gateway_owner *owner = find_owner(gateway, job_id);
    arcp__gateway_key *key = owner == NULL ? NULL : owner->keys;
    while (key != NULL && !arcp_span_equal_cstr(alias, key->alias)) {
        key = key->next;
    }
    if (key != NULL) {
        remove_key(gateway, key);
        drop_owner(gateway, owner);
    }
    (void)pthread_mutex_unlock(&gateway->lock);
}

const char *arcp__gateway_url(const arcp__gateway *gateway)
{
    return gateway->url;
}
