/* Arguments that are JSON, @FILE, or - for standard input. */
#ifndef ARCP_CLI_FILE_TEXT_H
#define ARCP_CLI_FILE_TEXT_H

#include <arcp/buf.h>
#include <arcp/json.h>

/* Appends the text that the argument means; `may_be_stdin`: - reads standard input. ARCP_E_USAGE
 * names the file. */
ARCP_MUST_CHECK arcp_status arcp__file_text(const char *argument, bool may_be_stdin, arcp_buf *out,
                                            arcp_error *err);

/* The same, scanned as JSON: `json` borrows from `text`. What is wrong with a text that is no JSON,
 * and the name of a file, is told with how files are written. */
ARCP_MUST_CHECK arcp_status arcp__json_argument(const char *argument, bool may_be_stdin,
                                                const arcp_json_limits *limits, arcp_buf *text,
                                                arcp_json *json, arcp_error *err);

/* The same for an option, checked to be JSON. Nothing happens without an argument (NULL).
 * ARCP_E_USAGE begins with the option's name (`option`: without its dashes). */
ARCP_MUST_CHECK arcp_status arcp__json_text(const char *option, const char *argument,
                                            bool may_be_stdin, arcp_buf *out, arcp_error *err);

#endif
