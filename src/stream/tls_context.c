/* Certificates, keys and trusted authorities of TLS, with OpenSSL 3. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>

#include "base/alloc.h"
#include "stream/tls_parts.h"

const char *arcp__tls_error_text(const char *fallback)
{
    const unsigned long code = ERR_peek_last_error();
    const char *text = code == 0 ? NULL : ERR_reason_error_string(code);
    ERR_clear_error();
    return text == NULL ? fallback : text;
}

static const unsigned char http_1_1[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/* ---- contexts ---- */

/* OpenSSL's message for a missing file is hard to understand. */
static arcp_status check_readable(const char *file, const char *what, arcp_error *err)
{
    if (access(file, R_OK) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "cannot read the %s %s: %s", what, file,
                              strerror(errno));
    }
    return ARCP_OK;
}

/* Without this, OpenSSL would ask for a passphrase at the terminal. */
static int no_passphrase(char *out, int size, int writing, void *user)
{
    return 0;
}

SSL_CTX *arcp__tls_context_base(const SSL_METHOD *method)
{
    ERR_clear_error();
    SSL_CTX *ssl = SSL_CTX_new(method);
    if (ssl == NULL) {
        return NULL;
    }
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    /* An idle connection keeps no record buffers. */
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(ssl, no_passphrase);
    return ssl;
}

arcp_status arcp__tls_context_serve(SSL_CTX *ssl, arcp_error *err)
{
    /* For TLS 1.2 only suites with forward secrecy and authenticated encryption; TLS 1.3 has no
     * others. */
    if (SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
        return arcp_error_set(err, ARCP_E_IO, "OpenSSL has no cipher suite for TLS 1.2: %s",
                              arcp__tls_error_text("unknown"));
    }
    /* ARCP resumes its own sessions, so TLS tickets are not needed. */
    SSL_CTX_set_num_tickets(ssl, 0);
    SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    return ARCP_OK;
}

arcp_status arcp__tls_context_reload(arcp__tls_context *context, arcp_error *err)
{
    const char *certificate_file = context->certificate_file;
    const char *key_file = context->key_file;
    arcp_status status = check_readable(certificate_file, "certificate", err);
    if (status == ARCP_OK) {
        status = check_readable(key_file, "key", err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    SSL_CTX *ssl = arcp__tls_context_base(TLS_server_method());
    if (ssl == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for TLS");
    }
    status = arcp__tls_context_serve(ssl, err);
    if (status != ARCP_OK) {
        /* The error is set. */
    } else if (SSL_CTX_use_certificate_chain_file(ssl, certificate_file) != 1) {
        status = arcp_error_set(err, ARCP_E_USAGE, "%s is not a usable PEM certificate: %s",
                                certificate_file, arcp__tls_error_text("unknown"));
    } else if (SSL_CTX_use_PrivateKey_file(ssl, key_file, SSL_FILETYPE_PEM) != 1) {
        status = arcp_error_set(err, ARCP_E_USAGE, "%s is not a usable PEM key for %s: %s",
                                key_file, certificate_file, arcp__tls_error_text("unknown"));
    } else if (SSL_CTX_check_private_key(ssl) != 1) {
        status = arcp_error_set(err, ARCP_E_USAGE, "the key %s does not belong to %s", key_file,
                                certificate_file);
    }
    if (status != ARCP_OK) {
        ERR_clear_error();
        SSL_CTX_free(ssl);
        return status;
    }
    SSL_CTX_free(context->ssl);
    context->ssl = ssl;
    return ARCP_OK;
}

arcp_status arcp__tls_context_new_server(const char *certificate_file, const char *key_file,
                                         arcp__tls_context **out, arcp_error *err)
{
    arcp__tls_context *context = arcp__alloc(sizeof *context);
    if (context != NULL) {
        context->is_server = true;
        context->certificate_file = arcp__copy_cstr(certificate_file, strlen(certificate_file));
        context->key_file = arcp__copy_cstr(key_file, strlen(key_file));
    }
    const bool is_allocated =
        context != NULL && context->certificate_file != NULL && context->key_file != NULL;
    const arcp_status status = is_allocated
                                   ? arcp__tls_context_reload(context, err)
                                   : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for TLS");
    if (status != ARCP_OK) {
        arcp__tls_context_free(context);
        return status;
    }
    *out = context;
    return ARCP_OK;
}

arcp_status arcp__tls_context_new_client(const char *ca_file, arcp__tls_context **out,
                                         arcp_error *err)
{
    if (ca_file != NULL) {
        const arcp_status status = check_readable(ca_file, "CA file", err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    arcp__tls_context *context = arcp__alloc(sizeof *context);
    SSL_CTX *ssl = context == NULL ? NULL : arcp__tls_context_base(TLS_client_method());
    if (ssl == NULL) {
        arcp__free(context);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for TLS");
    }
    context->ssl = ssl;
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    /* Only streams that say so (arcp__tls_stream_resume) keep the sessions. */
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ssl, arcp__tls_stream_keep);
    /* All that is spoken over our connections is HTTP/1.1 and WebSocket. */
    (void)SSL_CTX_set_alpn_protos(ssl, http_1_1, sizeof http_1_1);
    const int loaded = ca_file == NULL ? SSL_CTX_set_default_verify_paths(ssl)
                                       : SSL_CTX_load_verify_file(ssl, ca_file);
    if (loaded != 1) {
        arcp__tls_context_free(context);
        return arcp_error_set(err, ARCP_E_USAGE, "%s has no usable PEM certificate: %s",
                              ca_file == NULL ? "the system's CA store" : ca_file,
                              arcp__tls_error_text("unknown"));
    }
    *out = context;
    return ARCP_OK;
}

void arcp__tls_context_free(arcp__tls_context *context)
{
    if (context != NULL) {
        SSL_CTX_free(context->ssl);
        arcp__free(context->certificate_file);
        arcp__free(context->key_file);
        arcp__free(context);
    }
}
