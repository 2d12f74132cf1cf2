#include "hostile_attacks.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arcpd/wire.h"

#define SILENT_MAX     300u /* more than limits.pending_per_address */
#define PART           60000u
#define FLOODING_JOBS  8u
#define IGNORING_LINKS 4u
#define LITTLE         "\"agent\":\"load\",\"input\":{\"events\":1,\"bytes\":10,\"end\":\"result\"}"

static void open_as(wire *w, const daemon_state *d, const char *token)
{
    wire_session session;
    wire_open(w, d->port);
    wire_hello(w, token, &session);
}

/* Discards everything that was received. */
static void discard(wire *w)
{
    arcp_span frame;
    while (wire_fill(w, 0)) {
        while (wire_next(w, &frame)) {
        }
    }
}

static void await_answer(wire *w, const char *one, const char *other)
{
    arcp_span frame = wire_await(w);
    while (!wire_is(frame, one) && !wire_is(frame, other)) {
        frame = wire_await(w);
    }
}

/* A trivial job with a lease of 50 patterns of `bytes` each. */
static void submit_large(wire *w, unsigned number, size_t bytes)
{
    static char patterns[64000];
    static char filling[4096];
    size_t size = 0;
    memset(filling, 'p', sizeof filling - 1);
    for (unsigned i = 0; i < 50; i++) {
        size += (size_t)snprintf(patterns + size, sizeof patterns - size, "%s\"/%u%.*s\"",
                                 i == 0 ? "" : ",", i, (int)bytes, filling);
    }
    wire_send(w,
              "{\"arcp\":\"1.1\",\"id\":\"s%u\",\"type\":\"job.submit\",\"payload\":{" LITTLE
              ",\"lease_request\":{\"fs.read\":[%s]}}}",
              number, patterns);
}

/* ---- responses that are not read ---- */

static void keep_jobs(const daemon_state *d, bool is_quick)
{
    static wire w;
    open_as(&w, d, "t-alice");
    for (unsigned i = 0; i < (is_quick ? 3u : 200u); i++) {
        submit_large(&w, i, 400);
        await_answer(&w, "job.result", "job.error");
    }
    wire_close(&w);
}

static void list_without_reading(const daemon_state *d)
{
    static wire w;
    open_as(&w, d, "t-alice");
    for (;;) {
        wire_send(&w, "%s",
                  "{\"arcp\":\"1.1\",\"id\":\"l\",\"type\":\"session.list_jobs\",\"payload\":{"
                  "\"limit\":1000}}");
    }
}

/* ---- leases ---- */

#define POLICY                                                                                     \
    "policy:\n"                                                                                    \
    "  - {principal: \"*\", agent: \"*\", max_lease: {fs.read: [\"/srv/**\", "                     \
    "\"/data/*/pub/**\"]}}\n"

static void submit_hard_lease(const daemon_state *d)
{
    static const char hard[] = "/*****/**/***a*/*/*/***a/*/*/*/*?/**/a*/*/*aa*/**aaaaaaa**/aaa*/**/"
                               "b*a*/a**a**bb*aa***ba**a*a**a***a?aa**b*aa*a";
    static char patterns[64000];
    static wire w;
    size_t size = 0;
    for (unsigned i = 0; i < 450; i++) {
        size += (size_t)snprintf(patterns + size, sizeof patterns - size, "%s\"%s%u\"",
                                 i == 0 ? "" : ",", hard, i);
    }
    open_as(&w, d, "t-alice");
    for (unsigned number = 0;; number++) {
        wire_send(&w,
                  "{\"arcp\":\"1.1\",\"id\":\"s%u\",\"type\":\"job.submit\",\"payload\":{" LITTLE
                  ",\"lease_request\":{\"fs.read\":[%s]}}}",
                  number, patterns);
        discard(&w);
    }
}

static void run_large_leases(const daemon_state *d)
{
    static wire w;
    open_as(&w, d, "t-alice");
    for (unsigned sent = 0;; sent++) {
        submit_large(&w, sent, 1200);
        if (sent >= 8) {
            await_answer(&w, "job.result", "job.error");
        }
    }
}

/* ---- output of agents ---- */

static void leave_flooding_agents(const daemon_state *d)
{
    static wire w;
    for (;;) {
        open_as(&w, d, "t-alice");
        for (unsigned i = 0; i < FLOODING_JOBS; i++) {
            wire_send(&w,
                      "{\"arcp\":\"1.1\",\"id\":\"f%u\",\"type\":\"job.submit\",\"payload\":{"
                      "\"agent\":\"flood\"}}",
                      i);
            await_answer(&w, "job.accepted", "job.error");
        }
        wire_close(&w);
        (void)sleep(2); /* until their limit has ended them, or the time is over */
    }
}

/* ---- requests that are refused ---- */

static void say_refused_hellos(const daemon_state *d)
{
    static wire w;
    for (;;) {
        if (wire_try(&w, d->port)) {
            wire_send_hello(&w, "t-nobody");
            (void)wire_await_close(&w);
            wire_close(&w);
        }
    }
}

static void submit_to_no_agent(const daemon_state *d)
{
    static wire w;
    open_as(&w, d, "t-alice");
    for (unsigned number = 0;; number++) {
        wire_send(&w,
                  "{\"arcp\":\"1.1\",\"id\":\"r%u\",\"type\":\"job.submit\",\"payload\":{"
                  "\"agent\":\"nobody\"}}",
                  number);
        discard(&w);
    }
}

/* ---- many frames ---- */

static void pipeline_submits(const daemon_state *d)
{
    static wire w;
    open_as(&w, d, "t-alice");
    for (unsigned i = 0;; i++) {
        wire_send(&w,
                  "{\"arcp\":\"1.1\",\"id\":\"p%u\",\"type\":\"job.submit\",\"payload\":{" LITTLE
                  "}}",
                  i);
        discard(&w);
    }
}

static void send_ignored_frames(const daemon_state *d)
{
    static wire wires[IGNORING_LINKS];
    for (unsigned i = 0; i < IGNORING_LINKS; i++) {
        open_as(&wires[i], d, "t-alice");
    }
    for (unsigned i = 0;; i = (i + 1) % IGNORING_LINKS) {
        wire_send(&wires[i], "%s",
                  "{\"arcp\":\"1.1\",\"id\":\"x\",\"type\":\"x-vendor.nothing.known\",\"payload\":{"
                  "}}");
        discard(&wires[i]);
    }
}

/* ---- silent unauthenticated connections ---- */

static void connect_silently(const daemon_state *d)
{
    static int fds[SILENT_MAX];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(d->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (unsigned i = 0;; i = (i + 1) % SILENT_MAX) {
        if (fds[i] > 0) {
            (void)close(fds[i]);
        }
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        (void)connect(fds[i], (struct sockaddr *)&to, sizeof to);
        (void)usleep(1000);
    }
}

/* The first bytes of a frame of 61 440 (0xf000), after the upgrade. */
static void upgrade_and_stop(const daemon_state *d)
{
    static const unsigned char head[8] = {0x81, 0xfe, 0xf0, 0x00, 0, 0, 0, 0};
    static char part[PART];
    static wire wires[SILENT_MAX];
    memset(part, 'x', sizeof part);
    for (unsigned i = 0; i < SILENT_MAX; i++) {
        wires[i].fd = -1;
    }
    for (unsigned i = 0;; i = (i + 1) % SILENT_MAX) {
        wire_close(&wires[i]);
        if (wire_try(&wires[i], d->port)) {
            wire_send_bytes(&wires[i], head, sizeof head);
            wire_send_bytes(&wires[i], part, sizeof part);
        }
        (void)usleep(1000);
    }
}

/* Sets job_bytes, so that the disk is not filled. */
#define SAYS_LITTLE "limits:\n  job_bytes: 16777216\n"

const hostile_attack hostile_attacks[] = {
    {"nothing", NULL, NULL, NULL},
    {"list_jobs, not read", NULL, keep_jobs, list_without_reading},
    {"leases hard to narrow", POLICY, NULL, submit_hard_lease},
    {"jobs with large leases", NULL, NULL, run_large_leases},
    {"flooding agents, owner gone", SAYS_LITTLE, NULL, leave_flooding_agents},
    {"refused hellos", NULL, NULL, say_refused_hellos},
    {"refused submits", NULL, NULL, submit_to_no_agent},
    {"pipelined submits", NULL, NULL, pipeline_submits},
    {"4 links of ignored frames", NULL, NULL, send_ignored_frames},
    {"silent connections", NULL, NULL, connect_silently},
    {"half-open connections", NULL, NULL, upgrade_and_stop},
};
const unsigned hostile_attack_count = sizeof hostile_attacks / sizeof hostile_attacks[0];
