#include <errno.h>
#include <stdio.h>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/alloc.h"
#include "stream/parts.h"

struct arcp__tls_context {
    SSL_CTX *ssl; /* counts its references; each connection holds one */
    bool server;
    char *certificate_file;
    char *key_file;
};

const char *arcp__tls_error_text(const char *fallback)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code == 0 ? NULL : ERR_reason_error_string(code);
    ERR_clear_error();
    return text == NULL ? fallback : text;
}

/* OpenSSL's words for a file that is not there are not for people. */
static arcp_status check_readable(const char *file, const char *what, arcp_error *err)
{
    FILE *stream = fopen(file, "re");
    if (stream == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "cannot read the %s %s: %s", what, file,
                              strerror(errno));
    }
    fclose(stream);
    return ARCP_OK;
}

/* Instead of asking at the terminal. */
static int no_passphrase(char *out, int size, int writing, void *user)
{
    return 0;
}

static SSL_CTX *context_base(const SSL_METHOD *method)
{
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

static arcp_status load_server(const char *certificate_file, const char *key_file, SSL_CTX **out,
                               arcp_error *err)
{
    arcp_status status = check_readable(certificate_file, "certificate", err);
    if (status == ARCP_OK) {
        status = check_readable(key_file, "key", err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    ERR_clear_error();
    SSL_CTX *ssl = context_base(TLS_server_method());
    if (ssl == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for TLS");
    }
    if (SSL_CTX_use_certificate_chain_file(ssl, certificate_file) != 1) {
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
    /* Of TLS 1.2 what keeps a record of today unreadable when the key is lost tomorrow, and what
     * authenticates its records; 1.3 has nothing else. */
    if (SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
        SSL_CTX_free(ssl);
        return arcp_error_set(err, ARCP_E_IO, "OpenSSL has no cipher suite for TLS 1.2: %s",
                              arcp__tls_error_text("unknown"));
    }
    /* We resume sessions of our own protocol; tickets would only outlive their key. */
    SSL_CTX_set_num_tickets(ssl, 0);
    SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    *out = ssl;
    return ARCP_OK;
}

arcp_status arcp__tls_context_new_server(const char *certificate_file, const char *key_file,
                                         arcp__tls_context **out, arcp_error *err)
{
    SSL_CTX *ssl = NULL;
    arcp_status status = load_server(certificate_file, key_file, &ssl, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__tls_context *context = arcp__alloc(sizeof(*context));
    if (context != NULL) {
        context->ssl = ssl;
        context->server = true;
        context->certificate_file = arcp__copy_cstr(certificate_file, strlen(certificate_file));
        context->key_file = arcp__copy_cstr(key_file, strlen(key_file));
    }
    if (context == NULL || context->certificate_file == NULL || context->key_file == NULL) {
        if (context == NULL) {
            SSL_CTX_free(ssl);
        }
        arcp__tls_context_free(context);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for TLS");
    }
    *out = context;
    return ARCP_OK;
}

arcp_status arcp__tls_context_new_client(const char *ca_file, arcp__tls_context **out,
                                         arcp_error *err)
{
    if (ca_file != NULL) {
        arcp_status status = check_readable(ca_file, "CA file", err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    ERR_clear_error();
    arcp__tls_context *context = arcp__alloc(sizeof(*context));
    SSL_CTX *ssl = context == NULL ? NULL : context_base(TLS_client_method());
    if (ssl == NULL) {
        arcp__free(context);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for TLS");
    }
    context->ssl = ssl;
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    int loaded = ca_file == NULL ? SSL_CTX_set_default_verify_paths(ssl)
                                 : SSL_CTX_load_verify_file(ssl, ca_file);
    if (loaded != 1) {
        arcp__tls_context_free(context);
        return arcp_error_set(err, ARCP_E_USAGE, "%s holds no usable PEM certificate: %s",
                              ca_file == NULL ? "the system's CA store" : ca_file,
                              arcp__tls_error_text("unknown"));
    }
    *out = context;
    return ARCP_OK;
}

arcp_status arcp__tls_context_reload(arcp__tls_context *context, arcp_error *err)
{
    SSL_CTX *ssl = NULL;
    arcp_status status = load_server(context->certificate_file, context->key_file, &ssl, err);
    if (status == ARCP_OK) {
        SSL_CTX_free(context->ssl);
        context->ssl = ssl;
    }
    return status;
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

/* The name that the peer's certificate must carry; SNI is for names only (RFC 6066 §3). */
static bool expect_host(SSL *ssl, const char *host)
{
    unsigned char address[16];
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1;
    }
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, host) == 1;
}

SSL *arcp__tls_context_start(const arcp__tls_context *context, const char *host)
{
    ERR_clear_error();
    SSL *ssl = SSL_new(context->ssl);
    BIO *in = BIO_new(BIO_s_mem());
    BIO *out = BIO_new(BIO_s_mem());
    if (ssl == NULL || in == NULL || out == NULL) {
        SSL_free(ssl);
        BIO_free(in);
        BIO_free(out);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_mem_eof_return(in, -1); /* empty means "later", not "the end" */
    BIO_set_mem_eof_return(out, -1);
    SSL_set_bio(ssl, in, out);
    if (context->server) {
        SSL_set_accept_state(ssl);
        return ssl;
    }
    SSL_set_connect_state(ssl);
    if (!expect_host(ssl, host)) {
        SSL_free(ssl);
        ERR_clear_error();
        return NULL;
    }
    return ssl;
}
