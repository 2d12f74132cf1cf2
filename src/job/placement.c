#include "job/placement.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"

/* ---- states ---- */

static void count(arcp__place_counts *jobs, arcp__place_state state, int change)
{
    size_t *counted = state == ARCP__PLACE_HELD   ? &jobs->held
                      : state == ARCP__PLACE_LENT ? &jobs->lent
                                                  : NULL;
    if (counted != NULL) {
        assert(change > 0 || *counted != 0);
        *counted = change > 0 ? *counted + 1 : *counted - 1;
    }
}

static void count_all(const arcp__place *place, int change)
{
    arcp__place_agent *agent = place->agent;
    count(&agent->jobs, place->state, change);
    if (agent->total != NULL) {
        count(&agent->total->jobs, place->state, change);
        agent->total->share->is_freed = agent->total->share->is_freed || change < 0;
    }
    if (place->offer != NULL) {
        count(&place->offer->jobs, place->state, change);
        count(&place->offer->worker->jobs, place->state, change);
    }
    if (place->state == ARCP__PLACE_WAITING) {
        agent->waiting = change > 0 ? agent->waiting + 1 : agent->waiting - 1;
    }
}

/* The only function that changes the state of a place; it keeps the counts. */
static void enter(arcp__place *place, arcp__place_state state, arcp__place_offer *offer)
{
    count_all(place, -1);
    place->state = state;
    place->offer = offer;
    count_all(place, +1);
}

static size_t all_of(const arcp__place_counts *jobs)
{
    return jobs->held + jobs->lent;
}

/* ---- agents ---- */

static bool is_offered(const arcp__place_agent *agent)
{
    return agent->offer != NULL || agent->offers != NULL;
}

static void mark_due(arcp__placement *placement, arcp__place_agent *agent)
{
    if (!agent->is_due && agent->waiting != 0 && is_offered(agent)) {
        agent->is_due = true;
        LL_PREPEND2(placement->due, agent, next_due);
    }
}

static void offer_free(arcp__place_offer *offer)
{
    DL_DELETE2(offer->agent->offers, offer, previous, next);
    DL_DELETE2(offer->worker->offers, offer, worker_previous, worker_next);
    arcp__free(offer);
}

static void agent_free(arcp__placement *placement, arcp__place_agent *agent)
{
    if (agent->is_due) {
        LL_DELETE2(placement->due, agent, next_due);
    }
    HASH_DEL(placement->agents, agent);
    arcp__place_total_leave(agent->total);
    for (size_t kind = 0; kind < ARCP__PLACE_KINDS; kind++) {
        while (agent->lines[kind] != NULL) {
            arcp__place_line *line = agent->lines[kind];
            DL_DELETE2(agent->lines[kind], line, previous, next);
            arcp__free(line);
        }
    }
    while (agent->offers != NULL) {
        offer_free(agent->offers);
    }
    arcp__free(agent);
}

static void free_if_unused(arcp__placement *placement, arcp__place_agent *agent)
{
    if (!is_offered(agent) && all_of(&agent->jobs) + agent->waiting == 0) {
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
    if (!arcp__place_total_join(placement->share, agent)) {
        arcp__free(agent);
        return NULL;
    }
    HASH_ADD_KEYPTR(hh, placement->agents, agent->text, size, agent);
    if (!ARCP__HASH_ADDED(agent)) {
        arcp__place_total_leave(agent->total);
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
        const bool is_gone = agent->offer == NULL && !agent->is_remote;
        for (size_t kind = 0; is_gone && kind < ARCP__PLACE_KINDS; kind++) {
            if (agent->lines[kind] != NULL) {
                return agent->lines[kind]->first;
            }
        }
    }
    return NULL;
}

void arcp__placement_recheck(arcp__placement *placement)
{
    for (arcp__place_agent *agent = placement->agents; agent != NULL; agent = agent->hh.next) {
        mark_due(placement, agent);
    }
}

/* ---- room ---- */

/* Lent places are for delegated jobs only. */
static size_t taken_of(const arcp__place_counts *jobs, arcp__place_kind kind)
{
    return kind == ARCP__PLACE_SUBMITTED ? all_of(jobs) : jobs->held;
}

static bool has_room(const arcp__place_agent *agent, arcp__place_kind kind)
{
    const arcp__place_counts *jobs = agent->total == NULL ? &agent->jobs : &agent->total->jobs;
    return agent->max_jobs == 0 || taken_of(jobs, kind) < agent->max_jobs;
}

bool arcp__place_offer_has_room(const arcp__place_offer *offer, arcp__place_kind kind)
{
    const arcp__place_worker *worker = offer->worker;
    return offer->owner != NULL && worker->is_open &&
           taken_of(&worker->jobs, kind) < worker->capacity &&
           all_of(&worker->jobs) < ARCP__PLACE_LENT_MAX * worker->capacity &&
           (offer->max_jobs == 0 || taken_of(&offer->jobs, kind) < offer->max_jobs);
}

/* Below 0: `one` is the better place. No two offers of an agent are equal. */
static int compare(const arcp__place_offer *one, const arcp__place_offer *other)
{
    const uint64_t places = one->worker->capacity == 0 ? 1 : one->worker->capacity;
    const uint64_t others = other->worker->capacity == 0 ? 1 : other->worker->capacity;
    const uint64_t left = (uint64_t)all_of(&one->worker->jobs) * others;
    const uint64_t right = (uint64_t)all_of(&other->worker->jobs) * places;
    if (left != right) {
        return left < right ? -1 : 1;
    }
    const int by_name = strcmp(one->worker->name, other->worker->name);
    return by_name != 0 ? by_name : (one > other) - (one < other);
}

arcp__place_offer *arcp__place_next_offer(const arcp__place_agent *agent, arcp__place_kind kind,
                                          bool with_room, const arcp__place_offer *after)
{
    arcp__place_offer *best = NULL;
    for (arcp__place_offer *offer = agent->offers; offer != NULL; offer = offer->next) {
        const bool is_meant =
            with_room ? arcp__place_offer_has_room(offer, kind) : offer->owner != NULL;
        if (is_meant && (after == NULL || compare(offer, after) > 0) &&
            (best == NULL || compare(offer, best) < 0)) {
            best = offer;
        }
    }
    return best;
}

bool arcp__place_is_free(const arcp__place_agent *agent, arcp__place_kind kind,
                         const arcp__place_offer *offer)
{
    const bool has_place = agent->offer != NULL
                               ? has_room(agent, kind)
                               : offer != NULL && arcp__place_offer_has_room(offer, kind);
    return has_place && agent->lines[ARCP__PLACE_DELEGATED] == NULL &&
           (kind == ARCP__PLACE_DELEGATED || agent->lines[ARCP__PLACE_SUBMITTED] == NULL);
}

/* ---- workers ---- */

arcp__place_offer *arcp__placement_offer_of(arcp__place_worker *worker, arcp__place_agent *agent)
{
    arcp__place_offer *offer = worker->offers;
    while (offer != NULL && offer->agent != agent) {
        offer = offer->worker_next;
    }
    if (offer == NULL && (offer = arcp__alloc(sizeof *offer)) != NULL) {
        offer->agent = agent;
        offer->worker = worker;
        DL_APPEND2(agent->offers, offer, previous, next);
        DL_APPEND2(worker->offers, offer, worker_previous, worker_next);
    }
    return offer;
}

static void free_offer_if_unused(arcp__placement *placement, arcp__place_offer *offer)
{
    arcp__place_agent *agent = offer->agent;
    if (offer->owner == NULL && all_of(&offer->jobs) == 0) {
        offer_free(offer);
        free_if_unused(placement, agent);
    }
}

void arcp__place_offer_set(arcp__placement *placement, arcp__place_offer *offer, void *owner,
                           size_t max_jobs)
{
    offer->owner = owner;
    offer->max_jobs = max_jobs;
    offer->agent->is_remote = offer->agent->is_remote || owner != NULL;
    mark_due(placement, offer->agent);
    free_offer_if_unused(placement, offer);
}

void arcp__place_worker_changed(arcp__placement *placement, const arcp__place_worker *worker)
{
    for (const arcp__place_offer *offer = worker->offers; offer != NULL;
         offer = offer->worker_next) {
        mark_due(placement, offer->agent);
    }
}

/* ---- lines ---- */

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
    enter(place, ARCP__PLACE_WAITING, NULL);
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

void arcp__place_take(arcp__placement *placement, arcp__place *place, arcp__place_agent *agent,
                      arcp__place_kind kind, arcp__place_offer *offer, void *owner)
{
    const uint64_t order = place->order == 0 ? placement->last + 1 : place->order;
    *place =
        (arcp__place){.kind = kind, .owner = owner, .agent = agent, .order = order, .turn = order};
    placement->last = order > placement->last ? order : placement->last;
    enter(place, ARCP__PLACE_HELD, offer);
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

/* A job is there no longer. `offer` may be NULL. */
static void left_worker(arcp__placement *placement, arcp__place_offer *offer)
{
    if (offer != NULL) {
        arcp__place_worker_changed(placement, offer->worker);
        free_offer_if_unused(placement, offer);
    }
}

void arcp__place_leave_worker(arcp__placement *placement, arcp__place *place)
{
    arcp__place_offer *offer = place->offer;
    enter(place, place->state, NULL);
    left_worker(placement, offer);
}

/* The line of a job has another first one, and comes before those with a later turn. */
static void move_line(arcp__place_agent *agent, arcp__place *place)
{
    arcp__place_line *line = place->line;
    DL_DELETE2(agent->lines[place->kind], line, previous, next);
    arcp__place_line *after = agent->lines[place->kind];
    while (after != NULL && after->first->turn < line->first->turn) {
        after = after->next;
    }
    DL_PREPEND_ELEM2(agent->lines[place->kind], after, line, previous, next);
}

arcp_status arcp__place_wait_again(arcp__placement *placement, arcp__place *place,
                                   const void *principal)
{
    arcp__place_agent *agent = place->agent;
    arcp__place_offer *offer = place->offer;
    enter(place, ARCP__PLACE_NONE, NULL);
    const arcp_status status = join(placement, place, agent, principal);
    if (status == ARCP_OK) {
        move_line(agent, place);
    }
    mark_due(placement, agent);
    left_worker(placement, offer);
    return status;
}

/* A waiting job that may be the next one. */
typedef struct candidate {
    arcp__place *place;
    arcp__place_offer *offer; /* NULL: it gets a place of its agent */
} candidate;

/* Whether `one` comes before `other`, whatever their agents are. */
static bool is_before(const arcp__place *one, const arcp__place *other)
{
    assert(one != NULL && other != NULL);
    return one->kind != other->kind ? one->kind < other->kind : one->turn < other->turn;
}

static arcp__place_offer *find_offer(const arcp__placement *placement, const arcp__place *place)
{
    arcp__place_offer *offer = arcp__place_next_offer(place->agent, place->kind, true, NULL);
    while (offer != NULL && placement->fits != NULL &&
           !placement->fits(placement->user, place->owner, offer)) {
        offer = arcp__place_next_offer(place->agent, place->kind, true, offer);
    }
    return offer;
}

/* The first waiting job of an agent for which there may be a place, behind `after` (NULL: of all).
 */
static arcp__place *first_of(const arcp__place_agent *agent, bool only_delegated,
                             const arcp__place *after)
{
    const size_t kinds = only_delegated ? ARCP__PLACE_SUBMITTED : ARCP__PLACE_KINDS;
    for (size_t kind = 0; kind < kinds; kind++) {
        const bool may_start =
            agent->offer != NULL
                ? has_room(agent, (arcp__place_kind)kind)
                : arcp__place_next_offer(agent, (arcp__place_kind)kind, true, NULL) != NULL;
        const arcp__place_line *line = may_start ? agent->lines[kind] : NULL;
        while (line != NULL && after != NULL && !is_before(after, line->first)) {
            line = line->next;
        }
        if (line != NULL) {
            return line->first;
        }
    }
    return NULL;
}

/* The next job of all agents that are due. `place` is NULL: there is none. */
static candidate choose(const arcp__placement *placement, bool only_delegated)
{
    for (const arcp__place *after = NULL;;) {
        candidate chosen = {NULL, NULL};
        for (const arcp__place_agent *agent = placement->due; agent != NULL;
             agent = agent->next_due) {
            arcp__place *place = first_of(agent, only_delegated, after);
            if (place != NULL && (chosen.place == NULL || is_before(place, chosen.place))) {
                chosen.place = place;
            }
        }
        if (chosen.place == NULL || chosen.place->agent->offer != NULL) {
            return chosen;
        }
        chosen.offer = find_offer(placement, chosen.place);
        if (chosen.offer != NULL) {
            return chosen;
        }
        after = chosen.place;
    }
}

arcp__place *arcp__placement_next(arcp__placement *placement, bool only_delegated,
                                  arcp__place **moved)
{
    *moved = NULL;
    if (placement->due == NULL) {
        return NULL;
    }
    const candidate chosen = choose(placement, only_delegated);
    if (chosen.place != NULL) {
        *moved = part(placement, chosen.place, true);
        enter(chosen.place, ARCP__PLACE_HELD, chosen.offer);
        return chosen.place;
    }
    while (placement->due != NULL) {
        placement->due->is_due = false;
        LL_DELETE2(placement->due, placement->due, next_due);
    }
    return NULL;
}

arcp__place *arcp__place_leave(arcp__placement *placement, arcp__place *place)
{
    arcp__place_agent *agent = place->agent;
    arcp__place_offer *offer = place->offer;
    arcp__place *moved = NULL;
    if (place->state == ARCP__PLACE_NONE) {
        return NULL;
    }
    if (place->state == ARCP__PLACE_WAITING) {
        moved = part(placement, place, false);
    }
    enter(place, ARCP__PLACE_NONE, NULL);
    place->agent = NULL;
    mark_due(placement, agent);
    if (offer != NULL) {
        left_worker(placement, offer);
    } else {
        free_if_unused(placement, agent);
    }
    return moved;
}

void arcp__place_lend(arcp__placement *placement, arcp__place *place)
{
    place->children++;
    if (place->state == ARCP__PLACE_HELD) {
        enter(place, ARCP__PLACE_LENT, place->offer);
        mark_due(placement, place->agent);
        if (place->offer != NULL) {
            arcp__place_worker_changed(placement, place->offer->worker);
        }
    }
}

void arcp__place_return(arcp__place *place)
{
    assert(place->children != 0);
    place->children--;
    if (place->state == ARCP__PLACE_LENT && place->children == 0) {
        enter(place, ARCP__PLACE_HELD, place->offer);
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
                                arcp__place_agent *agent, arcp__place_kind kind,
                                const void *principal, void *owner, uint64_t order)
{
    *place = (arcp__place){.kind = kind, .owner = owner, .order = order, .turn = order};
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
        for (size_t kind = 0; kind < ARCP__PLACE_KINDS; kind++) {
            DL_SORT2(agent->lines[kind], by_turn, previous, next);
        }
        mark_due(placement, agent);
    }
}
