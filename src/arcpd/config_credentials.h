/* The part `credentials:` of the configuration. */
#ifndef ARCP_ARCPD_CONFIG_CREDENTIALS_H
#define ARCP_ARCPD_CONFIG_CREDENTIALS_H

#include <arcp/buf.h>

#include "arcpd/text_list.h"
#include "arcpd/yaml_printer.h"
#include "provisioner/http_provisioner.h"

struct arcp__yaml_reader;
struct yaml_node_s;

/* Statuses that may be listed in credentials.http.gone. */
#define ARCP__GONE_MAX 32u

#define ARCP__HTTP_TIMEOUT_MS_DEFAULT  10000u
#define ARCP__HTTP_CONNECTIONS_DEFAULT 8u

typedef enum arcp__provisioner_kind {
    ARCP__PROVISIONER_NONE,
    ARCP__PROVISIONER_STATIC,
    ARCP__PROVISIONER_HTTP
} arcp__provisioner_kind;

/* One kind of request to an upstream; all owned, NULL where nothing was said. */
typedef struct arcp__config_request {
    char *method, *url, *body; /* body: a JSON template */
    arcp__text_list headers;   /* "Name: value" */
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
    uint64_t timeout_ms, connections; /* 0: the defaults below */
    char *ca_file;
    int gone[ARCP__GONE_MAX]; /* statuses of revoke */
    size_t gone_count;        /* 0: 404 and 410 */
} arcp__config_credentials;

void arcp__config_credentials_fini(arcp__config_credentials *credentials);

/* The statuses of revoke that mean "not known here", those of the configuration or the usual ones;
 * they live with `credentials`. */
const int *arcp__config_credentials_gone(const arcp__config_credentials *credentials,
                                         size_t *count);
/* What is to be used, where nothing was said too. */
uint64_t arcp__config_credentials_timeout_ms(const arcp__config_credentials *credentials);
uint64_t arcp__config_credentials_connections(const arcp__config_credentials *credentials);

/* The key of a request in `http`. */
const char *arcp__config_credentials_request(size_t index);

/* Keys of the group that are no settings (arcp__yaml_member_fn; `into` is the
 * arcp__config_credentials). */
arcp_status arcp__config_credentials_member(struct arcp__yaml_reader *r, void *into, arcp_span key,
                                            const char *path, const struct yaml_node_s *value);
/* What no single key can say. */
arcp_status arcp__config_credentials_check(struct arcp__yaml_reader *r,
                                           const arcp__config_credentials *credentials,
                                           const struct yaml_node_s *node);

/* Prints the group's lines. */
void arcp__config_credentials_print(const arcp__config_credentials *credentials,
                                    arcp__print_secrets secrets, arcp_buf *out);

#endif
