#include "job/placement.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"

/* ---- states ---- */

/* The only function that changes the state of a place; it keeps the agent's counts. */
static void enter(arcp__place *place, arcp__place_state state)
{
    size_t none = 0;
    arcp__place_agent *agent = place->agent;
    size_t *const counts[] = {[ARCP__PLACE_NONE] = &none,
                              [ARCP__PLACE_WAITING] = &agent->waiting,
                              [ARCP__PLACE_HELD] = &agent->held,
                              [ARCP__PLACE_LENT] = &agent->lent};
    assert(place->state == ARCP__PLACE_NONE || *counts[place->state] != 0);
    *counts[place->state] -= 1;
    place->state = state;
    *counts[state] += 1;
}

/* ---- agents ---- */

static void mark_due(arcp__placement *placement, arcp__place_agent *agent)
{
    if (!agent->is_due && agent->waiting != 0 && agent->offer != NULL) {
        agent->is_due = true;
        LL_PREPEND2(placement->due, agent, next_due);
    }
}

static void agent_free(arcp__placement *placement, arcp__place_agent *agent)
{
    if (agent->is_due) {
        LL_DELETE2(placement->due, agent, next_due);
    }
    HASH_DEL(placement->agents, agent);
    for (size_t kind = 0; kind < ARCP__PLACE_KINDS; kind++) {
        while (agent->lines[kind] != NULL) {
            arcp__place_line *line = agent->lines[kind];
            DL_DELETE2(agent->lines[kind], line, previous, next);
            arcp__free(line);
        }
    }
    arcp__free(agent);
}

static void free_if_unused(arcp__placement *placement, arcp__place_agent *agent)
{
    if (agent->offer == NULL && agent->held + agent->lent + agent->waiting == 0) {
        agent_free(placement, agent);
    }
}

void arcp__placement_fini(arcp__placement *placement)
{
    while (placement->agents != NULL) {
        agent_free(placement, placement->agents);
    }
}

arcp__place_agent *arcp__placement_agent(arcp__placement *placement, const char *text)
{
    arcp__place_agent *agent = NULL;
    const size_t size = strlen(text);
    HASH_FIND(hh, placement->agents, text, size, agent);
    if (agent != NULL) {
        return agent;
    }
    agent = arcp__alloc(sizeof *agent + size + 1);
    if (agent == NULL) {
        return NULL;
    }
    memcpy(agent->text, text, size + 1);
    HASH_ADD_KEYPTR(hh, placement->agents, agent->text, size, agent);
    if (!ARCP__HASH_ADDED(agent)) {
        arcp__free(agent);
        return NULL;
    }
    return agent;
}

void arcp__placement_offer(arcp__placement *placement, arcp__place_agent *agent, void *offer,
                           size_t max_jobs, bool refuses)
{
    agent->offer = offer;
    agent->max_jobs = max_jobs;
    agent->refuses = refuses;
    mark_due(placement, agent);
}

void arcp__placement_withdraw(arcp__placement *placement)
{
    for (arcp__place_agent *agent = placement->agents, *next = NULL; agent != NULL; agent = next) {
        next = agent->hh.next;
        agent->offer = NULL;
        free_if_unused(placement, agent);
    }
}

arcp__place *arcp__placement_gone(const arcp__placement *placement)
{
    for (const arcp__place_agent *agent = placement->agents; agent != NULL;
         agent = agent->hh.next) {
        for (size_t kind = 0; agent->offer == NULL && kind < ARCP__PLACE_KINDS; kind++) {
            if (agent->lines[kind] != NULL) {
                return agent->lines[kind]->first;
            }
        }
    }
    return NULL;
}

/* ---- lines ---- */

static bool has_room(const arcp__place_agent *agent, arcp__place_kind kind)
{
    const size_t taken = agent->held + (kind == ARCP__PLACE_SUBMITTED ? agent->lent : 0);
    return agent->offer != NULL && (agent->max_jobs == 0 || taken < agent->max_jobs);
}

bool arcp__place_is_free(const arcp__place_agent *agent, arcp__place_kind kind)
{
    return has_room(agent, kind) && agent->lines[ARCP__PLACE_DELEGATED] == NULL &&
           (kind == ARCP__PLACE_DELEGATED || agent->lines[ARCP__PLACE_SUBMITTED] == NULL);
}

static arcp__place_line *line_of(arcp__place_agent *agent, arcp__place_kind kind,
                                 const void *principal)
{
    arcp__place_line *line = agent->lines[kind];
    while (line != NULL && line->principal != principal) {
        line = line->next;
    }
    if (line == NULL && (line = arcp__alloc(sizeof *line)) != NULL) {
        line->principal = principal;
        DL_APPEND2(agent->lines[kind], line, previous, next);
    }
    return line;
}

static arcp_status join(arcp__placement *placement, arcp__place *place, arcp__place_agent *agent,
                        const void *principal)
{
    arcp__place_line *line = line_of(agent, place->kind, principal);
    if (line == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    /* Behind all that began to wait before it: only a restart adds one in front of another. */
    arcp__place *before = line->first == NULL ? NULL : line->first->previous;
    while (before != NULL && before->order > place->order) {
        before = before == line->first ? NULL : before->previous;
    }
    DL_APPEND_ELEM2(line->first, before, place, previous, next);
    line->count++;
    place->line = line;
    place->agent = agent;
    placement->waiting[place->kind]++;
    enter(place, ARCP__PLACE_WAITING);
    return ARCP_OK;
}

/* Takes a job out of its line. The next one of its principal gets `turn`, or else the line's. */
static arcp__place *part(arcp__placement *placement, arcp__place *place, bool is_served)
{
    arcp__place_agent *agent = place->agent;
    arcp__place_line *line = place->line;
    const bool was_first = place == line->first;
    placement->waiting[place->kind]--;
    DL_DELETE2(line->first, place, previous, next);
    line->count--;
    place->line = NULL;
    arcp__place *follower = line->first;
    if (follower == NULL) {
        DL_DELETE2(agent->lines[place->kind], line, previous, next);
        arcp__free(line);
        return NULL;
    }
    if (!was_first) {
        return NULL;
    }
    if (is_served) {
        DL_DELETE2(agent->lines[place->kind], line, previous, next);
        DL_APPEND2(agent->lines[place->kind], line, previous, next);
    }
    follower->turn = is_served ? ++placement->last : place->turn;
    return follower;
}

/* ---- jobs ---- */

void arcp__place_take(arcp__place *place, arcp__place_agent *agent, arcp__place_kind kind,
                      void *owner)
{
    *place = (arcp__place){.kind = kind, .owner = owner, .agent = agent};
    enter(place, ARCP__PLACE_HELD);
}

arcp_status arcp__place_wait(arcp__placement *placement, arcp__place *place,
                             arcp__place_agent *agent, arcp__place_kind kind, const void *principal,
                             void *owner)
{
    *place = (arcp__place){.kind = kind, .owner = owner, .order = ++placement->last};
    place->turn = place->order;
    const arcp_status status = join(placement, place, agent, principal);
    mark_due(placement, agent);
    return status;
}

arcp__place *arcp__placement_next(arcp__placement *placement, bool only_delegated,
                                  arcp__place **moved)
{
    *moved = NULL;
    while (placement->due != NULL) {
        arcp__place_agent *agent = placement->due;
        for (size_t kind = 0; kind < ARCP__PLACE_KINDS; kind++) {
            const bool is_open = kind == ARCP__PLACE_DELEGATED || !only_delegated;
            if (is_open && agent->lines[kind] != NULL && has_room(agent, (arcp__place_kind)kind)) {
                arcp__place *place = agent->lines[kind]->first;
                *moved = part(placement, place, true);
                enter(place, ARCP__PLACE_HELD);
                return place;
            }
        }
        agent->is_due = false;
        LL_DELETE2(placement->due, agent, next_due);
    }
    return NULL;
}

arcp__place *arcp__place_leave(arcp__placement *placement, arcp__place *place)
{
    arcp__place_agent *agent = place->agent;
    arcp__place *moved = NULL;
    if (place->state == ARCP__PLACE_NONE) {
        return NULL;
    }
    if (place->state == ARCP__PLACE_WAITING) {
        moved = part(placement, place, false);
    }
    enter(place, ARCP__PLACE_NONE);
    place->agent = NULL;
    mark_due(placement, agent);
    free_if_unused(placement, agent);
    return moved;
}

void arcp__place_lend(arcp__placement *placement, arcp__place *place)
{
    place->children++;
    if (place->state == ARCP__PLACE_HELD) {
        enter(place, ARCP__PLACE_LENT);
        mark_due(placement, place->agent);
    }
}

void arcp__place_return(arcp__place *place)
{
    assert(place->children != 0);
    place->children--;
    if (place->state == ARCP__PLACE_LENT && place->children == 0) {
        enter(place, ARCP__PLACE_HELD);
    }
}

/* In each round every line starts one job; those before the job's own line start one more than
 * those behind it. */
size_t arcp__place_number(const arcp__place *place)
{
    size_t number = 1;
    size_t rounds = 0; /* before the one in which it starts */
    bool is_before = true;
    if (place->state != ARCP__PLACE_WAITING) {
        return 0;
    }
    if (place->kind == ARCP__PLACE_SUBMITTED) {
        const arcp__place_line *first = place->agent->lines[ARCP__PLACE_DELEGATED];
        for (const arcp__place_line *line = first; line != NULL; line = line->next) {
            number += line->count;
        }
    }
    for (const arcp__place *other = place->line->first; other != place; other = other->next) {
        rounds++;
    }
    for (const arcp__place_line *line = place->agent->lines[place->kind]; line != NULL;
         line = line->next) {
        is_before = is_before && line != place->line;
        const size_t started = rounds + (is_before ? 1 : 0);
        number += line->count < started ? line->count : started;
    }
    return number;
}

/* ---- restart ---- */

arcp_status arcp__place_restore(arcp__placement *placement, arcp__place *place,
                                arcp__place_agent *agent, const void *principal, void *owner,
                                uint64_t order)
{
    *place =
        (arcp__place){.kind = ARCP__PLACE_SUBMITTED, .owner = owner, .order = order, .turn = order};
    placement->last = order > placement->last ? order : placement->last;
    return join(placement, place, agent, principal);
}

void arcp__place_set_turn(arcp__placement *placement, arcp__place *place, uint64_t turn)
{
    place->turn = turn;
    placement->last = turn > placement->last ? turn : placement->last;
}

static int by_turn(const arcp__place_line *one, const arcp__place_line *other)
{
    return (one->first->turn > other->first->turn) - (one->first->turn < other->first->turn);
}

void arcp__placement_restored(arcp__placement *placement)
{
    for (arcp__place_agent *agent = placement->agents; agent != NULL; agent = agent->hh.next) {
        DL_SORT2(agent->lines[ARCP__PLACE_SUBMITTED], by_turn, previous, next);
        mark_due(placement, agent);
    }
}
