#include "core/glob_pattern.h"

#include <assert.h>

#include "base/path.h"
#include "base/utf8.h"

typedef struct parser {
    arcp_span text;
    size_t at;
    unsigned char *literals;
    uint8_t *loops;
    uint32_t count; /* literals so far; also the current state */
    size_t wildcards;
    bool tail;
} parser;

/* What precedes the next wildcard. */
typedef enum edge {
    EDGE_NONE,
    EDGE_START,
    EDGE_SLASH,   /* a '/' after which segments may begin */
    EDGE_SEGMENTS /* the '/' of `**` between slashes */
} edge;

static void add_literal(parser *p, unsigned char byte)
{
    if (p->literals != NULL) {
        p->literals[p->count] = byte;
        p->loops[p->count + 1] = ARCP__GLOB_LOOP_NONE;
    }
    p->count++;
}

static void set_loop(parser *p, uint8_t loop)
{
    if (p->loops != NULL) {
        p->loops[p->count] = loop;
    }
    p->wildcards++;
}

/* Reads two or more stars, the last of which is just before `at`. [arcp:LA-5] */
static edge read_double_star(parser *p, edge before)
{
    const bool at_end = p->at == p->text.size;
    if (before != EDGE_NONE && !at_end && p->text.data[p->at] == '/') {
        p->at++;
        if (before != EDGE_SEGMENTS) {
            set_loop(p, ARCP__GLOB_LOOP_ANY | ARCP__GLOB_LOOP_SKIP);
            add_literal(p, '/');
        }
        return EDGE_SEGMENTS;
    }
    if (before == EDGE_SEGMENTS && at_end) {
        /* Consecutive `**` segments at the end count as one: undo the earlier one. */
        p->count--;
        p->wildcards--;
        before = p->count == 0 ? EDGE_START : EDGE_SLASH;
    }
    set_loop(p, ARCP__GLOB_LOOP_ANY);
    p->tail = before == EDGE_SLASH && at_end;
    return EDGE_NONE;
}

/* [arcp:LA-4] [arcp:LB-3] */
static void parse(parser *p)
{
    if (p->loops != NULL) {
        p->loops[0] = ARCP__GLOB_LOOP_NONE;
    }
    edge before = EDGE_START;
    while (p->at < p->text.size) {
        const char byte = p->text.data[p->at++];
        if (byte != '*') {
            add_literal(p, (unsigned char)byte);
            /* After the second slash of "://" comes a host, not a segment. */
            const bool is_slash =
                byte == '/' && (p->at < 3 || memcmp(p->text.data + p->at - 3, "://", 3) != 0);
            before = is_slash ? EDGE_SLASH : EDGE_NONE;
            continue;
        }
        const size_t begin = p->at;
        while (p->at < p->text.size && p->text.data[p->at] == '*') {
            p->at++;
        }
        if (p->at == begin) {
            set_loop(p, ARCP__GLOB_LOOP_SEGMENT);
            before = EDGE_NONE;
        } else {
            before = read_double_star(p, before);
        }
    }
}

/* [arcp:9.2-2] */
void arcp__glob_parse(arcp_span pattern, unsigned char *room, arcp__glob_states *states)
{
    assert(pattern.size > 0 && pattern.size < UINT32_MAX);
    parser p = {.text = pattern, .literals = room, .loops = room + pattern.size};
    parse(&p);
    *states = (arcp__glob_states){
        .literals = p.literals, .loops = p.loops, .last = p.count, .tail = p.tail};
}

size_t arcp__glob_wildcard_count(arcp_span pattern)
{
    parser p = {.text = pattern};
    parse(&p);
    return p.wildcards;
}

const char *arcp__glob_pattern_fault(arcp_span pattern)
{
    if (pattern.size == 0) {
        return "is empty";
    }
    if (pattern.size > ARCP__GLOB_PATTERN_BYTES_MAX) {
        return "is too long";
    }
    if (memchr(pattern.data, '\0', pattern.size) != NULL) {
        return "contains a NUL byte";
    }
    return arcp__utf8_is_valid(pattern) ? NULL : "is not UTF-8";
}

arcp_span arcp__glob_literal_prefix(arcp_span pattern)
{
    if (pattern.size == 0) {
        return pattern;
    }
    const char *star = memchr(pattern.data, '*', pattern.size);
    return star == NULL ? pattern : arcp_span_first(pattern, (size_t)(star - pattern.data));
}

arcp_span arcp__glob_literal_directory(arcp_span pattern)
{
    return arcp__path_parent(arcp__glob_literal_prefix(pattern));
}

bool arcp__glob_bases_meet(arcp_span a, arcp_span b)
{
    /* If two literal bytes differ, the patterns have no common target: where they differ at most
     * one pattern may end instead (`/x/` and stars matches `/x`), but then the other continues. */
    return a.size < b.size ? arcp_span_starts_with(b, a) : arcp_span_starts_with(a, b);
}

bool arcp__glob_is_literal(arcp_span pattern)
{
    return arcp__glob_literal_prefix(pattern).size == pattern.size;
}
