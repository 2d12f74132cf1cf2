/* Clients that watch their principal's jobs: in the end each has the last row of every job that
 * changed since it began to. */
#include "engine/play.h"

#include "support/check.h"

#include "base/hash.h"
#include "engine/state.h"

#define WATCH                                                                                      \
    "{\"arcp\":\"1.1\",\"id\":\"watch\",\"type\":\"x-vendor.arcpd.watch\","                        \
    "\"payload\":{\"what\":[\"jobs\"]}}"

void play_watch_begin(play *p, size_t slot)
{
    rig_client *client = play_client(p, slot);
    if (p->clients[slot].session != WATCH_NONE && client->link != NULL && !client->slow &&
        !p->is_over[slot] && !p->watches[slot].is_asked) {
        p->watches[slot].is_asked = true;
        rig_send(&p->rig, client, WATCH);
    }
}

static play_row *row_of(play_watch *seen, const char *job_id)
{
    for (size_t i = 0; i < seen->count; i++) {
        if (strcmp(seen->rows[i].job_id, job_id) == 0) {
            return &seen->rows[i];
        }
    }
    assert_true(seen->count < PLAY_ROWS_MAX);
    play_row *row = &seen->rows[seen->count++];
    *row = (play_row){0};
    (void)snprintf(row->job_id, sizeof row->job_id, "%s", job_id);
    return row;
}

static bool is_watched(const arcp__job *job, size_t slot)
{
    return strcmp(job->principal->name, slot < PLAY_BOB ? "alice" : "bob") == 0;
}

/* The watch has begun: the jobs that run now, and all later ones, will have a row. */
static void take_answer(play *p, size_t slot)
{
    play_watch *seen = &p->watches[slot];
    seen->is_valid = true;
    seen->count = 0;
    for (const arcp__job *job = p->rig.engine->jobs.all; job != NULL; job = job->hh.next) {
        if (is_watched(job, slot) && !arcp__job_has_ended(job)) {
            (void)row_of(seen, job->id);
        } else if (is_watched(job, slot) && strcmp(seen->newest, job->id) < 0) {
            memcpy(seen->newest, job->id, sizeof seen->newest);
        }
    }
}

static void take_changed(play *p, size_t slot, const arcp_json *json, arcp_json_ref payload)
{
    play_watch *seen = &p->watches[slot];
    const arcp_json_ref jobs = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("jobs"));
    if (arcp_json_member(json, payload, ARCP_SPAN_LITERAL("reload")) != ARCP_JSON_ABSENT) {
        seen->is_valid = false; /* it would have to ask */
    }
    for (arcp_json_ref job = arcp_json_first(json, jobs); job != ARCP_JSON_ABSENT;
         job = arcp_json_next(json, jobs, job)) {
        char id[ARCP__ID_SIZE] = {0};
        const arcp_span text = arcp_json_raw(json, job);
        const arcp_span raw =
            arcp_json_raw(json, arcp_json_member(json, job, ARCP_SPAN_LITERAL("job_id")));
        memcpy(id, raw.data + 1, raw.size - 2);
        row_of(seen, id)->hash = arcp__hash_bytes(text.data, text.size);
        p->pushes++;
    }
}

void play_watch_gets(play *p, size_t slot, arcp_span frame)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = arcp_json_limits_init();
    if (memmem(frame.data, frame.size, "\"x-vendor.arcpd.", 16) == NULL) {
        return;
    }
    arcp_status status = arcp_json_scan(&json, frame, &limits, NULL);
    if (status == ARCP_E_NO_MEMORY) {
        status = arcp_json_scan(&json, frame, &limits, NULL);
    }
    assert_int_equal(status, ARCP_OK);
    const arcp_json_ref type = arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("type"));
    if (arcp_json_string_equals(&json, type, ARCP_SPAN_LITERAL("x-vendor.arcpd.watch.answer"))) {
        take_answer(p, slot);
    } else if (arcp_json_string_equals(&json, type, ARCP_SPAN_LITERAL("x-vendor.arcpd.changed"))) {
        take_changed(p, slot, &json,
                     arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload")));
    } else if (arcp_json_string_equals(&json, type, ARCP_SPAN_LITERAL("x-vendor.arcpd.lagging"))) {
        p->watches[slot].is_valid = false;
    }
    arcp__json_fini(&json);
}

void play_watch_check(play *p)
{
    for (size_t slot = 0; slot < PLAY_CLIENTS; slot++) {
        play_watch *seen = &p->watches[slot];
        if (!seen->is_valid || play_client(p, slot)->link == NULL || play_client(p, slot)->slow) {
            continue;
        }
        for (arcp__job *job = p->rig.engine->jobs.all; job != NULL; job = job->hh.next) {
            if (!is_watched(job, slot) || !arcp__job_has_ended(job)) {
                continue; /* how long an agent is silent changes all the time */
            }
            play_row *row = NULL;
            for (size_t i = 0; i < seen->count && row == NULL; i++) {
                row = strcmp(seen->rows[i].job_id, job->id) == 0 ? &seen->rows[i] : NULL;
            }
            arcp_buf text = arcp_buf_init();
            arcp__sessions_write_job(&p->rig.engine->sessions, job, &text);
            if (row == NULL ? strcmp(job->id, seen->newest) > 0
                            : row->hash != arcp__hash_bytes(text.data, text.size)) {
                watch_fail(&p->watch, "a watcher does not have the last state of a job", text.data);
            }
            arcp_buf_fini(&text);
            p->watched += row != NULL;
        }
    }
}
