/* The hash chain of the audit log.
 *
 * A line is a JSON object whose first member is its sequence number and whose last is its hash:
 *
 *     {"seq":17,"ts":"...","event":"submit",...,"hash":"<64 hex digits>"}
 *
 * Its hash is SHA-256 over the hash of the line before (64 hex digits as text; zeros before
 * line 1) followed by the line's own bytes without its last member: up to ,"hash" and then the
 * closing brace. Nothing is canonicalised: the bytes in the file are hashed, so any program with
 * SHA-256 can check a log.
 *
 * Every file begins with a line about the log itself, whose member `previous` repeats the hash
 * before it. Therefore each file can be checked alone, and files follow each other without a gap.
 */
#ifndef ARCP_AUDIT_AUDIT_CHAIN_H
#define ARCP_AUDIT_AUDIT_CHAIN_H

#include <stdint.h>

#include <arcp/buf.h>

#define ARCP__AUDIT_HASH_SIZE 64
/* `,"hash":"` + digits + `"}` */
#define ARCP__AUDIT_TAIL_SIZE (9 + ARCP__AUDIT_HASH_SIZE + 2)

/* The head of a chain: number and hash of its last line. */
typedef struct arcp__audit_head {
    uint64_t seq; /* 0: no line yet */
    char hash[ARCP__AUDIT_HASH_SIZE];
} arcp__audit_head;

/* The head before line 1: number 0, hash of zeros. */
void arcp__audit_head_init(arcp__audit_head *head);

/* Appends `record`, a JSON object with at least one member, on one line, as the next line of the
 * chain with its line feed. Updates the head. */
void arcp__audit_chain_append(arcp__audit_head *head, arcp_span record, arcp_buf *out);

/* Reads number and hash of a line (without its line feed); false if it does not have the form of a
 * line of a chain. The spans are borrowed from the line. */
typedef struct arcp__audit_line_view {
    uint64_t seq;
    arcp_span hash; /* 64 digits */
    arcp_span body; /* up to the member hash, without a closing brace */
} arcp__audit_line_view;
bool arcp__audit_line_read(arcp_span line, arcp__audit_line_view *out);

/* The hash of a line with this body that follows a line with the hash `previous`. */
void arcp__audit_line_hash(const char previous[ARCP__AUDIT_HASH_SIZE], arcp_span body,
                           char out[ARCP__AUDIT_HASH_SIZE]);

/* SHA-256 of bytes as hex digits. */
void arcp__audit_sha256(arcp_span bytes, char out[ARCP__AUDIT_HASH_SIZE]);

#endif
