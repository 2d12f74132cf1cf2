/* Matches one canonical target against a compiled set.
 *
 * A forward node is visited at most once per target: after a segment wildcard the pattern can
 * continue at one position only (the separator that ends the segment), so a node's path from the
 * root determines its position in the target. The recursion is as deep as a pattern has segment
 * wildcards. */
#include <endian.h>

#include "core/glob_machine.h"
#include "core/glob_trie.h"

typedef struct matcher {
    const arcp__glob_set *set;
    const char *bytes;
    size_t size;
    arcp__glob_hit hit;
} matcher;

/* Loads eight bytes; earlier bytes are lower. */
static inline uint64_t load_word(const void *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

/* Most runs are short, for which this is cheaper than a call of memcmp. */
static inline bool equal_bytes(const char *a, const unsigned char *label, size_t size)
{
    const char *b = (const char *)label;
    if (size >= 8) {
        size_t i = 0;
        for (; i + 8 < size; i += 8) {
            if (load_word(a + i) != load_word(b + i)) {
                return false;
            }
        }
        return load_word(a + size - 8) == load_word(b + size - 8);
    }
    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static arcp__glob_part find_branch(const arcp__glob_set *set, arcp__glob_part part,
                                   unsigned char byte)
{
    const arcp__glob_branches *branches = arcp__glob_at(set, part);
    const arcp__glob_part *nodes = arcp__glob_at(set, part + branches->nodes);
    if (branches->count > ARCP__GLOB_BRANCHES_FEW) {
        const unsigned index = branches->bytes[byte];
        return index == 0 ? 0 : nodes[index - 1];
    }
    /* `found` has 0x80 in the position of each byte that equals `byte`. */
    const uint64_t sevens = UINT64_C(0x7f7f7f7f7f7f7f7f);
    const uint64_t other = load_word(branches->bytes) ^ (UINT64_C(0x0101010101010101) * byte);
    const uint64_t found = ~(((other & sevens) + sevens) | other | sevens);
    if (found == 0) {
        return 0;
    }
    const unsigned index = (unsigned)__builtin_ctzll(found) / 8;
    return index < branches->count ? nodes[index] : 0;
}

static bool hits(matcher *m, arcp__glob_hit hit)
{
    m->hit = hit;
    return hit != 0;
}

/* The end of the segment that contains `from`. */
static size_t find_separator(const matcher *m, size_t from)
{
    if (arcp__target_kind_has_dots(m->set->kind)) {
        while (from < m->size && m->bytes[from] != '/' && m->bytes[from] != '.') {
            from++;
        }
        return from;
    }
    const char *slash = memchr(m->bytes + from, '/', m->size - from);
    return slash == NULL ? m->size : (size_t)(slash - m->bytes);
}

/* Whether the bytes contain the '?' of a URL, which only the last wildcard of a pattern may
 * match. */
static bool has_query(const matcher *m, size_t from, size_t to)
{
    return m->set->kind == ARCP__TARGET_URL && from < to &&
           memchr(m->bytes + from, '?', to - from) != NULL;
}

/* Goes to a node of a backward trie if its literals end at *end and begin at or after `from`, and
 * moves *end before them; else NULL. */
static const arcp__glob_node *walk_back(const matcher *m, arcp__glob_part part, size_t from,
                                        size_t *end)
{
    const arcp__glob_node *node = arcp__glob_at(m->set, part);
    const size_t size = node->label_size;
    if (part == 0 || *end - from < size ||
        !equal_bytes(m->bytes + *end - size, node->label, size)) {
        return NULL;
    }
    *end -= size;
    return node;
}

static arcp__glob_part branch_back(const matcher *m, const arcp__glob_node *node, size_t from,
                                   size_t end)
{
    return node->branches == 0 || end == from
               ? 0
               : find_branch(m->set, node->branches, (unsigned char)m->bytes[end - 1]);
}

static bool match_machines(matcher *m, const arcp__glob_rest *rest, size_t from, size_t to)
{
    const unsigned char *classes = arcp__glob_at(m->set, m->set->classes);
    const arcp__glob_candidate *candidates = arcp__glob_at(m->set, rest->machines);
    /* The literals that occur. Not worth it for a single machine. */
    uint64_t marks = rest->machine_count > 1 ? 0 : UINT64_MAX;
    for (size_t i = from; i < to && marks != UINT64_MAX; i++) {
        marks |= arcp__glob_mark((unsigned char)m->bytes[i]);
    }
    for (uint32_t i = 0; i < rest->machine_count; i++) {
        if ((candidates[i].literals & ~marks) != 0) {
            continue;
        }
        const arcp__glob_machine *machine = arcp__glob_at(m->set, candidates[i].machine);
        if (arcp__glob_machine_run(machine, classes, m->bytes + from, to - from)) {
            return hits(m, machine->pattern + 1);
        }
    }
    return false;
}

/* Matches the rest of the target, from `from` on, by its end. */
static bool match_rest(matcher *m, arcp__glob_part part, size_t from)
{
    size_t end = m->size;
    const arcp__glob_node *node = walk_back(m, part, from, &end);
    while (node != NULL) {
        if (node->payload != 0) {
            const arcp__glob_rest *rest = arcp__glob_at(m->set, node->payload);
            if (rest->any != 0 && !has_query(m, from, end)) {
                return hits(m, rest->any);
            }
            if (rest->whole != 0 && (end == from || m->bytes[end - 1] == '/') &&
                !has_query(m, from, end)) {
                return hits(m, rest->whole);
            }
            if (rest->machine_count != 0 && match_machines(m, rest, from, end)) {
                return true;
            }
        }
        node = walk_back(m, branch_back(m, node, from, end), from, &end);
    }
    return false;
}

static bool match_from(matcher *m, arcp__glob_part part, size_t from);

/* Matches the segment that begins at `from` by its end, then what follows. */
static bool match_segments(matcher *m, arcp__glob_part part, size_t from)
{
    const size_t separator = find_separator(m, from);
    size_t end = separator;
    const arcp__glob_node *node = walk_back(m, part, from, &end);
    while (node != NULL) {
        if (node->payload != 0 && !has_query(m, from, end)) {
            const arcp__glob_segment *segment = arcp__glob_at(m->set, node->payload);
            if (segment->end != 0 && separator == m->size) {
                return hits(m, segment->end);
            }
            if (segment->next != 0 && match_from(m, segment->next, separator)) {
                return true;
            }
        }
        node = walk_back(m, branch_back(m, node, from, end), from, &end);
    }
    return false;
}

static bool match_ends(matcher *m, const arcp__glob_ends *ends, size_t from)
{
    const bool is_end = from == m->size;
    if (ends->any != 0) {
        return hits(m, ends->any);
    }
    if (is_end && ends->exact != 0) {
        return hits(m, ends->exact);
    }
    if (ends->tail != 0 && (is_end || m->bytes[from] == '/')) {
        return hits(m, ends->tail);
    }
    if (ends->segment != 0 && find_separator(m, from) == m->size) {
        return hits(m, ends->segment);
    }
    return (ends->rest != 0 && match_rest(m, ends->rest, from)) ||
           (ends->segments != 0 && match_segments(m, ends->segments, from));
}

static bool match_from(matcher *m, arcp__glob_part part, size_t from)
{
    while (part != 0) {
        const arcp__glob_node *node = arcp__glob_at(m->set, part);
        if (m->size - from < node->label_size ||
            !equal_bytes(m->bytes + from, node->label, node->label_size)) {
            return false;
        }
        from += node->label_size;
        if (node->payload != 0 && match_ends(m, arcp__glob_at(m->set, node->payload), from)) {
            return true;
        }
        if (node->branches == 0 || from == m->size) {
            return false;
        }
        part = find_branch(m->set, node->branches, (unsigned char)m->bytes[from]);
    }
    return false;
}

/* [arcp:LA-6] */
bool arcp__glob_set_match(const arcp__glob_set *set, arcp_span canonical, size_t *index)
{
    if (set == NULL || set->root == 0) {
        return false;
    }
    matcher m = {.set = set, .bytes = canonical.data, .size = canonical.size};
    if (!match_from(&m, set->root, 0)) {
        return false;
    }
    if (index != NULL) {
        *index = m.hit - 1;
    }
    return true;
}
