/* Cheapest first: what the texts show, then one pass with symbols, then the search. */
#include "core/glob_subset.h"

#include <assert.h>

#include "base/alloc.h"
#include "core/glob_search.h"

/* How many words of states one question may look at: about ten nanoseconds each. So many in any
 * case, and so many times all of the parents' for each pattern of the child. */
#define WORK_MIN   (UINT64_C(1) << 23)
#define WORK_TIMES 4

/* One question: what is made for all patterns of the child. */
typedef struct question {
    arcp__target_kind kind;
    const arcp_span *parents;
    size_t parent_count;
    size_t child_count;
    bool is_ready;
    uint64_t work_max;
    arcp__glob_union machine;
    arcp__glob_states_set sets[3]; /* scratch for the symbolic pass; one allocation */
    arcp__glob_word *words;
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

/* Steps 2 to 4 need the parents as a machine. */
static arcp_status make_ready(question *q)
{
    if (q->is_ready) {
        return ARCP_OK;
    }
    arcp_status status = arcp__glob_union_init(&q->machine, q->parents, q->parent_count);
    if (status != ARCP_OK) {
        return status;
    }
    const size_t words = q->machine.words;
    q->words = arcp__alloc_array(3 * words, sizeof *q->words);
    if (q->words == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    for (size_t i = 0; i < 3; i++) {
        q->sets[i].words = q->words + i * words;
    }
    q->work_max = WORK_MIN + WORK_TIMES * (uint64_t)q->child_count * words;
    q->is_ready = true;
    return ARCP_OK;
}

static void swap_sets(arcp__glob_states_set **a, arcp__glob_states_set **b)
{
    arcp__glob_states_set *swapped = *a;
    *a = *b;
    *b = swapped;
}

/* Leaves the states whose loop takes all that the child's loop at `state` takes. */
static void pass_loop(question *q, const arcp__glob_states *child, uint32_t state,
                      arcp__glob_states_set *set)
{
    arcp__glob_union *machine = &q->machine;
    const bool is_any = (child->loops[state] & ARCP__GLOB_LOOP_ANY) != 0;
    arcp__glob_union_filter(machine, set,
                            machine->keep[is_any ? ARCP__GLOB_SEPARATOR : ARCP__GLOB_ORDINARY]);
    if (q->kind == ARCP__TARGET_URL && state == child->last) {
        arcp__glob_union_filter(machine, set, machine->keep[ARCP__GLOB_QUERY]);
    }
}

/* Steps 2 and 3: the child's pattern read as a string, a wildcard as a symbol that only
 * loops take. A state that is reached is reached by every string of the child's; "no" is
 * no answer. Parents whose literals clash with the child's drop out on the way. */
static bool is_within_by_symbols(question *q, const arcp__glob_states *child)
{
    arcp__glob_union *machine = &q->machine;
    arcp__glob_states_set *now = &q->sets[0];
    arcp__glob_states_set *then = &q->sets[1];
    arcp__glob_states_set *skipped = &q->sets[2];
    arcp__glob_union_start(machine, now);
    for (uint32_t state = 0;; state++) {
        const bool may_skip = (child->loops[state] & ARCP__GLOB_LOOP_SKIP) != 0;
        if (may_skip) {
            memcpy(skipped->words, now->words, now->count * sizeof *now->words);
            skipped->count = now->count;
        }
        if (child->loops[state] != ARCP__GLOB_LOOP_NONE) {
            pass_loop(q, child, state, now);
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
static arcp_status search(question *q, const arcp__glob_states *child, arcp__glob_answer *answer,
                          arcp_buf *witness)
{
    bool used[256];
    for (size_t byte = 0; byte < sizeof used; byte++) {
        used[byte] = q->machine.literal[byte] != 0;
    }
    for (uint32_t i = 0; i < child->last; i++) {
        used[child->literals[i]] = true;
    }
    arcp__glob_alphabet alphabet;
    arcp__glob_alphabet_fill(&alphabet, q->kind, used);
    return arcp__glob_search(q->kind, child, &q->machine, &alphabet, q->work_max, answer, witness);
}

/* One pattern of the child. */
static arcp_status ask(question *q, arcp_span text, arcp__glob_answer *answer, arcp_buf *witness)
{
    *answer = ARCP__GLOB_TOO_COMPLEX;
    arcp_status status = make_ready(q);
    if (status != ARCP_OK) {
        return status == ARCP_E_LIMIT ? ARCP_OK : status;
    }
    unsigned char *room = arcp__alloc(ARCP__GLOB_ROOM(text.size));
    if (room == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    arcp__glob_states child;
    arcp__glob_parse(text, room, &child);
    if (is_within_by_symbols(q, &child)) {
        *answer = ARCP__GLOB_NONE;
    } else {
        status = search(q, &child, answer, witness);
    }
    arcp__free(room);
    return status;
}

static void question_fini(question *q)
{
    arcp__glob_union_fini(&q->machine);
    arcp__free(q->words);
}

arcp_status arcp__glob_subset(arcp__capability capability, const arcp_span *child,
                              size_t child_count, const arcp_span *parent, size_t parent_count,
                              arcp__glob_verdict *verdict)
{
    assert(arcp__capability_is_glob(capability));
    question q = {
        .kind = arcp__capability_kind(capability), .parents = parent, .parent_count = parent_count};
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
    question q = {.kind = arcp__capability_kind(capability)};
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
