/* Lines of the effective configuration, as YAML that arcpd would read again. */
#ifndef ARCP_ARCPD_YAML_PRINTER_H
#define ARCP_ARCPD_YAML_PRINTER_H

#include <arcp/buf.h>

#include "arcpd/text_list.h"

/* What stands for a secret: the same for all of them, or what tells two apart without showing
 * either (for comparisons, not for people). */
typedef enum arcp__print_secrets { ARCP__SECRETS_MASKED, ARCP__SECRETS_HASHED } arcp__print_secrets;

/* A string in quotes; null for NULL. */
void arcp__yaml_print_quoted(arcp_buf *out, const char *text);
/* A line `key: "text"`; the key brings its indentation. */
void arcp__yaml_print_text(arcp_buf *out, const char *key, const char *text);
/* A line `key: ["text", ...]`. */
void arcp__yaml_print_list(arcp_buf *out, const char *key, const arcp__text_list *list);
/* For what may be a secret: "***"; null for NULL. */
void arcp__yaml_print_secret(arcp_buf *out, const char *text, arcp__print_secrets secrets);
/* The same for a list: `key: ["***", ...]`. */
void arcp__yaml_print_secret_list(arcp_buf *out, const char *key, const arcp__text_list *list,
                                  arcp__print_secrets secrets);

#endif
