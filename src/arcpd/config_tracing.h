/* The part `tracing:` of the configuration. */
#ifndef ARCP_ARCPD_CONFIG_TRACING_H
#define ARCP_ARCPD_CONFIG_TRACING_H

#include "arcpd/config_headers.h"

typedef struct arcp__config_tracing {
    char *endpoint;          /* NULL: no spans are made */
    arcp__text_list headers; /* "Name: value", templates */
    char *ca_file;           /* NULL: the system's */
    char *service_name;      /* NULL: arcpd */
    uint64_t timeout_ms, delay_ms, flush_ms, queue_bytes;
} arcp__config_tracing;

/* The defaults. */
void arcp__config_tracing_init(arcp__config_tracing *tracing);
void arcp__config_tracing_fini(arcp__config_tracing *tracing);

/* Keys of the group (arcp__yaml_member_fn; `into` is the arcp__config_tracing). */
arcp_status arcp__config_tracing_member(struct arcp__yaml_reader *r, void *into, arcp_span key,
                                        const char *path, const struct yaml_node_s *value);

/* Prints the group's lines. */
void arcp__config_tracing_print(const arcp__config_tracing *tracing, arcp__print_secrets secrets,
                                arcp_buf *out);

#endif
