/* Lines of the effective configuration, as YAML that arcpd would read again. */
#ifndef ARCP_ARCPD_YAML_PRINTER_H
#define ARCP_ARCPD_YAML_PRINTER_H

#include <arcp/buf.h>

#include "arcpd/text_list.h"

/* A string in quotes; null for NULL. */
void arcp__yaml_print_quoted(arcp_buf *out, const char *text);
/* A line `key: "text"`; the key brings its indentation. */
void arcp__yaml_print_text(arcp_buf *out, const char *key, const char *text);
/* A line `key: ["text", ...]`. */
void arcp__yaml_print_list(arcp_buf *out, const char *key, const arcp__text_list *list);
/* The same for what may be secrets: `key: ["***", ...]`. */
void arcp__yaml_print_masked_list(arcp_buf *out, const char *key, const arcp__text_list *list);

#endif
