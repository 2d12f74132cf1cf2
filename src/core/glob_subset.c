/* The cheapest checks come first: comparing texts, then one symbolic pass, then the search. */
#include "core/glob_subset.h"

#include <assert.h>

#include "base/alloc.h"
#include "core/glob_search.h"
#include "core/target_shape.h"

/* The most steps that one question may take; a step is mostly the check of one word of states and
 * takes some nanoseconds. WORK_MIN in any case, plus WORK_TIMES all of the parents' words for each
 * pattern of the child. */
#define WORK_MIN   (UINT64_C(1) << 23)
#define WORK_TIMES 4

/* With fewer than NEAR_AMONG_MIN parents all are used. With more, a machine is made of those that
 * may meet a pattern of the child if these are at most one in NEAR_PARTS; else one machine of all
 * parents serves all patterns of the child. */
#define NEAR_AMONG_MIN 16
#define NEAR_PARTS     4

/* The cost of other work, in steps. */
enum {
    ROW_WORDS = 4,      /* words of a machine that are written per step when it is made */
    COMPARE_STEPS = 16, /* overhead of comparing one pattern with a machine */
    SEARCH_STEPS = 64,  /* overhead of a search */
};

/* Some of the parents as a machine. */
typedef struct parent_side {
    arcp__glob_union machine;
    arcp__glob_states_set sets[3]; /* scratch for the symbolic pass; one allocation */
    arcp__glob_word *words;
} parent_side;

/* The state of one question, for all patterns of the child. */
typedef struct question {
    const arcp__glob_question *given;
    arcp__target_kind kind;
    arcp_span *near;  /* scratch for some of the parents; made on demand, with `bases` */
    arcp_span *bases; /* the parents' literal prefixes; after `near` */
    parent_side all;
    bool has_all;
    uint64_t work; /* steps taken so far */
    uint64_t work_max;
} question;

/* Step 1: comparing texts. */

/* Whether the parent is literal bytes and `**`, and all strings of the child begin with these
 * bytes. The '/' of a tail may be missing from a string, but then it is the last byte on both
 * sides, and the parent has a tail, too. */
static bool covers_prefix(arcp_span child_base, arcp_span parent)
{
    if (parent.data[parent.size - 1] != '*') {
        return false;
    }
    const arcp_span base = arcp__glob_literal_prefix(parent);
    size_t stars = 0;
    while (base.size + stars < parent.size && parent.data[base.size + stars] == '*') {
        stars++;
    }
    return stars >= 2 && base.size + stars == parent.size &&
           arcp_span_starts_with(child_base, base);
}

static bool is_plainly_within(question *q, arcp_span child)
{
    const arcp_span *parents = q->given->parent;
    const size_t count = q->given->parent_count;
    const arcp_span base = arcp__glob_literal_prefix(child);
    size_t i = 0;
    while (i < count && !arcp_span_equal(child, parents[i]) && !covers_prefix(base, parents[i])) {
        i++;
    }
    q->work += arcp__lease_work_pairs(child, i);
    return i < count;
}

/* Makes a machine of parents for steps 2 to 4. */
static arcp_status side_init(question *q, parent_side *p, const arcp_span *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        q->work += patterns[i].size;
    }
    if (q->work > q->work_max) {
        return ARCP_E_LIMIT;
    }
    const arcp_status status = arcp__glob_union_init(&p->machine, patterns, count);
    if (status != ARCP_OK) {
        return status;
    }
    q->work += (uint64_t)p->machine.words * p->machine.row_count / ROW_WORDS;
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

/* Steps 2 and 3: the child's pattern is read as a string in which each wildcard is a symbol that
 * only loops take. A state that is reached is reached by every string of the child, so true is
 * proof; false is undecided. Parents whose literals differ from the child's drop out on the way. */
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
            /* Keep the states whose loop takes all that this one takes. */
            const bool is_any = (child->loops[state] & ARCP__GLOB_LOOP_ANY) != 0;
            arcp__glob_union_filter(
                machine, now, machine->keep[is_any ? ARCP__GLOB_SEPARATOR : ARCP__GLOB_ORDINARY]);
            if (q->kind == ARCP__TARGET_URL && state == child->last) {
                arcp__glob_union_filter(machine, now, machine->keep[ARCP__GLOB_QUERY]);
            }
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

/* Before step 4, when no witness is wanted: tries one string of the child, in which each wildcard
 * is one byte that all kinds of targets may have. True when it is a target that no parent matches;
 * false is undecided. */
static bool sample_is_outside(const question *q, parent_side *p, const arcp__glob_states *child)
{
    static const unsigned char fill = '1';
    arcp__glob_union *machine = &p->machine;
    arcp__glob_states_set *now = &p->sets[0];
    arcp__glob_states_set *then = &p->sets[1];
    arcp__shape shape = ARCP__SHAPE_START;
    arcp__glob_union_start(machine, now);
    for (uint32_t i = 0; i <= 2 * child->last && shape != ARCP__SHAPE_DEAD; i++) {
        const uint32_t state = i / 2;
        const bool is_literal = i % 2 == 1;
        if (!is_literal && child->loops[state] == ARCP__GLOB_LOOP_NONE) {
            continue;
        }
        const unsigned char byte = is_literal ? child->literals[state] : fill;
        shape = arcp__shape_step(q->kind, shape, byte);
        machine->work++;
        arcp__glob_union_step(machine, now, byte, arcp__glob_class_of(q->kind, byte), then);
        swap_sets(&now, &then);
    }
    return shape != ARCP__SHAPE_DEAD && arcp__shape_is_target(q->kind, shape) &&
           !arcp__glob_union_meets(machine, now, machine->accept);
}

/* Chooses the parents to compare the pattern with: all of them, or `few`, made of those that may
 * meet it. */
static arcp_status choose_parents(question *q, arcp_span text, parent_side *few,
                                  parent_side **chosen)
{
    const arcp_span *parents = q->given->parent;
    const size_t parent_count = q->given->parent_count;
    *chosen = few;
    if (parent_count >= NEAR_AMONG_MIN) {
        if (q->near == NULL) {
            q->near = arcp__alloc_array(parent_count, 2 * sizeof *q->near);
            if (q->near == NULL) {
                return ARCP_E_NO_MEMORY;
            }
            q->bases = q->near + parent_count;
            for (size_t i = 0; i < parent_count; i++) {
                q->bases[i] = arcp__glob_literal_prefix(parents[i]);
            }
        }
        const arcp_span base = arcp__glob_literal_prefix(text);
        size_t count = 0;
        for (size_t i = 0; i < parent_count; i++) {
            if (arcp__glob_bases_meet(base, q->bases[i])) {
                q->near[count++] = parents[i];
            }
        }
        q->work += arcp__lease_work_pairs(text, parent_count);
        if (count <= parent_count / NEAR_PARTS) {
            return side_init(q, few, q->near, count);
        }
    }
    *chosen = &q->all;
    if (q->has_all) {
        return ARCP_OK;
    }
    q->has_all = true;
    return side_init(q, &q->all, parents, parent_count);
}

/* Decides one pattern of the child. */
static arcp_status decide(question *q, arcp_span text, arcp__glob_answer *answer, arcp_buf *witness)
{
    *answer = ARCP__GLOB_TOO_COMPLEX;
    parent_side few = {.words = NULL};
    parent_side *p = NULL;
    arcp_status status = choose_parents(q, text, &few, &p);
    unsigned char *room = status == ARCP_OK ? arcp__alloc(ARCP__GLOB_ROOM(text.size)) : NULL;
    if (room != NULL) {
        arcp__glob_states child;
        arcp__glob_parse(text, room, &child);
        p->machine.work = q->work + COMPARE_STEPS + text.size / 4;
        if (is_within_by_symbols(q, p, &child)) {
            *answer = ARCP__GLOB_NONE;
        } else if (q->given->skips_witness && sample_is_outside(q, p, &child)) {
            *answer = ARCP__GLOB_FOUND;
        } else {
            p->machine.work += SEARCH_STEPS; /* step 4 */
            status = arcp__glob_search(q->kind, &child, &p->machine, q->work_max, answer, witness);
        }
        q->work = p->machine.work;
    } else if (status == ARCP_OK) {
        status = ARCP_E_NO_MEMORY;
    }
    arcp__free(room);
    side_fini(&few);
    return status == ARCP_E_LIMIT ? ARCP_OK
                                  : status; /* a machine that is too large counts as too complex */
}

static void question_init(question *q, const arcp__glob_question *given,
                          const arcp__lease_work *work)
{
    *q = (question){.given = given, .kind = arcp__capability_kind(given->capability)};
    uint64_t states = 0;
    for (size_t i = 0; i < given->parent_count; i++) {
        states += given->parent[i].size + 1;
    }
    q->work_max = WORK_MIN + WORK_TIMES * (uint64_t)given->child_count * (states / 64 + 1);
    if (work != NULL && work->left < q->work_max) {
        q->work_max = work->left;
    }
}

/* Frees the question and takes its steps from `work`. */
static arcp_status question_end(question *q, arcp_status status, arcp__lease_work *work)
{
    side_fini(&q->all);
    arcp__free(q->near);
    return status == ARCP_OK && !arcp__lease_work_take(work, q->work) ? ARCP_E_LIMIT : status;
}

arcp_status arcp__glob_ask(const arcp__glob_question *asked, arcp__lease_work *work,
                           arcp__glob_verdict *verdict)
{
    assert(arcp__capability_is_glob(asked->capability));
    question q;
    question_init(&q, asked, work);
    arcp_status status = ARCP_OK;
    arcp__glob_answer answer = ARCP__GLOB_NONE;
    size_t i = 0;
    for (; i < asked->child_count && status == ARCP_OK && answer == ARCP__GLOB_NONE; i++) {
        if (q.work > q.work_max) {
            answer = ARCP__GLOB_TOO_COMPLEX;
        } else if (!is_plainly_within(&q, asked->child[i])) {
            status = decide(&q, asked->child[i], &answer, &verdict->witness);
        }
    }
    status = question_end(&q, status, work);
    verdict->is_subset = status == ARCP_OK && answer == ARCP__GLOB_NONE;
    verdict->child_index = verdict->is_subset ? i : i - 1;
    verdict->too_complex = status == ARCP_OK && answer == ARCP__GLOB_TOO_COMPLEX;
    return status;
}

arcp_status arcp__glob_is_within(arcp__capability capability, arcp_span pattern,
                                 const arcp_span *parents, size_t count, arcp__lease_work *work,
                                 bool *is_within)
{
    const arcp__glob_question asked = {.capability = capability,
                                       .child = &pattern,
                                       .child_count = 1,
                                       .parent = parents,
                                       .parent_count = count,
                                       .skips_witness = true};
    arcp__glob_verdict verdict = {0};
    const arcp_status status = arcp__glob_ask(&asked, work, &verdict);
    *is_within = verdict.is_subset;
    arcp_buf_fini(&verdict.witness);
    return status;
}

arcp_status arcp__glob_is_dead(arcp__capability capability, arcp_span pattern,
                               arcp__lease_work *work, bool *is_dead, arcp_buf *example)
{
    const arcp__glob_question asked = {.capability = capability,
                                       .child = &pattern,
                                       .child_count = 1,
                                       .skips_witness = example == NULL};
    question q;
    question_init(&q, &asked, work);
    arcp_buf target = arcp_buf_init();
    arcp__glob_answer answer = ARCP__GLOB_TOO_COMPLEX;
    arcp_status status = decide(&q, pattern, &answer, &target);
    status = question_end(&q, status, work);
    *is_dead = status == ARCP_OK && answer == ARCP__GLOB_NONE;
    if (example != NULL && status == ARCP_OK) {
        arcp_buf_append(example, arcp_buf_span(&target));
    }
    arcp_buf_fini(&target);
    return status;
}
