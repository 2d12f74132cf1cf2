/* arcpd's configuration: a YAML file, then the command line, which wins. */
#ifndef ARCP_ARCPD_CONFIG_H
#define ARCP_ARCPD_CONFIG_H

#include <arcp/lease.h>
#include <arcp/settings.h>
#include <arcp/sys/launcher.h>
#include <arcp/token.h>

#include "arcpd/config_credentials.h"
#include "arcpd/config_places.h"
#include "arcpd/config_tracing.h"

typedef struct arcp__config_token {
    char *token; /* wiped when freed */
    char *principal;
} arcp__config_token;

/* A key for JSON Web Tokens: see arcp_jwt_options. */
typedef struct arcp__config_jwt {
    arcp_jwt_algorithm algorithm;
    char *key_file;
    char *key_id, *issuer, *audience, *principal_claim; /* may be NULL */
    uint64_t leeway_sec;
} arcp__config_jwt;

typedef struct arcp__config_agent {
    char *name, *version; /* version may be NULL */
    bool is_default;
    bool is_plain;
    bool stderr_in_errors;
    uint64_t warm;
    uint64_t max_jobs;
    char *cwd, *user; /* may be NULL */
    arcp__text_list command;
    arcp__text_list env; /* NAME=VALUE */
    arcp_launch_limit *limits;
    arcp__text_list limit_texts; /* the same as written: NAME: VALUE */
    size_t limit_count;
} arcp__config_agent;

typedef struct arcp__config_policy {
    char *principal, *agent;
    arcp_lease *ceiling; /* of max_lease and max_budget; NULL: none */
    bool has_lease;      /* max_lease is there: what it does not name is closed */
    uint64_t max_lifetime_sec;
} arcp__config_policy;

typedef struct arcp__config_profile {
    char *client, *principal; /* globs; NULL: any */
    char *profile;
} arcp__config_profile;

typedef enum arcp__log_format { ARCP__LOG_TEXT, ARCP__LOG_JSON } arcp__log_format;

typedef struct arcp__config {
    arcp_settings settings;
    arcp__text_list listen;
    char *store;
    char *token_file;
    char *http_listen; /* NULL: nowhere */
    char *audit_path;  /* NULL: the default name in the state directory; "": none */
    char *tls_certificate, *tls_key;
    arcp__text_list origins, hosts;
    arcp__config_token *tokens;
    size_t token_count;
    arcp__config_jwt *jwt;
    size_t jwt_count;
    arcp__config_agent *agents;
    size_t agent_count;
    arcp__config_policy *policies;
    size_t policy_count;
    arcp__config_profile *profiles;
    size_t profile_count;
    arcp__config_credentials credentials;
    arcp__config_tracing tracing;
    int log_level; /* arcp_log_level */
    arcp__log_format log_format;
    bool no_auth;
    bool use_stdio;
    arcp__config_places places; /* of the strings of the file */
} arcp__config;

/* The defaults. */
void arcp__config_init(arcp__config *config);
void arcp__config_fini(arcp__config *config);

/* Reads a YAML file into `config`. ARCP_E_USAGE or ARCP_E_IO; the message names file, line
 * and key and says what would be right. */
ARCP_MUST_CHECK arcp_status arcp__config_read(arcp__config *config, const char *path,
                                              arcp_error *err);
/* The same from text; `name` stands for the file in messages. */
ARCP_MUST_CHECK arcp_status arcp__config_read_text(arcp__config *config, const char *name,
                                                   arcp_span text, arcp_error *err);

/* Prints the effective configuration as YAML. */
void arcp__config_print(const arcp__config *config, arcp__print_secrets secrets, arcp_buf *out);

/* Both are copied. */
ARCP_MUST_CHECK arcp_status arcp__config_add_token(arcp__config *config, arcp_span token,
                                                   arcp_span principal, arcp_error *err);

/* ---- for the command line ---- */

/* TOKEN=PRINCIPAL; the last '=' separates. The message never shows the text. */
ARCP_MUST_CHECK arcp_status arcp__config_add_token_flag(arcp__config *config, const char *text,
                                                        arcp_error *err);
/* NAME[@VERSION]=COMMAND. */
ARCP_MUST_CHECK arcp_status arcp__config_add_agent_flag(arcp__config *config, const char *text,
                                                        arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__config_set_log_level(arcp__config *config, const char *text,
                                                       arcp_error *err);

#endif
