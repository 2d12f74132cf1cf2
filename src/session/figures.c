#include "session/figures.h"

#include <stddef.h>

#define SECONDS        3600u
#define MINUTES        1440u
#define CURRENCIES     8u
#define MICROS         1000000u
#define UNITS_OF_MICRO ((arcp__units)1000000000000) /* 10^-18 in 10^-6 */
#define COMMIT_BUCKETS 128u

/* What happened in a second or minute, and what there was at its end. Counts that do not fit are
 * added to the next sample. 512 KB are all that figures may use. */
typedef struct figure_sample {
    uint32_t stamp; /* which one it is, plus 1; 0: none */
    uint32_t events;
    uint32_t spent[CURRENCIES]; /* in 10^-6 */
    uint32_t running, queued, sessions, memory_kib, store_queue_kib;
    uint32_t commit_p50_us, commit_p99_us;
    uint16_t begun, refused;
    uint16_t success, error, cancelled, timed_out;
    uint16_t denials[ARCP__CAPABILITY_COUNT];
} figure_sample;

/* The same as counters since the start. */
typedef struct totals {
    uint64_t begun, refused, success, error, cancelled, timed_out, events;
    uint64_t denials[ARCP__CAPABILITY_COUNT];
    uint64_t spent[CURRENCIES];
} totals;

typedef struct figure_ring {
    figure_sample *samples;
    size_t size;
    int64_t step_ns;
    int64_t open;                     /* number of the second or minute that has not ended */
    figure_sample last;               /* the last one that was closed */
    totals recorded;                  /* in the samples so far */
    uint16_t commits[COMMIT_BUCKETS]; /* in the open one, by how long they took */
} figure_ring;

struct arcp__figures {
    figure_ring rings[2]; /* by arcp__figures_range */
    int64_t started_ns;
    figure_sample seconds[SECONDS], minutes[MINUTES];
};
_Static_assert(sizeof(arcp__figures) <= 524288, "figures use 512 KB at most");

bool arcp__figures_init(arcp__sessions *sessions)
{
    arcp__figures *figures = arcp__alloc(sizeof *figures);
    if (figures == NULL) {
        return false;
    }
    figures->started_ns = sessions->context->now.mono_ns;
    figures->rings[ARCP__FIGURES_HOUR] =
        (figure_ring){.samples = figures->seconds, .size = SECONDS, .step_ns = ARCP_NS_PER_SEC};
    figures->rings[ARCP__FIGURES_DAY] = (figure_ring){
        .samples = figures->minutes, .size = MINUTES, .step_ns = 60 * ARCP_NS_PER_SEC};
    for (size_t i = 0; i < 2; i++) {
        figures->rings[i].open = figures->started_ns / figures->rings[i].step_ns;
    }
    sessions->figures = figures;
    return true;
}

/* ---- times of commits, in buckets of a quarter of a power of two ---- */

static size_t bucket_of(uint64_t us)
{
    if (us < 4) {
        return (size_t)us;
    }
    const unsigned bits = 63u - (unsigned)__builtin_clzll(us);
    const size_t bucket = (size_t)(bits - 1) * 4 + ((us >> (bits - 2)) & 3);
    return bucket < COMMIT_BUCKETS ? bucket : COMMIT_BUCKETS - 1;
}

/* The middle of a bucket. */
static uint32_t bucket_us(size_t bucket)
{
    if (bucket < 4) {
        return (uint32_t)bucket;
    }
    const unsigned shift = (unsigned)(bucket / 4) - 1;
    return (uint32_t)(((4 + bucket % 4) << shift) + (((uint64_t)1 << shift) >> 1));
}

static uint32_t percentile(const figure_ring *ring, unsigned percent)
{
    uint64_t count = 0;
    for (size_t i = 0; i < COMMIT_BUCKETS; i++) {
        count += ring->commits[i];
    }
    const uint64_t least = (count * percent + 99) / 100;
    uint64_t seen = 0;
    for (size_t i = 0; i < COMMIT_BUCKETS && count != 0; i++) {
        seen += ring->commits[i];
        if (seen >= least) {
            return bucket_us(i);
        }
    }
    return 0;
}

void arcp__figures_committed(arcp__sessions *sessions, int64_t took_ns)
{
    const size_t bucket = bucket_of(took_ns < 0 ? 0 : (uint64_t)took_ns / 1000);
    for (size_t i = 0; i < 2; i++) {
        uint16_t *count = &sessions->figures->rings[i].commits[bucket];
        *count += *count < UINT16_MAX;
    }
}

/* ---- samples ---- */

static totals sum_up(const arcp__sessions *sessions)
{
    const arcp__job_metrics *jobs = &sessions->jobs->metrics;
    totals all = {.begun = jobs->began_count, .events = jobs->event_count};
    for (size_t i = 0; i <= ARCP__METRIC_AGENTS_MAX; i++) {
        all.success += jobs->agents[i].ended[ARCP_JOB_SUCCESS];
        all.error += jobs->agents[i].ended[ARCP_JOB_ERROR];
        all.cancelled += jobs->agents[i].ended[ARCP_JOB_CANCELLED];
        all.timed_out += jobs->agents[i].ended[ARCP_JOB_TIMED_OUT];
    }
    for (size_t code = 0; code < ARCP_STATUS_COUNT; code++) {
        all.refused += sessions->metrics.submits_refused[code];
        for (size_t capability = 0; capability < ARCP__CAPABILITY_COUNT; capability++) {
            all.denials[capability] += jobs->denials[code][capability];
        }
    }
    for (size_t i = 0; i < CURRENCIES; i++) {
        all.spent[i] = (uint64_t)(arcp__decimal_units(jobs->spent[i].amount) / UNITS_OF_MICRO);
    }
    return all;
}

static uint64_t take(uint64_t now, uint64_t *recorded, uint64_t max)
{
    const uint64_t count = now - *recorded < max ? now - *recorded : max;
    *recorded += count;
    return count;
}

static uint16_t take_16(uint64_t now, uint64_t *recorded)
{
    return (uint16_t)take(now, recorded, UINT16_MAX);
}

static uint32_t take_32(uint64_t now, uint64_t *recorded)
{
    return (uint32_t)take(now, recorded, UINT32_MAX);
}

static uint32_t kib(uint64_t bytes)
{
    return bytes / 1024 > UINT32_MAX ? UINT32_MAX : (uint32_t)(bytes / 1024);
}

static void write_gauges(const arcp__sessions *sessions, figure_sample *out)
{
    const arcp__jobs *jobs = sessions->jobs;
    const arcp__agent_hosts *hosts = jobs->hosts;
    out->running = (uint32_t)jobs->running;
    out->queued = (uint32_t)(jobs->placement.waiting[ARCP__PLACE_DELEGATED] +
                             jobs->placement.waiting[ARCP__PLACE_SUBMITTED]);
    out->sessions = (uint32_t)sessions->count;
    out->memory_kib = hosts->memory_bytes == NULL ? 0 : kib(hosts->memory_bytes(hosts->user));
    out->store_queue_kib = kib(sessions->log->queue_bytes);
}

static void put(figure_ring *ring, int64_t number, const figure_sample *closed)
{
    figure_sample *slot = &ring->samples[(uint64_t)number % ring->size];
    *slot = *closed;
    slot->stamp = (uint32_t)number + 1;
    ring->last = *slot;
}

/* Closes the second or minute that is open. If there was none directly before it, that gets a
 * sample, too, which says what there was all that time. */
static void close_open(const arcp__sessions *sessions, figure_ring *ring)
{
    const totals now = sum_up(sessions);
    totals *done = &ring->recorded;
    if (ring->last.stamp != 0 && ring->last.stamp != (uint32_t)ring->open) {
        const figure_sample quiet = {.running = ring->last.running,
                                     .queued = ring->last.queued,
                                     .sessions = ring->last.sessions,
                                     .memory_kib = ring->last.memory_kib,
                                     .store_queue_kib = ring->last.store_queue_kib};
        put(ring, ring->open - 1, &quiet);
    }
    figure_sample closed = {.events = take_32(now.events, &done->events),
                            .commit_p50_us = percentile(ring, 50),
                            .commit_p99_us = percentile(ring, 99),
                            .begun = take_16(now.begun, &done->begun),
                            .refused = take_16(now.refused, &done->refused),
                            .success = take_16(now.success, &done->success),
                            .error = take_16(now.error, &done->error),
                            .cancelled = take_16(now.cancelled, &done->cancelled),
                            .timed_out = take_16(now.timed_out, &done->timed_out)};
    for (size_t i = 0; i < ARCP__CAPABILITY_COUNT; i++) {
        closed.denials[i] = take_16(now.denials[i], &done->denials[i]);
    }
    for (size_t i = 0; i < CURRENCIES; i++) {
        closed.spent[i] = take_32(now.spent[i], &done->spent[i]);
    }
    write_gauges(sessions, &closed);
    put(ring, ring->open, &closed);
    memset(ring->commits, 0, sizeof ring->commits);
}

void arcp__figures_turn(arcp__sessions *sessions)
{
    for (size_t i = 0; i < 2; i++) {
        figure_ring *one = &sessions->figures->rings[i];
        const int64_t number = sessions->context->now.mono_ns / one->step_ns;
        if (number == one->open) {
            return; /* then the minute has not ended either */
        }
        close_open(sessions, one);
        one->open = number;
    }
}

/* ---- series ---- */

typedef enum figure_kind { COUNT, GAUGE, GREATEST } figure_kind;

typedef struct figure_row {
    const char *group, *name; /* group: NULL for none */
    size_t offset, size;      /* in a sample */
    figure_kind kind;
    unsigned scale;         /* bytes in a unit */
    bool is_money, is_rare; /* is_rare: left out where it is zero throughout */
} figure_row;

#define FIGURE(group, name, member, ...)                                                           \
    {                                                                                              \
        group, name, offsetof(figure_sample, member), sizeof((figure_sample){0}.member),           \
            __VA_ARGS__                                                                            \
    }
static const figure_row figures[] = {
    FIGURE(NULL, "begun", begun, COUNT, 1, false, false),
    FIGURE("ended", "success", success, COUNT, 1, false, false),
    FIGURE("ended", "error", error, COUNT, 1, false, false),
    FIGURE("ended", "cancelled", cancelled, COUNT, 1, false, false),
    FIGURE("ended", "timed_out", timed_out, COUNT, 1, false, false),
    FIGURE(NULL, "running", running, GAUGE, 1, false, false),
    FIGURE(NULL, "queued", queued, GAUGE, 1, false, false),
    FIGURE(NULL, "events", events, COUNT, 1, false, false),
    FIGURE(NULL, "submits_refused", refused, COUNT, 1, false, false),
    FIGURE(NULL, "sessions", sessions, GAUGE, 1, false, false),
    FIGURE(NULL, "memory_bytes", memory_kib, GAUGE, 1024, false, true),
    FIGURE(NULL, "store_queue_bytes", store_queue_kib, GAUGE, 1024, false, false),
    FIGURE(NULL, "commit_p50_us", commit_p50_us, GREATEST, 1, false, false),
    FIGURE(NULL, "commit_p99_us", commit_p99_us, GREATEST, 1, false, false),
};

/* Points of several samples each, and which of them are written. */
typedef struct figure_window {
    const figure_ring *ring;
    int64_t from;
    size_t points, step;
    bool is_one; /* a number for each figure instead of a series */
} figure_window;

static uint64_t value_of(const figure_sample *sample, const figure_row *figure)
{
    const char *at = (const char *)sample + figure->offset;
    uint16_t small = 0;
    uint32_t large = 0;
    if (figure->size == sizeof small) {
        memcpy(&small, at, sizeof small);
        return small;
    }
    memcpy(&large, at, sizeof large);
    return large;
}

/* NULL: it had no input. */
static const figure_sample *find(const figure_ring *ring, int64_t number)
{
    const figure_sample *slot = &ring->samples[(uint64_t)number % ring->size];
    return slot->stamp == (uint32_t)number + 1 ? slot : NULL;
}

/* What the gauge showed before the first sample of the window: what the first one shows, or the
 * last of all, because the samples around a time without inputs are alike. */
static uint64_t first_gauge(const figure_window *window, const figure_row *figure)
{
    const int64_t end = window->from + (int64_t)(window->points * window->step);
    for (int64_t number = window->from; number < end; number++) {
        const figure_sample *found = find(window->ring, number);
        if (found != NULL) {
            return value_of(found, figure);
        }
    }
    return value_of(&window->ring->last, figure);
}

static void write_value(const figure_row *figure, uint64_t value, arcp_json_writer *writer)
{
    if (figure->is_money) {
        char text[ARCP_DECIMAL_TEXT_MAX];
        const size_t size =
            arcp_decimal_format(arcp__decimal_of((arcp__units)value * UNITS_OF_MICRO), text);
        arcp_json_write_raw(writer, arcp_span_make(text, size));
    } else {
        arcp_json_write_u64(writer, value * figure->scale);
    }
}

static void write_figure(const figure_window *window, const figure_row *figure,
                         arcp_json_writer *writer)
{
    uint64_t value = figure->kind == GAUGE ? first_gauge(window, figure) : 0;
    arcp_json_name(writer, figure->name);
    if (!window->is_one) {
        arcp_json_begin_array(writer);
    }
    int64_t number = window->from;
    for (size_t point = 0; point < window->points; point++) {
        value = figure->kind == GAUGE ? value : 0;
        for (size_t i = 0; i < window->step; i++, number++) {
            const figure_sample *found = find(window->ring, number);
            const uint64_t one = found == NULL ? 0 : value_of(found, figure);
            if (found != NULL && figure->kind == GAUGE) {
                value = one;
            } else if (figure->kind == COUNT) {
                value += one;
            } else if (figure->kind == GREATEST && one > value) {
                value = one;
            }
        }
        write_value(figure, value, writer);
    }
    if (!window->is_one) {
        arcp_json_end_array(writer);
    }
}

static bool is_zero(const figure_window *window, const figure_row *figure)
{
    const int64_t end = window->from + (int64_t)(window->points * window->step);
    for (int64_t number = window->from; number < end; number++) {
        const figure_sample *found = find(window->ring, number);
        if (found != NULL && value_of(found, figure) != 0) {
            return false;
        }
    }
    return figure->kind != GAUGE || value_of(&window->ring->last, figure) == 0;
}

static void write_spent(const arcp__sessions *sessions, const figure_window *window,
                        arcp_json_writer *writer)
{
    const arcp__job_metrics *jobs = &sessions->jobs->metrics;
    arcp__put_object(writer, "spend");
    for (size_t i = 0; i < CURRENCIES && i < jobs->currency_count; i++) {
        const figure_row spent = {NULL,
                                  jobs->spent[i].currency,
                                  offsetof(figure_sample, spent) + i * sizeof(uint32_t),
                                  sizeof(uint32_t),
                                  COUNT,
                                  1,
                                  true,
                                  false};
        write_figure(window, &spent, writer);
    }
    arcp_json_end_object(writer);
}

static void write_denials(const figure_window *window, arcp_json_writer *writer)
{
    arcp__put_object(writer, "denials");
    for (size_t i = 0; i < ARCP__CAPABILITY_COUNT; i++) {
        const char *name = arcp__capability_name((arcp__capability)i);
        const figure_row denials = {NULL,
                                    name[0] == '\0' ? "other" : name,
                                    offsetof(figure_sample, denials) + i * sizeof(uint16_t),
                                    sizeof(uint16_t),
                                    COUNT,
                                    1,
                                    false,
                                    true};
        if (!is_zero(window, &denials)) {
            write_figure(window, &denials, writer);
        }
    }
    arcp_json_end_object(writer);
}

/* What there is now; nothing where no worker is known. */
static void write_workers(const arcp__jobs *jobs, arcp_json_writer *writer)
{
    const arcp__worker_counts workers = arcp__workers_count(jobs);
    if (workers.joined + workers.away + workers.draining != 0) {
        arcp__put_object(writer, "workers");
        arcp__put_u64(writer, "joined", workers.joined);
        arcp__put_u64(writer, "away", workers.away);
        arcp__put_u64(writer, "draining", workers.draining);
        arcp__put_u64(writer, "jobs", workers.jobs);
        arcp__put_u64(writer, "capacity", workers.capacity);
        arcp_json_end_object(writer);
    }
}

static void write_figures(const arcp__sessions *sessions, const figure_window *window,
                          arcp_json_writer *writer)
{
    const char *group = NULL;
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const figure_row *one = &figures[i];
        if (group != NULL && one->group == NULL) {
            arcp_json_end_object(writer);
        } else if (group == NULL && one->group != NULL) {
            arcp__put_object(writer, one->group);
        }
        group = one->group;
        if (!one->is_rare || !is_zero(window, one)) {
            write_figure(window, one, writer);
        }
    }
    write_denials(window, writer);
    write_spent(sessions, window, writer);
    write_workers(sessions->jobs, writer);
    const arcp__agent_hosts *hosts = sessions->jobs->hosts;
    arcp__put_bool(writer, "store_failing", arcp__log_is_failing(sessions->log));
    arcp__put_bool(writer, "audit_failing", sessions->log->audit_failing);
    arcp__put_word(writer, "enforcement",
                   hosts->enforcement == NULL ? NULL : hosts->enforcement(hosts->user));
}

/* The wall clock's time at a time of the monotonic clock. */
static int64_t wall_at(const arcp__sessions *sessions, int64_t mono_ns)
{
    return sessions->context->now.wall_ns - (sessions->context->now.mono_ns - mono_ns);
}

void arcp__figures_write(const arcp__sessions *sessions, arcp__figures_range range,
                         size_t bytes_max, arcp_buf *out)
{
    const arcp__figures *all = sessions->figures;
    const figure_ring *ring = &all->rings[range];
    const int64_t first = all->started_ns / ring->step_ns;
    const int64_t oldest = ring->open - (int64_t)ring->size;
    const size_t samples = (size_t)(ring->open - (first > oldest ? first : oldest));
    size_t step = 0;
    do {
        step = step == 0 ? 1 : step * 2;
        const size_t points = samples / step;
        const figure_window window = {.ring = ring,
                                      .from = ring->open - (int64_t)(points * step),
                                      .points = points,
                                      .step = step};
        arcp_buf_clear(out);
        arcp_json_writer writer = arcp__put_begin(out);
        arcp__put_cstr(&writer, "range", range == ARCP__FIGURES_HOUR ? "1h" : "24h");
        arcp__put_u64(&writer, "step_sec", step * (uint64_t)(ring->step_ns / ARCP_NS_PER_SEC));
        arcp__write_timestamp(&writer, "from", wall_at(sessions, window.from * ring->step_ns));
        arcp__write_timestamp(&writer, "since", wall_at(sessions, all->started_ns));
        arcp__put_u64(&writer, "points", points);
        write_figures(sessions, &window, &writer);
        arcp_json_end_object(&writer);
    } while (out->size > bytes_max && step < samples && !out->failed);
}

void arcp__figures_write_last(const arcp__sessions *sessions, arcp_buf *out)
{
    const figure_ring *ring = &sessions->figures->rings[ARCP__FIGURES_HOUR];
    const figure_window window = {
        .ring = ring, .from = ring->open - 1, .points = 1, .step = 1, .is_one = true};
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__write_timestamp(&writer, "at", wall_at(sessions, ring->open * ring->step_ns));
    write_figures(sessions, &window, &writer);
    arcp_json_end_object(&writer);
}
