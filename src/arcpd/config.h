/* arcpd's configuration: a YAML file, then the command line, which wins. What keys there are, with
 * their defaults and ranges, is in one table (config_table.c). */
#ifndef ARCP_ARCPD_CONFIG_H
#define ARCP_ARCPD_CONFIG_H

#include <arcp/buf.h>
#include <arcp/lease.h>
#include <arcp/settings.h>
#include <arcp/token.h>

#include "config/config.h"
#include "provisioner/http_provisioner.h"

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
    arcp__text_list env;     /* NAME=VALUE; NAME: arcpd's own variable */
    arcp__text_list rlimits; /* NAME=VALUE, valid for arcp__launch_limit_parse */
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

/* Statuses that may be listed in credentials.http.gone. */
#define ARCP__GONE_MAX 32u

typedef enum arcp__provisioner_kind {
    ARCP__PROVISIONER_NONE,
    ARCP__PROVISIONER_STATIC,
    ARCP__PROVISIONER_HTTP
} arcp__provisioner_kind;

/* One kind of request to an upstream; members are NULL where the file gives none. */
typedef struct arcp__config_request {
    char *method, *url, *body; /* body: a JSON template */
    arcp__text_list headers;   /* "Name: value", templates */
    char *pointers[ARCP__HTTP_POINTER_COUNT];
} arcp__config_request;

typedef struct arcp__config_credentials {
    arcp__provisioner_kind kind;
    char *key_file; /* NULL: credentials.key in the state directory */
    char *endpoint, *scheme, *profile, *currency;
    arcp__text_list agents, models;
    unsigned enforces; /* ARCP_ENFORCES_... */
    arcp__upstream_rule *errors;
    size_t error_count;
    arcp__text_list values; /* of static; wiped when freed */
    char *values_file;      /* one value a line */
    arcp__config_request requests[ARCP__HTTP_REQUEST_COUNT];
    uint64_t timeout_ms, connections;
    char *ca_file;
    int *gone;         /* statuses of revoke that mean "not known here" */
    size_t gone_count; /* 0: 404 and 410 */
} arcp__config_credentials;

typedef struct arcp__config_tracing {
    char *endpoint;          /* NULL: no spans are made */
    arcp__text_list headers; /* "Name: value", templates */
    char *ca_file;           /* NULL: the system's */
    char *service_name;      /* NULL: arcpd */
    uint64_t timeout_ms, delay_ms, flush_ms, queue_bytes;
} arcp__config_tracing;

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

/* Prints the effective configuration as YAML, secrets masked. */
void arcp__config_print(const arcp__config *config, arcp_buf *out);

/* The key of a request in credentials.http. */
const char *arcp__config_request_key(arcp__http_request_kind kind);

/* ---- for the command line: after a failure the configuration is good for fini only ---- */

/* TOKEN=PRINCIPAL; the last '=' separates. The message never shows the text. */
ARCP_MUST_CHECK arcp_status arcp__config_add_token_flag(arcp__config *config, const char *text,
                                                        arcp_error *err);
/* NAME[@VERSION]=COMMAND. */
ARCP_MUST_CHECK arcp_status arcp__config_add_agent_flag(arcp__config *config, const char *text,
                                                        arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__config_set_log_level(arcp__config *config, const char *text,
                                                       arcp_error *err);

/* ---- config_table.c ---- */

/* The keys of arcpd.yaml. A new key is a new row in config_table.c, and a line in arcpd.yaml(5) and
 * in packaging/arcpd.yaml; tests/arcpd/config_table_test.c says when one of these is missing. */

/* The owner is an arcp__config. */
extern const arcp__config_fields arcp__config_top;
/* The words of log.level, in the order of arcp_log_level. */
extern const char *const arcp__config_log_levels[];

/* max_lease and max_budget of an arcp__config_policy (config_ceiling.c). */
extern const arcp__config_type arcp__config_ceiling_lease;
extern const arcp__config_type arcp__config_ceiling_budget;
/* Of an arcp__config_policy: makes its ceiling of both, and its globs "*" where none is given. */
arcp_status arcp__config_policy_check(arcp__yaml_reader *r, void *owner, const char *path,
                                      const yaml_node_t *node);

/* ---- config_check.c ---- */

/* The configuration looked at as a whole, after the file and the flags and before anything is
 * opened: what no single key can say, and what would be refused halfway through a start. */

/* ARCP_E_USAGE names the key and what would be right. Reads the files of `tls` when there is a
 * wss:// to listen on; changes nothing. */
ARCP_MUST_CHECK arcp_status arcp__config_check(const arcp__config *config, arcp_error *err);

/* ---- config_restart.c ---- */

/* Keys of the configuration that are read at the start only: a reload leaves them as they are, and
 * says which of them have changed. */

/* Makes of `fresh`, as it was read, what can be in effect without a restart: what was opened at the
 * start stays that of `running` (which gets the other, to be freed), and no frame can be larger
 * than `frame_bytes_max`, the listeners' limit. Appends to `changes` the keys for which that makes
 * a difference, with both values but for secrets: `store (from "memory:" to null), ...`; nothing
 * when there are none. It has failed when memory ran out, and then all the same is done. */
void arcp__config_keep_started(arcp__config *fresh, arcp__config *running, uint64_t frame_bytes_max,
                               arcp_buf *changes);

#endif
