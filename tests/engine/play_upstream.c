/* An upstream that issues credentials to the jobs of a play: it replies late, twice, wrongly or
 * never, and requests take effect after the runtime gave up on them. After every step both sides
 * agree: every valid credential is in the runtime's table, and the table's credential of each job
 * is valid upstream. */
#include "engine/play.h"

#include "support/check.h"

#include "credential/credential_state.h"
#include "engine/state.h"

#define ROTATE_SEC 300u

void play_upstream_begin(play *self)
{
    if (self->temper.provisions) {
        upstream_attach(&self->upstream, &self->rig);
        self->rig.settings.credentials_rotate_sec = play_one_in(self, 2) ? ROTATE_SEC : 0;
    }
}

bool play_upstream_has_room(const play *self)
{
    const upstream *up = &self->upstream;
    return up->key_count + 64 < UPSTREAM_KEYS_MAX && up->alias_count + 512 < UPSTREAM_ALIASES_MAX &&
           up->call_count + 256 < UPSTREAM_CALLS_MAX;
}

/* When the wall clock jumps forward, the time in which a request may still arrive ends. */
static bool may_arrive_late(const play *self)
{
    return !self->temper.jumps;
}

void play_upstream_acts(play *self)
{
    static const upstream_mood issuing[] = {
        UPSTREAM_WELL,    UPSTREAM_WELL,        UPSTREAM_WELL,          UPSTREAM_WELL,
        UPSTREAM_FAILS,   UPSTREAM_STALLS,      UPSTREAM_LOSES_ANSWERS, UPSTREAM_HOLDS_ANSWERS,
        UPSTREAM_REFUSES, UPSTREAM_EMPTY_VALUE, UPSTREAM_TIMES_OUT};
    static const upstream_mood revoking[] = {
        UPSTREAM_WELL,          UPSTREAM_WELL,   UPSTREAM_WELL,         UPSTREAM_FAILS,
        UPSTREAM_LOSES_ANSWERS, UPSTREAM_STALLS, UPSTREAM_HOLDS_ANSWERS};
    /* The last one makes requests that arrive late. */
    unsigned count = sizeof issuing / sizeof issuing[0] - (may_arrive_late(self) ? 0 : 1);
    self->upstream.issuing = issuing[play_pick(self, count)];
    self->upstream.revoking = revoking[play_pick(self, sizeof revoking / sizeof revoking[0])];
    if (play_one_in(self, 3)) {
        upstream_deliver_orphans(&self->upstream);
    }
    rig_run(&self->rig);
}

void play_upstream_before_clock(play *self, int64_t forward_ns)
{
    upstream_deliver_late_orphans(&self->upstream, self->rig.now.mono_ns + forward_ns);
}

void play_upstream_crash(play *self)
{
    upstream_orphan_calls(&self->upstream);
    unsigned choice = play_pick(self, may_arrive_late(self) ? 3 : 2);
    if (choice == 0) {
        upstream_deliver_orphans(&self->upstream);
    } else if (choice == 1) {
        upstream_drop_orphans(&self->upstream);
    } else {
        upstream_deliver_late_orphans(&self->upstream, self->rig.now.mono_ns);
    }
}

static void check_is_named(const play *self, const upstream_key *key)
{
    if (key->is_live && arcp__credential_find(&self->rig.engine->credentials, key->alias) == NULL) {
        watch_fail(&self->watch, "alive upstream, and not in the table", key->alias);
    }
}

void play_upstream_look(play *self)
{
    const upstream *up = &self->upstream;
    for (size_t i = 0; i < up->key_count; i++) {
        check_is_named(self, &up->keys[i]);
    }
    for (const arcp__credential *credential = self->rig.engine->credentials.all; credential != NULL;
         credential = credential->hh.next) {
        const upstream_key *key = upstream_find(up, credential->alias);
        if (credential->state == ARCP__CREDENTIAL_LIVE && credential->slot != NULL &&
            (key == NULL || !key->is_live)) {
            watch_fail(&self->watch, "the job's credential is dead upstream", credential->alias);
        }
    }
}

void play_upstream_calms(play *self)
{
    self->upstream.issuing = UPSTREAM_WELL;
    self->upstream.revoking = UPSTREAM_WELL;
    upstream_deliver_orphans(&self->upstream);
}

void play_upstream_settle(play *self)
{
    arcp__engine_stats stats;
    arcp__engine_get_stats(self->rig.engine, &stats);
    upstream_check_all_revoked(&self->upstream, self->watch.label);
    /* When the wall clock was set back, a credential that may never have been issued stays in the
     * table longer. */
    if (stats.credentials_outstanding != 0 && !self->temper.jumps) {
        watch_fail(&self->watch, "the table of credentials is not empty", "");
    }
}
