#include "engine/play.h"

#include "support/check.h"

unsigned play_pick(play *p, unsigned below)
{
    if (p->data == NULL) {
        p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned)(p->random >> 33) % below;
    }
    return p->at < p->size ? p->data[p->at++] % below : 0;
}

bool play_one_in(play *p, unsigned count)
{
    return play_pick(p, count) == 0;
}

void play_trace(const play *p, const char *what, const char *text)
{
    if (p->trace) {
        print_message("%s %s\n", what, text);
    }
}

static void on_effect(void *user, const arcp__effect *effect)
{
    play *p = user;
    if (effect->kind == ARCP__EFFECT_SEND) {
        play_check_sent(p, effect);
        play_client_gets(p, effect->link_user, effect->text);
    } else if (effect->kind == ARCP__EFFECT_START_AGENT) {
        play_agent_check_start(p, effect);
        play_queue_check_start(p, effect->job);
    }
}

static void recover(void *user)
{
    play_recover(user);
}

/* ---- begin and end ---- */

static void begin(play *p, const arcp_settings *settings)
{
    watch_init(&p->watch);
    p->watch.keys_stay = p->keys_stay;
    disk_init(&p->disk);
    p->trace = getenv("ARCP_SIMULATION_TRACE") != NULL;
    rig_begin(&p->rig, settings);
    p->rig.store = &p->disk.store;
    p->rig.makes_spans = p->makes_spans;
    p->rig.prepare = play_host_prepare;
    p->rig.prepare_user = p;
    if (p->temper.queues) {
        play_queue_begin(p, &p->rig.settings);
    }
    play_upstream_begin(p);
    play_hooks_begin(p);
    rig_open(&p->rig);
    play_purse_begin(p);
    p->rig.on_effect = on_effect;
    p->rig.on_effect_user = p;
    p->rig.recover = recover;
    p->rig.batches_max = 4;
    p->rig.feeds_at = p->temper.feeds ? 1 + play_pick(p, 5) : 0;
    for (size_t i = 0; i < PLAY_CLIENTS; i++) {
        const bool is_bobs = i >= PLAY_BOB;
        (void)snprintf(p->slots[i], sizeof p->slots[i], "%c%zu", is_bobs ? 'b' : 'a',
                       is_bobs ? i - PLAY_BOB + 1 : i + 1);
        (void)rig_find(&p->rig, p->slots[i]);
        p->clients[i].session = WATCH_NONE;
        p->away[i] = WATCH_NONE;
    }
}

static void choose_temper(play *p, arcp_settings *settings)
{
    bool *const traits[] = {&p->temper.stalls,   &p->temper.fails,     &p->temper.steps,
                            &p->temper.crashes,  &p->temper.silent,    &p->temper.slow,
                            &p->temper.bulky,    &p->temper.jumps,     &p->temper.stops,
                            &p->temper.starting, &p->temper.forgets,   &p->temper.leaves,
                            &p->temper.feeds,    &p->temper.provisions};
    for (size_t i = 0; i < sizeof traits / sizeof traits[0]; i++) {
        *traits[i] = play_one_in(p, 3);
    }
    if (play_one_in(p, 4)) {
        settings->limits_replay_bytes = 65536;
    }
    if (play_one_in(p, 4)) {
        settings->limits_unsent_bytes = 65536;
    }
    if (play_one_in(p, 4)) {
        settings->limits_store_queue_bytes = 65536;
    }
    if (play_one_in(p, 4)) {
        settings->session_ack_lag_events = 4;
    }
    if (play_one_in(p, 6)) {
        settings->limits_jobs_per_session = 3;
    }
    if (play_one_in(p, 6)) {
        settings->limits_sessions_per_principal = 3;
    }
    if (play_one_in(p, 6)) {
        settings->session_resume_window_sec = 5;
    }
    if (play_one_in(p, 6)) {
        settings->jobs_idempotency_ttl_sec = 30;
    }
    if (p->temper.forgets) {
        settings->jobs_keep_terminal_max = 1 + play_pick(p, 4);
        settings->jobs_idempotency_max = play_one_in(p, 2) ? 1 + play_pick(p, 8) : 1000;
        settings->jobs_idempotency_bytes = play_one_in(p, 2) ? 1024 + play_pick(p, 2048) : 1000000;
        settings->jobs_keep_terminal_sec = play_one_in(p, 4) ? 5 : 86400;
        if (play_one_in(p, 2)) {
            settings->jobs_keep_terminal_max = 1000;
            settings->jobs_keep_terminal_bytes = play_pick(p, 4000);
        }
    }
    if (play_one_in(p, 4)) {
        settings->limits_job_bytes = 1024 + play_pick(p, 64) * 1024;
    }
    if (play_one_in(p, 4)) {
        settings->limits_principal_bytes = 4096 + play_pick(p, 64) * 1024;
    }
    if (play_one_in(p, 4)) {
        settings->jobs_cancel_grace_ms = play_one_in(p, 2) ? 0 : 500;
    }
    p->keys_stay = !p->temper.jumps && settings->jobs_idempotency_ttl_sec > 30;
    settings->lease_on_expiry = play_pick(p, 2);
    settings->budget_on_exhaustion = play_pick(p, 2);
    settings->limits_delegation_depth = play_one_in(p, 4) ? 1 : 5;
}

static void label_seed(play *p, uint64_t seed, const char *program)
{
    (void)snprintf(p->watch.label, sizeof p->watch.label, "seed %llu", (unsigned long long)seed);
    (void)snprintf(p->watch.again, sizeof p->watch.again,
                   "\nagain: ARCP_SIMULATION_TRACE=1 ARCP_SIMULATION_SEED=%llu build-test/tests/%s",
                   (unsigned long long)seed, program);
}

static void plant(play *p, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

void play_begin_seed(play *p, uint64_t seed)
{
    play_begin_recorded(p, seed, NULL, NULL);
}

void play_begin_recorded(play *p, uint64_t seed,
                         void (*prepare)(void *user, arcp__engine_options *options), void *user)
{
    arcp_settings settings;
    plant(p, seed);
    p->prepare = prepare;
    p->prepare_user = user;
    arcp__settings_default(&settings);
    choose_temper(p, &settings);
    p->temper.confines = seed % 3 == 0; /* takes no number: the other seeds play as before */
    if (p->temper.confines) {
        settings.enforce_denials_per_job = play_pick(p, 4);
    }
    p->temper.queues = seed % 4 == 1;
    /* A purse is of one day; what its host reports is not in a trace (src/record). */
    p->temper.purses = seed % 5 == 2 && !p->temper.jumps && prepare == NULL;
    p->temper.hooks = seed % 7 == 3 && prepare == NULL;
    begin(p, &settings);
    label_seed(p, seed, "engine_simulation_test");
}

void play_begin_calm(play *p, uint64_t seed, const arcp_settings *settings, const char *program)
{
    plant(p, seed);
    p->makes_spans = true;
    begin(p, settings);
    label_seed(p, seed, program);
}

void play_begin_bytes(play *p, const uint8_t *data, size_t size)
{
    arcp_settings settings;
    memset(p, 0, sizeof *p);
    arcp__settings_default(&settings);
    p->data = data;
    p->size = size;
    begin(p, &settings);
    (void)snprintf(p->watch.label, sizeof p->watch.label, "input of %zu bytes", size);
}

void play_end(play *p)
{
    rig_stop(&p->rig);
    play_host_check_released(p);
    watch_fini(&p->watch);
}

/* ---- bytes ---- */

void play_mutate(play *p, char *text)
{
    static const char replacements[] = "\"{}[]:,0-9eE\\\x01\x7f\xc3 tn";
    const size_t length = strlen(text);
    for (unsigned times = 1 + play_pick(p, 4); times > 0 && length > 0; times--) {
        const size_t where = (play_pick(p, 256) * 256u + play_pick(p, 256)) % length;
        text[where] = replacements[play_pick(p, sizeof replacements - 1)];
    }
}

void play_literal(play *p, char *text, size_t size)
{
    const size_t length = play_pick(p, 256) % size;
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)(play_pick(p, 255) + 1);
    }
    text[length] = '\0';
}

/* ---- checks ---- */

void play_look(play *p)
{
    play_clients_look(p);
    play_agents_look(p);
    play_upstream_look(p);
}

/* ---- the clock, the store, the runtime ---- */

void play_clock(play *p, int64_t forward_ns)
{
    play_upstream_before_clock(p, forward_ns);
    rig_clock(&p->rig, forward_ns);
}

static void clock_step(play *p)
{
    static const unsigned seconds[] = {0, 1, 5, 11, 31, 61, 301, 601};
    const unsigned forward = seconds[play_pick(p, 8)];
    if (p->waited_sec + forward < UINT64_C(20) * 3600) { /* ended jobs are kept a day */
        p->waited_sec += forward;
        play_clock(p, (int64_t)forward * ARCP_NS_PER_SEC + play_pick(p, 3));
        if (forward != 0 && play_is_quiet(p)) {
            play_look(p);
            play_watch_check(p);
        }
    }
    if (p->temper.jumps && play_one_in(p, 2)) {
        /* Up to ten minutes, either way; or the machine slept. */
        const int64_t jump = ((int64_t)play_pick(p, 1200) - 600) * ARCP_NS_PER_SEC;
        p->rig.now.wall_ns += jump;
        if (play_one_in(p, 4)) {
            p->rig.now.mono_ns += jump < 0 ? -jump : jump;
            p->waited_sec += 600;
        }
        rig_run(&p->rig);
    }
}

static void store_step(play *p)
{
    if (p->temper.fails && play_one_in(p, 4)) {
        p->disk.refuses = !p->disk.refuses;
    } else if (p->temper.fails && play_one_in(p, 4)) {
        p->disk.refuses_submit = !p->disk.refuses_submit;
    } else if (p->temper.stalls) {
        p->disk.is_held = !p->disk.is_held;
    } else if (p->data != NULL) {
        p->rig.fail_store = !p->rig.fail_store && play_one_in(p, 2);
    }
    play_clock(p, ARCP_NS_PER_SEC);
}

/* A held store makes one step. */
static void disk_step(play *p)
{
    const unsigned choice = play_pick(p, 8);
    if (choice < 3) {
        (void)disk_write(&p->disk);
    } else if (choice < 6) {
        (void)disk_report(&p->disk);
    } else if (choice == 6) {
        (void)disk_answer(&p->disk, play_pick(p, 8));
    } else if (p->disk.refuses) {
        (void)disk_fail(&p->disk);
    }
    rig_run(&p->rig);
}

void play_recover(play *p)
{
    if (!arcp__engine_has_failed(p->rig.engine)) {
        return;
    }
    rig_run(&p->rig); /* it may have failed after the last step */
    for (size_t i = 0; i < RIG_CLIENTS_MAX; i++) {
        if (p->rig.clients[i].link != NULL) {
            watch_fail(&p->watch, "a failed engine left a link open", "");
        }
    }
    if (arcp__engine_take_batch(p->rig.engine) != NULL) {
        watch_fail(&p->watch, "a failed engine stores what may be half done", "");
    }
    play_restart(p);
}

void play_restart(play *p)
{
    play_look(p);
    play_queue_before_restart(p);
    disk_crash(&p->disk);
    play_purse_crash(p);
    play_hooks_crash(p);
    play_upstream_crash(p);
    p->rig.fail_store = p->rig.fail_start = p->rig.hold_start = false;
    p->is_stopping = false;
    p->restarts++;
    rig_restart(&p->rig);
    play_queue_after_restart(p);
}

static void start_step(play *p)
{
    p->rig.hold_start = play_one_in(p, 2);
    p->rig.fail_start = play_one_in(p, 4);
}

static void rare_step(play *p)
{
    const unsigned choice = play_pick(p, 4);
    if (p->temper.queues && play_one_in(p, 3)) {
        play_queue_acts(p);
        return;
    }
    if (p->temper.provisions && play_one_in(p, 2)) {
        play_upstream_acts(p);
        return;
    }
    const bool may_crash = p->data != NULL || p->temper.crashes;
    if (choice == 0 && (may_crash || p->is_stopping) && play_one_in(p, 2)) {
        play_restart(p);
    } else if (choice == 1 && p->temper.stops && !p->is_stopping && play_one_in(p, 2)) {
        p->is_stopping = true;
        arcp__engine_shutdown(p->rig.engine, p->rig.now, false);
        rig_run(&p->rig);
    } else if (choice == 2 && p->temper.starting) {
        start_step(p);
    } else {
        play_agents_reap(p);
    }
}

/* The next inputs come before this many effects were handed out; or all are again. */
static void pace(play *p)
{
    if (p->temper.steps) {
        p->rig.is_stepping = play_pick(p, 3) != 0;
        p->rig.effects_left = play_pick(p, 4);
    }
}

bool play_step(play *p)
{
    if (p->data != NULL && p->at >= p->size) {
        return false;
    }
    p->watch.step++;
    if (p->trace) {
        print_message("step %u\n", p->watch.step);
    }
    pace(p);
    const unsigned choice = play_pick(p, 64);
    if (p->disk.is_held && choice % 3 == 0) {
        disk_step(p);
    } else if (choice < 28) {
        play_client_acts(p);
    } else if (choice < 56) {
        play_agent_acts(p);
    } else if (choice < 59) {
        clock_step(p);
    } else if (choice < 61) {
        store_step(p);
    } else {
        rare_step(p);
    }
    play_hooks_act(p);
    rig_run(&p->rig); /* also those of an earlier step */
    play_look(p);
    play_check(p);
    play_purse_check(p);
    return p->rig.agent_count + 16 < RIG_AGENTS_MAX && play_upstream_has_room(p) &&
           p->watch.session_count + 8 < WATCH_SESSIONS_MAX &&
           p->watch.job_count + 16 < WATCH_JOBS_MAX;
}

/* ---- the end ---- */

/* Ends all disturbances. */
static void calm_down(play *p)
{
    p->disk.is_held = p->disk.refuses = p->disk.refuses_submit = false;
    p->rig.fail_store = p->rig.fail_start = p->rig.hold_start = false;
    p->rig.is_stepping = false;
    play_queue_calms(p);
    play_upstream_calms(p);
    for (size_t i = 0; i < RIG_CLIENTS_MAX; i++) {
        if (p->rig.clients[i].slow) {
            rig_drop(&p->rig, &p->rig.clients[i]);
        }
    }
    for (size_t i = 0; i < p->rig.agent_count; i++) {
        rig_agent_started(&p->rig, &p->rig.agents[i]);
    }
    play_clock(p, 120 * ARCP_NS_PER_SEC);
    play_look(p);
    play_check_delivered(p);
}

/* A new session of the job's principal subscribes to all of it. */
static void check_job(play *p, size_t observer, const watch_job *job)
{
    const disk_known *known = disk_find(&p->disk, arcp_span_cstr(job->id));
    if (known != NULL && known->is_gone) {
        return; /* no session waits for it any more */
    }
    play_client_subscribes(p, observer, job->id);
    const size_t session = p->clients[observer].session;
    if (session == WATCH_NONE || !watch_saw_end(&p->watch, session, job->id)) {
        watch_fail(&p->watch, "the job was accepted and has no end", job->id);
    }
}

/* Each end lets queued jobs start. */
static void end_agents(play *p)
{
    for (size_t i = 0; i < p->rig.agent_count; i++) {
        rig_agent_exits(&p->rig, &p->rig.agents[i], false, 0);
        play_look(p);
    }
    play_check_stopped(p);
}

/* A client of each principal that has a session watches what follows. */
static void watch_again(play *p)
{
    static const size_t watchers[] = {1, PLAY_BOB + 1};
    for (size_t i = 0; i < 2 && !p->is_stopping; i++) {
        if (play_client(p, watchers[i])->link == NULL && p->away[watchers[i]] != WATCH_NONE) {
            play_client_returns(p, watchers[i]);
        }
    }
}

void play_settle(play *p)
{
    calm_down(p);
    watch_again(p);
    end_agents(p);
    play_clock(p, ARCP_NS_PER_SEC);
    play_look(p);
    play_watch_check(p);
    if (p->is_stopping) {
        play_restart(p);
        end_agents(p);
    }
    play_purse_check(p);
    play_purse_settled(p);
    play_hooks_settle(p);
    static const size_t observers[] = {0, PLAY_BOB};
    const size_t job_count = p->watch.job_count;
    for (size_t i = 0; i < PLAY_CLIENTS; i++) {
        rig_drop(&p->rig, play_client(p, i));
    }
    /* Closed sessions free their places for new ones. */
    play_clock(p, 601 * ARCP_NS_PER_SEC);
    play_upstream_settle(p);
    for (size_t i = 0; i < 2; i++) {
        if (!play_client_begins(p, observers[i])) {
            watch_fail(&p->watch, "no session can be opened any more", "");
        }
    }
    for (size_t i = 0; i < job_count; i++) {
        const watch_job *job = &p->watch.jobs[i];
        check_job(p, job->is_bobs ? PLAY_BOB : 0, job);
    }
}
