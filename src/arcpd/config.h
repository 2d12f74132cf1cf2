/* arcpd's configuration: a YAML file, and the command line, which overrides it. One table
 * (config_table.c) describes the keys with their defaults and ranges. */
#ifndef ARCP_ARCPD_CONFIG_H
#define ARCP_ARCPD_CONFIG_H

#include <arcp/runtime.h>
#include <arcp/token.h>

#include "config/config.h"
#include "context/settings.h"
#include "identity/identity.h"
#include "provisioner/http_provisioner.h"
#include "setup/setup.h"
#include "tracing/span_exporter.h"

typedef struct arcp__config_profile {
    char *client, *principal; /* globs; NULL: any */
    char *profile;
} arcp__config_profile;

typedef struct arcp__config_schedule {
    char *name, *agent, *principal;
    char *cron;        /* NULL: every_sec */
    char *zone;        /* NULL: UTC */
    char *input;       /* JSON; NULL: null */
    arcp_lease *lease; /* NULL: an empty one */
    uint64_t every_sec;
    int overlap, catch_up; /* arcp__overlap, arcp__catch_up */
} arcp__config_schedule;

typedef struct arcp__config_hook {
    char *name;
    arcp__text_list on;      /* words for arcp__hook_event */
    char *agent, *principal; /* globs; NULL: all */
    uint64_t budget_left_percent, stuck_after_sec, timeout_ms;
    char *url, *secret;      /* may have {file:PATH} and {env:NAME}; NULL: none */
    char *ca_file;           /* NULL: the system's authorities */
    arcp__text_list command; /* empty: url */
} arcp__config_hook;

/* Statuses that may be listed in credentials.http.gone. */
#define ARCP__GONE_MAX 32u

typedef enum arcp__provisioner_kind {
    ARCP__PROVISIONER_NONE,
    ARCP__PROVISIONER_STATIC,
    ARCP__PROVISIONER_HTTP,
    ARCP__PROVISIONER_GATEWAY
} arcp__provisioner_kind;

typedef struct arcp__config_credentials {
    arcp__provisioner_kind kind;
    char *key_file;                      /* NULL: credentials.key in the state directory */
    arcp__text_list values;              /* for static; wiped when freed */
    char *values_file;                   /* one value per line */
    arcp__upstream upstream;             /* terms.struct_size is not set */
    arcp__http_provisioner_options http; /* loop and upstream are not set */
} arcp__config_credentials;

/* The default of tracing.otlp.service_name. */
#define ARCP__SERVICE_NAME "arcpd"

/* Who runs the programs of jobs. */
typedef enum arcp__local_worker_use {
    ARCP__WORKER_NONE,    /* arcpd itself */
    ARCP__WORKER_SPAWN,   /* a worker that arcpd starts */
    ARCP__WORKER_EXTERNAL /* a worker that another program starts */
} arcp__local_worker_use;

/* Where listeners take workers. */
#define ARCP__WORKERS_PATH "/arcp-worker"

/* What becomes of jobs on workers when arcpd gets SIGTERM. */
typedef enum arcp__shutdown_jobs {
    ARCP__SHUTDOWN_KEEPS_JOBS, /* they go on, for the next arcpd */
    ARCP__SHUTDOWN_ENDS_JOBS
} arcp__shutdown_jobs;

/* Which listeners serve the dashboard. */
typedef enum arcp__dashboard_use {
    ARCP__DASHBOARD_AUTO, /* those on loopback */
    ARCP__DASHBOARD_ON,   /* all of them */
    ARCP__DASHBOARD_OFF
} arcp__dashboard_use;

typedef enum arcp__log_format { ARCP__LOG_TEXT, ARCP__LOG_JSON } arcp__log_format;

typedef struct arcp__config {
    arcp__setup setup; /* must be first */
    arcp_settings settings;
    arcp__text_list listen;
    char *store;
    char *token_file;
    char *http_listen;    /* NULL: no HTTP server */
    int dashboard_use;    /* arcp__dashboard_use */
    char *dashboard_path; /* NULL: the default */
    char *audit_path;     /* NULL: the default name in the state directory; "": no audit log */
    char *tls_certificate, *tls_key;
    arcp__text_list origins, hosts;
    arcp__token_row *tokens; /* wiped when freed */
    size_t token_count;
    arcp_jwt_options *jwt; /* struct_size is not set */
    size_t jwt_count;
    arcp_policy *policies; /* struct_size is not set; a NULL glob matches all */
    size_t policy_count;
    arcp__config_schedule *schedules;
    size_t schedule_count;
    arcp__config_hook *hooks;
    size_t hook_count;
    arcp__config_profile *profiles;
    size_t profile_count;
    int workers_local;                     /* arcp__local_worker_use */
    char *workers_path;                    /* NULL: ARCP__WORKERS_PATH */
    arcp__worker_token_row *worker_tokens; /* wiped when freed */
    size_t worker_token_count;
    int shutdown_jobs; /* arcp__shutdown_jobs */
    arcp__config_credentials credentials;
    arcp__span_exporter_options
        tracing; /* only members that have a key are set; no url: no spans */
    uint64_t tracing_flush_ms;
    int log_level; /* arcp_log_level */
    arcp__log_format log_format;
    bool no_auth;
    bool use_stdio;
    arcp__config_places places; /* the lines in the file where values were read */
} arcp__config;

/* The defaults. */
void arcp__config_init(arcp__config *config);
void arcp__config_fini(arcp__config *config);

/* Reads a YAML file into `config`. ARCP_E_USAGE or ARCP_E_IO; the message names file, line
 * and key and says what is accepted. */
ARCP_MUST_CHECK arcp_status arcp__config_read(arcp__config *config, const char *path,
                                              arcp_error *err);
/* The same from text; messages use `name` as the file's name. */
ARCP_MUST_CHECK arcp_status arcp__config_read_text(arcp__config *config, const char *name,
                                                   arcp_span text, arcp_error *err);

/* Prints the effective configuration as YAML, secrets masked. */
void arcp__config_print(const arcp__config *config, arcp_buf *out);

/* Adapts `fresh`, the configuration that a reload has read, to what can take effect without a
 * restart. Values of keys that are read at the start only are swapped with those of `running`, so
 * that `fresh` has the values in effect and `running` can be freed, and frames are limited to
 * `frame_bytes_max`, the limit of the listeners. Appends the keys that have changed to `changes`,
 * with both values unless they are secret: `store (from "memory:" to null), ...`, and to `keys`
 * (NULL: not wanted) without values. The swap is done
 * even if appending runs out of memory and `changes` has failed. */
void arcp__config_keep_started(arcp__config *fresh, arcp__config *running, uint64_t frame_bytes_max,
                               arcp_buf *changes, arcp__text_list *keys);

/* The key of a request in credentials.http. */
const char *arcp__config_request_key(arcp__http_request_kind kind);

/* ---- config_table.c ---- */

/* The keys of arcpd.yaml. A new key needs a row in config_table.c and a line in arcpd.yaml(5) and
 * in packaging/arcpd.yaml; tests/arcpd/config_table_test.c fails if one of them is missing. */

/* The rows' owner is an arcp__config. */
extern const arcp__config_fields arcp__config_top;
/* The runtime's settings, as the keys of a group without rows. */
extern const arcp__config_others arcp__config_settings;
/* The group `credentials` (config_credentials.c). */
extern const arcp__config_fields arcp__config_credentials_fields;
/* An entry of `schedules` (config_schedules.c). */
extern const arcp__config_row arcp__config_schedule_item;
/* For a name of 1 to 64 letters, digits, '-', '_' and '.'. */
arcp_status arcp__config_accept_name(arcp__yaml_reader *r, const arcp__config_row *row,
                                     void *owner);
/* An entry of `hooks` (config_hooks.c). */
extern const arcp__config_row arcp__config_hook_item;
/* The words of log.level, in the order of arcp_log_level. */
extern const char *const arcp__config_log_levels[];
extern const char *const arcp__config_local_workers[];

/* max_lease and max_budget of an arcp_policy (config_ceiling.c). */
extern const arcp__config_type arcp__config_ceiling_lease;
extern const arcp__config_type arcp__config_ceiling_budget;
/* Builds the ceiling from both, after all keys of an entry have been read. */
arcp_status arcp__config_policy_check(arcp__yaml_reader *r, void *owner);

/* ---- config_credentials.c ---- */

/* What the provisioner needs of other groups. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__config_check_credentials(const arcp__config *config,
                                                           arcp_error *err);

/* ---- config_check.c ---- */

/* Checks the configuration as a whole, after the file and the options were read and before anything
 * is opened: conditions that involve several keys, and errors that would stop a start halfway. */

/* ARCP_E_USAGE names the key and says what is accepted. Reads the files of `tls` if there is a
 * wss:// listener. Changes nothing. */
ARCP_MUST_CHECK arcp_status arcp__config_check(const arcp__config *config, arcp_error *err);

#endif
