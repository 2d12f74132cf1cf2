/* `headers:` of a request that arcpd makes: names and templates, which may hold secrets. */
#ifndef ARCP_ARCPD_CONFIG_HEADERS_H
#define ARCP_ARCPD_CONFIG_HEADERS_H

#include <arcp/buf.h>
#include <arcp/error.h>

#include "arcpd/text_list.h"
#include "arcpd/yaml_printer.h"

struct arcp__yaml_reader;
struct yaml_node_s;

/* One header (arcp__yaml_member_fn; `into` is an arcp__text_list of "Name: value"). */
arcp_status arcp__config_headers_member(struct arcp__yaml_reader *r, void *into, arcp_span key,
                                        const char *path, const struct yaml_node_s *value);
/* Appends {Name: "***", ...}. */
void arcp__config_headers_print(const arcp__text_list *headers, arcp__print_secrets secrets,
                                arcp_buf *out);
/* Any list of texts that may be secrets: wiped, then cleared. */
void arcp__config_wipe_list(arcp__text_list *list);

#endif
