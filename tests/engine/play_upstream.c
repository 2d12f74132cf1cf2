/* An upstream that issues credentials to the jobs of a play: it replies late, twice, wrongly or
 * never, and requests take effect after the runtime gave up on them. After every step both sides
 * agree: every valid credential is in the runtime's table, and the table's credential of each job
 * is valid upstream. */
#include "engine/play.h"

#include "support/check.h"

#include "credential/credential_state.h"
#include "engine/state.h"

#define ROTATE_SEC 300u

void play_upstream_begin(play *p)
{
    if (p->temper.provisions) {
        upstream_attach(&p->upstream, &p->rig);
        p->rig.settings.credentials_rotate_sec = play_one_in(p, 2) ? ROTATE_SEC : 0;
        /* As the gateways' keys. */
        p->upstream.terms.enforces = p->rig.settings.credentials_rotate_sec == 0
                                         ? 0
                                         : ARCP_ENFORCES_LEASE | ARCP_ENFORCES_EXPIRY;
    }
}

bool play_upstream_has_room(const play *p)
{
    const upstream *up = &p->upstream;
    return up->key_count + 64 < UPSTREAM_KEYS_MAX && up->alias_count + 512 < UPSTREAM_ALIASES_MAX &&
           up->call_count + 256 < UPSTREAM_CALLS_MAX;
}

/* When the wall clock jumps forward, the time in which a request may still arrive ends. */
static bool may_arrive_late(const play *p)
{
    return !p->temper.jumps;
}

void play_upstream_acts(play *p)
{
    static const upstream_mode issuing[] = {
        UPSTREAM_WELL,    UPSTREAM_WELL,        UPSTREAM_WELL,          UPSTREAM_WELL,
        UPSTREAM_FAILS,   UPSTREAM_STALLS,      UPSTREAM_LOSES_ANSWERS, UPSTREAM_HOLDS_ANSWERS,
        UPSTREAM_REFUSES, UPSTREAM_EMPTY_VALUE, UPSTREAM_TIMES_OUT};
    static const upstream_mode revoking[] = {
        UPSTREAM_WELL,          UPSTREAM_WELL,   UPSTREAM_WELL,         UPSTREAM_FAILS,
        UPSTREAM_LOSES_ANSWERS, UPSTREAM_STALLS, UPSTREAM_HOLDS_ANSWERS};
    /* The last one makes requests that arrive late. */
    const unsigned count = sizeof issuing / sizeof issuing[0] - (may_arrive_late(p) ? 0 : 1);
    p->upstream.issuing = issuing[play_pick(p, count)];
    p->upstream.revoking = revoking[play_pick(p, sizeof revoking / sizeof revoking[0])];
    if (play_one_in(p, 3)) {
        upstream_deliver_orphans(&p->upstream);
    }
    rig_run(&p->rig);
}

void play_upstream_before_clock(play *p, int64_t forward_ns)
{
    upstream_deliver_late_orphans(&p->upstream, p->rig.now.mono_ns + forward_ns);
}

void play_upstream_crash(play *p)
{
    upstream_orphan_calls(&p->upstream);
    const unsigned choice = play_pick(p, may_arrive_late(p) ? 3 : 2);
    if (choice == 0) {
        upstream_deliver_orphans(&p->upstream);
    } else if (choice == 1) {
        upstream_drop_orphans(&p->upstream);
    } else {
        upstream_deliver_late_orphans(&p->upstream, p->rig.now.mono_ns);
    }
}

static void check_is_named(const play *p, const upstream_key *key)
{
    if (key->is_live && arcp__credential_find(&p->rig.engine->credentials, key->alias) == NULL) {
        watch_fail(&p->watch, "alive upstream, and not in the table", key->alias);
    }
}

void play_upstream_look(play *p)
{
    const upstream *up = &p->upstream;
    for (size_t i = 0; i < up->key_count; i++) {
        check_is_named(p, &up->keys[i]);
    }
    for (const arcp__credential *credential = p->rig.engine->credentials.all; credential != NULL;
         credential = credential->hh.next) {
        const upstream_key *key = upstream_find(up, credential->alias);
        if (credential->state == ARCP__CREDENTIAL_LIVE && credential->slot != NULL &&
            (key == NULL || !key->is_live)) {
            watch_fail(&p->watch, "the job's credential is dead upstream", credential->alias);
        }
    }
}

void play_upstream_calms(play *p)
{
    p->upstream.issuing = UPSTREAM_WELL;
    p->upstream.revoking = UPSTREAM_WELL;
    upstream_deliver_orphans(&p->upstream);
}

void play_upstream_settle(play *p)
{
    arcp__engine_stats stats;
    arcp__engine_get_stats(p->rig.engine, &stats);
    upstream_check_all_revoked(&p->upstream, p->watch.label);
    /* When the wall clock was set back, a credential that may never have been issued stays in the
     * table longer. */
    if (stats.credentials_outstanding != 0 && !p->temper.jumps) {
        watch_fail(&p->watch, "the table of credentials is not empty", "");
    }
}
