/* arcpd's configuration: a YAML file, then the command line, which wins. What keys there are, with
 * their defaults and ranges, is in one table (config_table.c). */
#ifndef ARCP_ARCPD_CONFIG_H
#define ARCP_ARCPD_CONFIG_H

#include <arcp/runtime.h>
#include <arcp/token.h>

#include "config/config.h"
#include "context/settings.h"
#include "provisioner/http_provisioner.h"
#include "tracing/span_exporter.h"

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

typedef struct arcp__config_credentials {
    arcp__provisioner_kind kind;
    char *key_file;                      /* NULL: credentials.key in the state directory */
    arcp__text_list values;              /* of static; wiped when freed */
    char *values_file;                   /* one value a line */
    arcp__upstream upstream;             /* without its terms' struct_size */
    arcp__http_provisioner_options http; /* without its loop and upstream */
} arcp__config_credentials;

/* What spans are said to be of where the configuration does not say. */
#define ARCP__SERVICE_NAME "arcpd"

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
    arcp_token_row *tokens; /* wiped when freed */
    size_t token_count;
    arcp_jwt_options *jwt; /* without struct_size */
    size_t jwt_count;
    arcp__config_agent *agents;
    size_t agent_count;
    arcp_policy *policies; /* without struct_size; no glob: any */
    size_t policy_count;
    arcp__config_profile *profiles;
    size_t profile_count;
    arcp__config_credentials credentials;
    arcp__span_exporter_options tracing; /* without what no key is about; no url: no spans */
    uint64_t tracing_flush_ms;
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

/* Keys that are read at the start only stay as they are at a reload, which says which of them have
 * changed. Makes of `fresh`, as it was read, what can be in effect without a restart: what was
 * opened at the start stays that of `running` (which gets the other, to be freed), and no frame can
 * be larger than `frame_bytes_max`, the listeners' limit. Appends to `changes` the keys for which
 * that makes a difference, with both values but for secrets: `store (from "memory:" to null), ...`;
 * nothing when there are none. It has failed when memory ran out, and then all the same is done. */
void arcp__config_keep_started(arcp__config *fresh, arcp__config *running, uint64_t frame_bytes_max,
                               arcp_buf *changes);

/* The key of a request in credentials.http. */
const char *arcp__config_request_key(arcp__http_request_kind kind);

/* ---- config_table.c ---- */

/* The keys of arcpd.yaml. A new key is a new row in config_table.c, and a line in arcpd.yaml(5) and
 * in packaging/arcpd.yaml; tests/arcpd/config_table_test.c says when one of these is missing. */

/* The owner is an arcp__config. */
extern const arcp__config_fields arcp__config_top;
/* The words of log.level, in the order of arcp_log_level. */
extern const char *const arcp__config_log_levels[];

/* max_lease and max_budget of an arcp_policy (config_ceiling.c). */
extern const arcp__config_type arcp__config_ceiling_lease;
extern const arcp__config_type arcp__config_ceiling_budget;
/* Makes the ceiling of both. */
arcp_status arcp__config_policy_check(arcp__yaml_reader *r, void *owner);

/* ---- config_check.c ---- */

/* The configuration looked at as a whole, after the file and the flags and before anything is
 * opened: what no single key can say, and what would be refused halfway through a start. */

/* ARCP_E_USAGE names the key and what would be right. Reads the files of `tls` when there is a
 * wss:// to listen on; changes nothing. */
ARCP_MUST_CHECK arcp_status arcp__config_check(const arcp__config *config, arcp_error *err);

#endif
