#include "engine/play.h"

#include "support/check.h"

unsigned play_pick(play *self, unsigned below)
{
    if (self->data == NULL) {
        self->random = self->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned)(self->random >> 33) % below;
    }
    return self->at < self->size ? self->data[self->at++] % below : 0;
}

bool play_one_in(play *self, unsigned count)
{
    return play_pick(self, count) == 0;
}

void play_trace(const play *self, const char *what, const char *text)
{
    if (self->trace) {
        print_message("%s %s\n", what, text);
    }
}

static void on_effect(void *user, const arcp__effect *effect)
{
    play *self = user;
    if (effect->kind == ARCP__EFFECT_SEND) {
        play_check_sent(self, effect);
        play_client_gets(self, effect->link_user, effect->text);
    } else if (effect->kind == ARCP__EFFECT_START_AGENT) {
        play_agent_check_start(self, effect);
    }
}

static void recover(void *user)
{
    play_recover(user);
}

/* ---- begin and end ---- */

static void begin(play *self, const arcp_settings *settings)
{
    watch_init(&self->watch);
    self->watch.keys_stay = self->keys_stay;
    disk_init(&self->disk);
    self->trace = getenv("ARCP_SIMULATION_TRACE") != NULL;
    rig_begin(&self->rig, settings);
    self->rig.store = &self->disk.store;
    self->rig.makes_spans = self->makes_spans;
    self->rig.prepare = self->prepare;
    self->rig.prepare_user = self->prepare_user;
    play_upstream_begin(self);
    rig_open(&self->rig);
    self->rig.on_effect = on_effect;
    self->rig.on_effect_user = self;
    self->rig.recover = recover;
    self->rig.batches_max = 4;
    self->rig.feeds_at = self->temper.feeds ? 1 + play_pick(self, 5) : 0;
    for (size_t i = 0; i < PLAY_CLIENTS; i++) {
        bool is_bobs = i >= PLAY_BOB;
        (void)snprintf(self->slots[i], sizeof self->slots[i], "%c%zu", is_bobs ? 'b' : 'a',
                       is_bobs ? i - PLAY_BOB + 1 : i + 1);
        (void)rig_find(&self->rig, self->slots[i]);
        self->clients[i].session = WATCH_NONE;
        self->away[i] = WATCH_NONE;
    }
}

static void choose_temper(play *self, arcp_settings *settings)
{
    bool *const traits[] = {&self->temper.stalls,   &self->temper.fails,     &self->temper.steps,
                            &self->temper.crashes,  &self->temper.silent,    &self->temper.slow,
                            &self->temper.bulky,    &self->temper.jumps,     &self->temper.stops,
                            &self->temper.starting, &self->temper.forgets,   &self->temper.leaves,
                            &self->temper.feeds,    &self->temper.provisions};
    for (size_t i = 0; i < sizeof traits / sizeof traits[0]; i++) {
        *traits[i] = play_one_in(self, 3);
    }
    if (play_one_in(self, 4)) {
        settings->limits_replay_bytes = 65536;
    }
    if (play_one_in(self, 4)) {
        settings->limits_unsent_bytes = 65536;
    }
    if (play_one_in(self, 4)) {
        settings->limits_store_queue_bytes = 65536;
    }
    if (play_one_in(self, 4)) {
        settings->session_ack_lag_events = 4;
    }
    if (play_one_in(self, 6)) {
        settings->limits_jobs_per_session = 3;
    }
    if (play_one_in(self, 6)) {
        settings->limits_sessions_per_principal = 3;
    }
    if (play_one_in(self, 6)) {
        settings->session_resume_window_sec = 5;
    }
    if (play_one_in(self, 6)) {
        settings->jobs_idempotency_ttl_sec = 30;
    }
    if (self->temper.forgets) {
        settings->jobs_keep_terminal_max = 1 + play_pick(self, 4);
        settings->jobs_idempotency_max = play_one_in(self, 2) ? 1 + play_pick(self, 8) : 1000;
        settings->jobs_idempotency_bytes =
            play_one_in(self, 2) ? 1024 + play_pick(self, 2048) : 1000000;
        settings->jobs_keep_terminal_sec = play_one_in(self, 4) ? 5 : 86400;
        if (play_one_in(self, 2)) {
            settings->jobs_keep_terminal_max = 1000;
            settings->jobs_keep_terminal_bytes = play_pick(self, 4000);
        }
    }
    if (play_one_in(self, 4)) {
        settings->limits_job_bytes = 1024 + play_pick(self, 64) * 1024;
    }
    if (play_one_in(self, 4)) {
        settings->limits_principal_bytes = 4096 + play_pick(self, 64) * 1024;
    }
    if (play_one_in(self, 4)) {
        settings->jobs_cancel_grace_ms = play_one_in(self, 2) ? 0 : 500;
    }
    self->keys_stay = !self->temper.jumps && settings->jobs_idempotency_ttl_sec > 30;
    settings->lease_on_expiry = play_pick(self, 2);
    settings->budget_on_exhaustion = play_pick(self, 2);
    settings->limits_delegation_depth = play_one_in(self, 4) ? 1 : 5;
}

static void label_seed(play *self, uint64_t seed, const char *program)
{
    (void)snprintf(self->watch.label, sizeof self->watch.label, "seed %llu",
                   (unsigned long long)seed);
    (void)snprintf(self->watch.again, sizeof self->watch.again,
                   "\nagain: ARCP_SIMULATION_TRACE=1 ARCP_SIMULATION_SEED=%llu build-test/tests/%s",
                   (unsigned long long)seed, program);
}

static void plant(play *self, uint64_t seed)
{
    memset(self, 0, sizeof *self);
    self->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

void play_begin_seed(play *self, uint64_t seed)
{
    play_begin_recorded(self, seed, NULL, NULL);
}

void play_begin_recorded(play *self, uint64_t seed,
                         void (*prepare)(void *user, arcp__engine_options *options), void *user)
{
    arcp_settings settings;
    plant(self, seed);
    self->prepare = prepare;
    self->prepare_user = user;
    arcp__settings_default(&settings);
    choose_temper(self, &settings);
    begin(self, &settings);
    label_seed(self, seed, "engine_simulation_test");
}

void play_begin_calm(play *self, uint64_t seed, const arcp_settings *settings, const char *program)
{
    plant(self, seed);
    self->makes_spans = true;
    begin(self, settings);
    label_seed(self, seed, program);
}

void play_begin_bytes(play *self, const uint8_t *data, size_t size)
{
    arcp_settings settings;
    memset(self, 0, sizeof *self);
    arcp__settings_default(&settings);
    self->data = data;
    self->size = size;
    begin(self, &settings);
    (void)snprintf(self->watch.label, sizeof self->watch.label, "input of %zu bytes", size);
}

void play_end(play *self)
{
    rig_stop(&self->rig);
    watch_fini(&self->watch);
}

/* ---- bytes ---- */

void play_mutate(play *self, char *text)
{
    static const char replacements[] = "\"{}[]:,0-9eE\\\x01\x7f\xc3 tn";
    size_t length = strlen(text);
    for (unsigned times = 1 + play_pick(self, 4); times > 0 && length > 0; times--) {
        size_t where = (play_pick(self, 256) * 256u + play_pick(self, 256)) % length;
        text[where] = replacements[play_pick(self, sizeof replacements - 1)];
    }
}

void play_literal(play *self, char *text, size_t size)
{
    size_t length = play_pick(self, 256) % size;
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)(play_pick(self, 255) + 1);
    }
    text[length] = '\0';
}

/* ---- checks ---- */

void play_look(play *self)
{
    play_clients_look(self);
    play_agents_look(self);
    play_upstream_look(self);
}

/* ---- the clock, the store, the runtime ---- */

void play_clock(play *self, int64_t forward_ns)
{
    play_upstream_before_clock(self, forward_ns);
    rig_clock(&self->rig, forward_ns);
}

static void clock_step(play *self)
{
    static const unsigned seconds[] = {0, 1, 5, 11, 31, 61, 301, 601};
    unsigned forward = seconds[play_pick(self, 8)];
    if (self->waited_sec + forward < UINT64_C(20) * 3600) { /* ended jobs are kept a day */
        self->waited_sec += forward;
        play_clock(self, (int64_t)forward * ARCP_NS_PER_SEC + play_pick(self, 3));
    }
    if (self->temper.jumps && play_one_in(self, 2)) {
        /* Up to ten minutes, either way; or the machine slept. */
        int64_t jump = ((int64_t)play_pick(self, 1200) - 600) * ARCP_NS_PER_SEC;
        self->rig.now.wall_ns += jump;
        if (play_one_in(self, 4)) {
            self->rig.now.mono_ns += jump < 0 ? -jump : jump;
            self->waited_sec += 600;
        }
        rig_run(&self->rig);
    }
}

static void store_step(play *self)
{
    if (self->temper.fails && play_one_in(self, 4)) {
        self->disk.refuses = !self->disk.refuses;
    } else if (self->temper.fails && play_one_in(self, 4)) {
        self->disk.refuses_submit = !self->disk.refuses_submit;
    } else if (self->temper.stalls) {
        self->disk.is_held = !self->disk.is_held;
    } else if (self->data != NULL) {
        self->rig.fail_store = !self->rig.fail_store && play_one_in(self, 2);
    }
    play_clock(self, ARCP_NS_PER_SEC);
}

/* A held store makes one step. */
static void disk_step(play *self)
{
    unsigned choice = play_pick(self, 8);
    if (choice < 3) {
        (void)disk_write(&self->disk);
    } else if (choice < 6) {
        (void)disk_report(&self->disk);
    } else if (choice == 6) {
        (void)disk_answer(&self->disk, play_pick(self, 8));
    } else if (self->disk.refuses) {
        (void)disk_fail(&self->disk);
    }
    rig_run(&self->rig);
}

void play_recover(play *self)
{
    if (!arcp__engine_has_failed(self->rig.engine)) {
        return;
    }
    rig_run(&self->rig); /* it may have failed after the last step */
    for (size_t i = 0; i < RIG_CLIENTS_MAX; i++) {
        if (self->rig.clients[i].link != NULL) {
            watch_fail(&self->watch, "a failed engine left a link open", "");
        }
    }
    if (arcp__engine_take_batch(self->rig.engine) != NULL) {
        watch_fail(&self->watch, "a failed engine stores what may be half done", "");
    }
    play_restart(self);
}

void play_restart(play *self)
{
    play_look(self);
    disk_crash(&self->disk);
    play_upstream_crash(self);
    self->rig.fail_store = self->rig.fail_start = self->rig.hold_start = false;
    self->is_stopping = false;
    self->restarts++;
    rig_restart(&self->rig);
}

static void start_step(play *self)
{
    self->rig.hold_start = play_one_in(self, 2);
    self->rig.fail_start = play_one_in(self, 4);
}

static void rare_step(play *self)
{
    unsigned choice = play_pick(self, 4);
    if (self->temper.provisions && play_one_in(self, 2)) {
        play_upstream_acts(self);
        return;
    }
    bool may_crash = self->data != NULL || self->temper.crashes;
    if (choice == 0 && (may_crash || self->is_stopping) && play_one_in(self, 2)) {
        play_restart(self);
    } else if (choice == 1 && self->temper.stops && !self->is_stopping && play_one_in(self, 2)) {
        self->is_stopping = true;
        arcp__engine_shutdown(self->rig.engine, self->rig.now);
        rig_run(&self->rig);
    } else if (choice == 2 && self->temper.starting) {
        start_step(self);
    } else {
        play_agents_reap(self);
    }
}

/* The next inputs come before this many effects were handed out; or all are again. */
static void pace(play *self)
{
    if (self->temper.steps) {
        self->rig.is_stepping = play_pick(self, 3) != 0;
        self->rig.effects_left = play_pick(self, 4);
    }
}

bool play_step(play *self)
{
    if (self->data != NULL && self->at >= self->size) {
        return false;
    }
    self->watch.step++;
    if (self->trace) {
        print_message("step %u\n", self->watch.step);
    }
    pace(self);
    unsigned choice = play_pick(self, 64);
    if (self->disk.is_held && choice % 3 == 0) {
        disk_step(self);
    } else if (choice < 28) {
        play_client_acts(self);
    } else if (choice < 56) {
        play_agent_acts(self);
    } else if (choice < 59) {
        clock_step(self);
    } else if (choice < 61) {
        store_step(self);
    } else {
        rare_step(self);
    }
    rig_run(&self->rig); /* also those of an earlier step */
    play_look(self);
    play_check(self);
    return self->rig.agent_count + 16 < RIG_AGENTS_MAX && play_upstream_has_room(self) &&
           self->watch.session_count + 8 < WATCH_SESSIONS_MAX &&
           self->watch.job_count + 16 < WATCH_JOBS_MAX;
}

/* ---- the end ---- */

/* Ends all disturbances. */
static void calm_down(play *self)
{
    self->disk.is_held = self->disk.refuses = self->disk.refuses_submit = false;
    self->rig.fail_store = self->rig.fail_start = self->rig.hold_start = false;
    self->rig.is_stepping = false;
    play_upstream_calms(self);
    for (size_t i = 0; i < RIG_CLIENTS_MAX; i++) {
        if (self->rig.clients[i].slow) {
            rig_drop(&self->rig, &self->rig.clients[i]);
        }
    }
    for (size_t i = 0; i < self->rig.agent_count; i++) {
        rig_agent_started(&self->rig, &self->rig.agents[i]);
    }
    play_clock(self, 120 * ARCP_NS_PER_SEC);
    play_look(self);
    play_check_delivered(self);
}

/* A new session of the job's principal subscribes to all of it. */
static void check_job(play *self, size_t observer, const watch_job *job)
{
    const disk_known *known = disk_find(&self->disk, arcp_span_cstr(job->id));
    if (known != NULL && known->is_gone) {
        return; /* no session waits for it any more */
    }
    play_client_subscribes(self, observer, job->id);
    size_t session = self->clients[observer].session;
    if (session == WATCH_NONE || !watch_saw_end(&self->watch, session, job->id)) {
        watch_fail(&self->watch, "the job was accepted and has no end", job->id);
    }
}

void play_settle(play *self)
{
    calm_down(self);
    for (size_t i = 0; i < self->rig.agent_count; i++) {
        rig_agent_exits(&self->rig, &self->rig.agents[i], false, 0);
        play_look(self);
    }
    play_check_stopped(self);
    if (self->is_stopping) {
        play_restart(self);
    }
    static const size_t observers[] = {0, PLAY_BOB};
    size_t job_count = self->watch.job_count;
    for (size_t i = 0; i < PLAY_CLIENTS; i++) {
        rig_drop(&self->rig, play_client(self, i));
    }
    /* Closed sessions free their places for new ones. */
    play_clock(self, 601 * ARCP_NS_PER_SEC);
    play_upstream_settle(self);
    for (size_t i = 0; i < 2; i++) {
        if (!play_client_begins(self, observers[i])) {
            watch_fail(&self->watch, "no session can be opened any more", "");
        }
    }
    for (size_t i = 0; i < job_count; i++) {
        const watch_job *job = &self->watch.jobs[i];
        check_job(self, job->is_bobs ? PLAY_BOB : 0, job);
    }
}
