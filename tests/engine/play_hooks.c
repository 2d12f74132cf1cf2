/* Hooks in a play, and their receivers: each takes, refuses or forgets what arrives, and one hook
 * comes and goes with reloads. Nothing is sent that is not written; what a hook does not select
 * never arrives; a notification has one body, and comes again only if it was not taken, or after a
 * restart. At the end every job whose end was written has been reported. */
#include "engine/play.h"

#include "support/check.h"

#include "base/hash.h"
#include "engine/state.h"

#define ON(event) (1u << ARCP__HOOK_##event)

enum { HOOK_ALL, HOOK_NOBODYS, HOOK_BOBS, HOOKS };

static const arcp__hook_options hooks[HOOKS] = {
    [HOOK_ALL] = {.name = {"all", 3}, .target = {"x", 1}, .events = ON(END)},
    [HOOK_NOBODYS] = {.name = {"nobodys", 7},
                      .target = {"x", 1},
                      .events = ON(END) | ON(DENIAL),
                      .principal = {"nobody", 6}},
    /* The last one, so that a reload can leave it out. */
    [HOOK_BOBS] = {.name = {"bobs", 4},
                   .target = {"x", 1},
                   .events = ON(END) | ON(DENIAL) | ON(BUDGET) | ON(STUCK),
                   .principal = {"bob", 3},
                   .budget_left_percent = 50,
                   .stuck_after_sec = 60},
};

/* ---- what arrives ---- */

/* The string after `mark`; empty: there is none. */
static arcp_span text_after(arcp_span text, const char *mark)
{
    const char *found = memmem(text.data, text.size, mark, strlen(mark));
    if (found == NULL) {
        return arcp_span_make(NULL, 0);
    }
    const char *begin = found + strlen(mark);
    const char *end = memchr(begin, '"', text.size - (size_t)(begin - text.data));
    return arcp_span_make(begin, (size_t)(end - begin));
}

/* The notification with this id, if its row was ever written. */
static play_note *find(play *p, arcp_span id)
{
    for (size_t i = 0; i < p->note_count; i++) {
        if (arcp_span_equal_cstr(id, p->notes[i].id)) {
            return &p->notes[i];
        }
    }
    return NULL;
}

static void check_selected(play *p, const play_note *note, arcp_span body)
{
    const arcp_span principal = text_after(body, "\"principal\":\"");
    const arcp_span event = text_after(body, "\"event\":\"");
    const bool is_bobs = arcp_span_equal_cstr(principal, "bob");
    if (note->hook == HOOK_NOBODYS || (note->hook == HOOK_BOBS && !is_bobs) ||
        (note->hook == HOOK_ALL && !arcp_span_equal_cstr(event, "end"))) {
        watch_fail(&p->watch, "a hook is notified of what it does not select", body.data);
    }
}

static size_t hook_of(arcp_span name)
{
    size_t hook = 0;
    while (hook < HOOKS && !arcp_span_equal(name, hooks[hook].name)) {
        hook++;
    }
    return hook;
}

static void deliver(engine_rig *rig, const arcp__effect *effect)
{
    play *p = (play *)rig; /* its first member */
    const char *end = memchr(effect->text.data, '\n', effect->text.size);
    const size_t name_size = (size_t)(end - effect->text.data);
    const arcp_span body = arcp_span_from(effect->text, name_size + 1);
    play_note *note = find(p, text_after(body, "{\"id\":\""));
    if (note == NULL || !note->is_written) {
        watch_fail(&p->watch, "a notification is sent that is not written", body.data);
        return;
    }
    const uint64_t hash = arcp__hash_bytes(body.data, body.size);
    if (note->deliveries != 0 && note->hash != hash) {
        watch_fail(&p->watch, "a notification has another body", body.data);
    }
    if (note->is_taken || note->number != 0) {
        watch_fail(&p->watch, "a notification is sent though none has failed", body.data);
    }
    note->hash = hash;
    note->hook = hook_of(arcp_span_first(effect->text, name_size));
    note->number = effect->id;
    note->deliveries++;
    check_selected(p, note, body);
    const arcp_span job = text_after(body, "\"job_id\":\"");
    (void)snprintf(note->job_id, sizeof note->job_id, "%.*s", (int)job.size, job.data);
    note->is_end = arcp_span_equal_cstr(text_after(body, "\"event\":\""), "end");
    p->delivered++;
}

/* ---- the disk ---- */

static void on_row(void *user, const arcp_store_op *op)
{
    play *p = user;
    play_note *note = find(p, op->key);
    if (note == NULL) {
        if (p->note_count == PLAY_NOTES_MAX || op->key.size >= sizeof note->id) {
            watch_fail(&p->watch, "too many notifications for the play", "");
            return;
        }
        note = &p->notes[p->note_count++];
        *note = (play_note){.is_written = false};
        memcpy(note->id, op->key.data, op->key.size);
    }
    note->is_written = op->kind == ARCP_STORE_PUT;
    if (!note->is_written && !note->was_taken) {
        watch_fail(&p->watch, "a notification is removed that was not taken", note->id);
    }
}

/* ---- the receivers, and reloads ---- */

static void answer(play *p, play_note *note, arcp_status status)
{
    const uint64_t number = note->number;
    note->number = 0;
    note->is_taken = note->is_taken || status == ARCP_OK;
    note->was_taken = note->was_taken || status == ARCP_OK;
    arcp__engine_notified(p->rig.engine, p->rig.now, number, status,
                          ARCP_SPAN_LITERAL("it answered with status 500"));
}

static void answer_some(play *p, unsigned one_in, bool may_fail)
{
    for (size_t i = 0; i < p->note_count; i++) {
        if (p->notes[i].number != 0 && play_one_in(p, one_in)) {
            answer(p, &p->notes[i], may_fail && play_one_in(p, 3) ? ARCP_E_IO : ARCP_OK);
        }
    }
}

void play_hooks_begin(play *p)
{
    if (p->temper.hooks) {
        p->rig.deliver = deliver;
        p->rig.hooks = hooks;
        p->rig.hook_count = HOOKS;
        p->disk.on_notification = on_row;
        p->disk.on_notification_user = p;
    }
}

void play_hooks_act(play *p)
{
    if (!p->temper.hooks || p->rig.engine->context.failed) {
        return;
    }
    answer_some(p, 4, true);
    if (play_one_in(p, 40) && p->rig.engine->restore == NULL) {
        rig_hooks(&p->rig, hooks, p->rig.hook_count == HOOKS ? HOOKS - 1 : HOOKS);
    }
}

/* No answer to what was under way arrives any more. */
void play_hooks_crash(play *p)
{
    for (size_t i = 0; i < p->note_count; i++) {
        p->notes[i].number = 0;
        p->notes[i].is_taken = false;
    }
}

/* ---- the end ---- */

static bool was_reported(const play *p, const char *job_id)
{
    for (size_t i = 0; i < p->note_count; i++) {
        const play_note *note = &p->notes[i];
        if (note->hook == HOOK_ALL && note->is_end && note->deliveries != 0 &&
            strcmp(note->job_id, job_id) == 0) {
            return true;
        }
    }
    return false;
}

/* Attempts what has failed for 24 h, as an operator does. */
static void retry_failed(play *p)
{
    arcp__notification_view view = {.id = ""};
    while (arcp__engine_next_notification(p->rig.engine, view.id, &view)) {
        if (strcmp(view.state, "failed") == 0) {
            (void)arcp__notification_retry(&p->rig.engine->hooks, arcp_span_cstr(view.id));
        }
    }
}

void play_hooks_settle(play *p)
{
    if (!p->temper.hooks) {
        return;
    }
    rig_hooks(&p->rig, hooks, HOOKS);
    retry_failed(p);
    /* Each turn answers at least one of those that are under way, or lets the longest pause pass.
     */
    arcp__notification_view view;
    for (size_t i = 0;
         i < (size_t)2 * PLAY_NOTES_MAX && arcp__engine_next_notification(p->rig.engine, "", &view);
         i++) {
        play_clock(p, ARCP__HOOK_PAUSE_SEC_MAX * ARCP_NS_PER_SEC);
        answer_some(p, 1, false);
        rig_run(&p->rig);
    }
    if (arcp__engine_next_notification(p->rig.engine, "", &view)) {
        watch_fail(&p->watch, "a notification is never delivered", view.id);
    }
    for (size_t i = 0; i < p->disk.known_count; i++) {
        const disk_known *known = &p->disk.known[i];
        if (known->has_end && strncmp(known->id, "job_", 4) == 0 &&
            strchr(known->id, '/') == NULL && !was_reported(p, known->id)) {
            watch_fail(&p->watch, "the end of a job was not reported to a hook", known->id);
        }
    }
    for (size_t i = 0; i < p->note_count; i++) {
        if (p->notes[i].is_written) {
            watch_fail(&p->watch, "a notification is left on the disk", p->notes[i].id);
        }
    }
}
