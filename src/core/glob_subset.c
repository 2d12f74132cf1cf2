/* Cheapest first: what the texts show, then one pass with symbols, then the search. */
#include "core/glob_subset.h"

#include <assert.h>

#include "base/alloc.h"
#include "core/glob_search.h"

/* How many words of states one question may look at: about ten nanoseconds each. So many in any
 * case, and so many times all of the parents' for each pattern of the child. */
#define WORK_MIN   (UINT64_C(1) << 23)
#define WORK_TIMES 4

/* Of fewer parents all are taken, and of more those that may meet a pattern of the child, when
 * they are at most one in so many: else a machine of all parents serves all of the child's. */
#define NEAR_AMONG_MIN 16
#define NEAR_PARTS     4

/* Some of the parents as a machine. */
typedef struct parent_side {
    arcp__glob_union machine;
    arcp__glob_states_set sets[3]; /* scratch for the symbolic pass; one allocation */
    arcp__glob_word *words;
} parent_side;

/* One question: what is there for all patterns of the child. */
typedef struct question {
    arcp__target_kind kind;
    const arcp_span *parents;
    size_t parent_count;
    arcp_span *near; /* room for as many; made when it is needed */
    parent_side all;
    bool has_all;
    uint64_t work; /* words that were looked at so far */
    uint64_t work_max;
} question;

/* Step 1: what the texts show. */

/* Whether the wildcard is the last thing: a run of at least two stars. */
static bool is_double_star(arcp_span wildcard)
{
    for (size_t i = 0; i < wildcard.size; i++) {
        if (wildcard.data[i] != '*') {
            return false;
        }
    }
    return wildcard.size >= 2;
}

/* Whether the parent is literal bytes and `**`, and all of the child's strings begin with
 * these bytes. The '/' of a tail may be missing from a string, but then it is the last of
 * the bytes on both sides, and the parent has a tail too. */
static bool covers_prefix(arcp_span child, arcp_span parent)
{
    const arcp_span base = arcp__glob_literal_prefix(parent);
    return arcp_span_starts_with(arcp__glob_literal_prefix(child), base) &&
           is_double_star(arcp_span_from(parent, base.size));
}

static bool is_plainly_within(arcp_span child, const question *q)
{
    for (size_t i = 0; i < q->parent_count; i++) {
        if (arcp_span_equal(child, q->parents[i]) || covers_prefix(child, q->parents[i])) {
            return true;
        }
    }
    return false;
}

/* Steps 2 to 4 need parents as a machine. */
static arcp_status side_init(parent_side *p, const arcp_span *patterns, size_t count)
{
    arcp_status status = arcp__glob_union_init(&p->machine, patterns, count);
    if (status != ARCP_OK) {
        return status;
    }
    const size_t words = p->machine.words;
    p->words = arcp__alloc_array(3 * words, sizeof *p->words);
    if (p->words == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    for (size_t i = 0; i < 3; i++) {
        p->sets[i].words = p->words + i * words;
    }
    return ARCP_OK;
}

static void side_fini(parent_side *p)
{
    arcp__glob_union_fini(&p->machine);
    arcp__free(p->words);
}

static void swap_sets(arcp__glob_states_set **a, arcp__glob_states_set **b)
{
    arcp__glob_states_set *swapped = *a;
    *a = *b;
    *b = swapped;
}

/* Leaves the states whose loop takes all that the child's loop at `state` takes. */
static void pass_loop(arcp__target_kind kind, arcp__glob_union *machine,
                      const arcp__glob_states *child, uint32_t state, arcp__glob_states_set *set)
{
    const bool is_any = (child->loops[state] & ARCP__GLOB_LOOP_ANY) != 0;
    arcp__glob_union_filter(machine, set,
                            machine->keep[is_any ? ARCP__GLOB_SEPARATOR : ARCP__GLOB_ORDINARY]);
    if (kind == ARCP__TARGET_URL && state == child->last) {
        arcp__glob_union_filter(machine, set, machine->keep[ARCP__GLOB_QUERY]);
    }
}

/* Steps 2 and 3: the child's pattern read as a string, a wildcard as a symbol that only
 * loops take. A state that is reached is reached by every string of the child's; "no" is
 * no answer. Parents whose literals clash with the child's drop out on the way. */
static bool is_within_by_symbols(const question *q, parent_side *p, const arcp__glob_states *child)
{
    arcp__glob_union *machine = &p->machine;
    arcp__glob_states_set *now = &p->sets[0];
    arcp__glob_states_set *then = &p->sets[1];
    arcp__glob_states_set *skipped = &p->sets[2];
    arcp__glob_union_start(machine, now);
    for (uint32_t state = 0;; state++) {
        const bool may_skip = (child->loops[state] & ARCP__GLOB_LOOP_SKIP) != 0;
        if (may_skip) {
            memcpy(skipped->words, now->words, now->count * sizeof *now->words);
            skipped->count = now->count;
        }
        if (child->loops[state] != ARCP__GLOB_LOOP_NONE) {
            pass_loop(q->kind, machine, child, state, now);
        }
        if (child->tail && state + 1 == child->last &&
            !arcp__glob_union_meets(machine, now, machine->accept)) {
            return false;
        }
        if (now->count == 0 || machine->work > q->work_max) {
            return false;
        }
        if (state == child->last) {
            return arcp__glob_union_meets(machine, now, machine->accept);
        }
        const unsigned char byte = child->literals[state];
        arcp__glob_union_step(machine, now, byte, arcp__glob_class_of(q->kind, byte), then);
        if (may_skip) {
            arcp__glob_union_intersect(machine, then, skipped);
        }
        swap_sets(&now, &then);
    }
}

/* Step 4. */
static arcp_status search(const question *q, parent_side *p, const arcp__glob_states *child,
                          arcp__glob_answer *answer, arcp_buf *witness)
{
    bool used[256];
    for (size_t byte = 0; byte < sizeof used; byte++) {
        used[byte] = p->machine.literal[byte] != 0;
    }
    for (uint32_t i = 0; i < child->last; i++) {
        used[child->literals[i]] = true;
    }
    arcp__glob_alphabet alphabet;
    arcp__glob_alphabet_fill(&alphabet, q->kind, used);
    return arcp__glob_search(q->kind, child, &p->machine, &alphabet, q->work_max, answer, witness);
}

/* How many of the parents may meet the pattern; they are in q->near. */
static arcp_status find_near(question *q, arcp_span text, size_t *count)
{
    if (q->near == NULL) {
        q->near = arcp__alloc_array(q->parent_count, sizeof *q->near);
        if (q->near == NULL) {
            return ARCP_E_NO_MEMORY;
        }
    }
    *count = 0;
    for (size_t i = 0; i < q->parent_count; i++) {
        if (arcp__glob_may_meet(text, q->parents[i])) {
            q->near[(*count)++] = q->parents[i];
        }
    }
    q->work += q->parent_count;
    return ARCP_OK;
}

/* The parents that the pattern is compared with: all of them, or `few`, made of those that
 * may meet it. */
static arcp_status choose_parents(question *q, arcp_span text, parent_side *few,
                                  parent_side **chosen)
{
    *chosen = few;
    if (q->parent_count >= NEAR_AMONG_MIN) {
        size_t count = 0;
        const arcp_status status = find_near(q, text, &count);
        if (status != ARCP_OK || count <= q->parent_count / NEAR_PARTS) {
            return status == ARCP_OK ? side_init(few, q->near, count) : status;
        }
    }
    *chosen = &q->all;
    if (q->has_all) {
        return ARCP_OK;
    }
    q->has_all = true;
    return side_init(&q->all, q->parents, q->parent_count);
}

static arcp_status compare(question *q, arcp_span text, parent_side *p, arcp__glob_answer *answer,
                           arcp_buf *witness)
{
    unsigned char *room = arcp__alloc(ARCP__GLOB_ROOM(text.size));
    if (room == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    arcp_status status = ARCP_OK;
    arcp__glob_states child;
    arcp__glob_parse(text, room, &child);
    p->machine.work = q->work;
    if (is_within_by_symbols(q, p, &child)) {
        *answer = ARCP__GLOB_NONE;
    } else {
        status = search(q, p, &child, answer, witness);
    }
    q->work = p->machine.work;
    arcp__free(room);
    return status;
}

/* One pattern of the child. */
static arcp_status ask(question *q, arcp_span text, arcp__glob_answer *answer, arcp_buf *witness)
{
    *answer = ARCP__GLOB_TOO_COMPLEX;
    parent_side few = {.words = NULL};
    parent_side *chosen = NULL;
    arcp_status status = choose_parents(q, text, &few, &chosen);
    if (status == ARCP_OK) {
        status = compare(q, text, chosen, answer, witness);
    } else if (status == ARCP_E_LIMIT) {
        status = ARCP_OK;
    }
    side_fini(&few);
    return status;
}

static void question_init(question *q, arcp__target_kind kind, const arcp_span *parents,
                          size_t parent_count, size_t child_count)
{
    *q = (question){.kind = kind, .parents = parents, .parent_count = parent_count};
    uint64_t states = 0;
    for (size_t i = 0; i < parent_count; i++) {
        states += parents[i].size + 1;
    }
    q->work_max = WORK_MIN + WORK_TIMES * (uint64_t)child_count * (states / 64 + 1);
}

static void question_fini(question *q)
{
    side_fini(&q->all);
    arcp__free(q->near);
}

arcp_status arcp__glob_subset(arcp__capability capability, const arcp_span *child,
                              size_t child_count, const arcp_span *parent, size_t parent_count,
                              arcp__glob_verdict *verdict)
{
    assert(arcp__capability_is_glob(capability));
    question q;
    question_init(&q, arcp__capability_kind(capability), parent, parent_count, child_count);
    arcp_status status = ARCP_OK;
    arcp__glob_answer answer = ARCP__GLOB_NONE;
    size_t i = 0;
    for (; i < child_count; i++) {
        if (is_plainly_within(child[i], &q)) {
            continue;
        }
        status = ask(&q, child[i], &answer, &verdict->witness);
        if (status != ARCP_OK || answer != ARCP__GLOB_NONE) {
            break;
        }
    }
    question_fini(&q);
    verdict->is_subset = i == child_count;
    verdict->child_index = i;
    verdict->too_complex = status == ARCP_OK && answer == ARCP__GLOB_TOO_COMPLEX;
    return status;
}

arcp_status arcp__glob_is_dead(arcp__capability capability, arcp_span pattern, bool *is_dead,
                               arcp_buf *example)
{
    question q;
    question_init(&q, arcp__capability_kind(capability), NULL, 0, 1);
    arcp_buf target = ARCP_BUF_INIT;
    arcp__glob_answer answer = ARCP__GLOB_TOO_COMPLEX;
    const arcp_status status = ask(&q, pattern, &answer, &target);
    *is_dead = status == ARCP_OK && answer == ARCP__GLOB_NONE;
    if (example != NULL) {
        arcp_buf_append(example, arcp_buf_span(&target));
    }
    arcp_buf_fini(&target);
    question_fini(&q);
    return status;
}
