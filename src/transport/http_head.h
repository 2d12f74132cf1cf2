/* The head of an HTTP/1.1 request or response: the first line and the headers, parsed by
 * http_parser under a limit. Nothing of a body is read. No I/O. */
#ifndef ARCP_TRANSPORT_HTTP_HEAD_H
#define ARCP_TRANSPORT_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <http_parser.h>

#include <arcp/buf.h>
#include <arcp/span.h>

#define ARCP__HTTP_HEADERS_MAX 64

/* Places in `text`, which grows while it is filled. */
typedef struct arcp__http_header {
    uint32_t name_at, name_size;
    uint32_t value_at, value_size;
} arcp__http_header;

typedef struct arcp__http_head {
    http_parser parser;
    arcp_buf text; /* target or status text, names and values, one after the other */
    size_t bytes;
    size_t bytes_max;
    uint32_t line_size; /* of the target or the status text */
    uint16_t header_count;
    bool in_value;
    bool complete;
    bool too_many; /* headers: the rest is read, not kept */
    bool is_lax;   /* a request in a form that RFC 9112 no longer allows */
    char last;     /* byte that was read */
    arcp__http_header headers[ARCP__HTTP_HEADERS_MAX];
} arcp__http_head;

typedef enum arcp__http_result {
    ARCP__HTTP_MORE,     /* all input is used up, the head is not complete */
    ARCP__HTTP_COMPLETE, /* *input is what comes behind the head */
    ARCP__HTTP_TOO_BIG,  /* more than bytes_max bytes or ARCP__HTTP_HEADERS_MAX headers */
    ARCP__HTTP_INVALID,  /* not HTTP/1; of a request also what other servers may read otherwise:
                            a line that ends with LF alone, a header that goes on in the next
                            line, a space before a colon (RFC 9112 §2.2, §5.1, §5.2) */
    ARCP__HTTP_NO_MEMORY
} arcp__http_result;

void arcp__http_head_init(arcp__http_head *head, enum http_parser_type type, size_t bytes_max);
void arcp__http_head_fini(arcp__http_head *head);

arcp__http_result arcp__http_head_feed(arcp__http_head *head, arcp_span *input);

/* The request's target, or the response's status text. */
arcp_span arcp__http_head_line(const arcp__http_head *head);

/* How often the header occurs; its (last) value without blanks around it. */
size_t arcp__http_head_find(const arcp__http_head *head, const char *name, arcp_span *value);

/* Whether the comma-separated lists of all headers of that name have the token, whatever
 * its case. */
bool arcp__http_head_has_token(const arcp__http_head *head, const char *name, const char *token);

/* Equal but for the case of ASCII letters. */
bool arcp__http_equal(arcp_span a, arcp_span b);

#endif
