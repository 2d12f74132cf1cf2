#include "client/rough_proxy.h"

#include "support/check.h"

#include <arpa/inet.h>

#include <arcp/buf.h>

#define READ_BYTES  16384
#define PENDING_MAX 65536 /* reading stops at this size */
#define PIECE_MAX   65536
#define TINY_BUDGET 8192 /* connections that are split into bytes do not last long */
#define LATE_MS_MAX 8
#define NEVER       UINT64_MAX

/* One direction of a connection. */
typedef struct way {
    struct rough_pair *pair;
    uv_tcp_t *from, *to;
    uv_timer_t timer;
    uv_write_t write;
    uv_shutdown_t shutdown;
    arcp_buf pending; /* data read; what follows `sent` is not written yet */
    size_t sent;
    size_t writing; /* bytes of `pending` that are being written */
    bool is_late;   /* the timer is running: the next piece waits for it */
    bool reads;
    bool has_ended; /* `from` has no more */
    bool is_shut;   /* `to` was shut down */
    bool swallows;  /* data is read and discarded */
    char room[READ_BYTES];
} way;

typedef struct rough_pair {
    rough_proxy *proxy;
    struct rough_pair *next;
    uv_tcp_t client, server;
    uv_connect_t connect;
    way down, up; /* to the client, to the server */
    rough_trouble trouble;
    uint64_t budget; /* bytes until the trouble happens; NEVER: it has happened */
    uint32_t piece_max;
    uint32_t late_per_mille;
    unsigned open_handles;
    bool is_closing;
} rough_pair;

/* ---- random choices ---- */

static uint64_t next_random(rough_proxy *proxy)
{
    uint64_t z = proxy->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t between(rough_proxy *proxy, uint64_t least, uint64_t most)
{
    return least + next_random(proxy) % (most - least + 1);
}

static rough_trouble choose_trouble(rough_proxy *proxy)
{
    /* Percentages; a stall costs two heartbeats, so there are few. */
    static const unsigned shares[ROUGH_TROUBLES] = {46, 22, 22, 3, 7};
    uint64_t percent = between(proxy, 0, 99);
    for (unsigned trouble = 0; trouble < ROUGH_TROUBLES; trouble++) {
        if (percent < shares[trouble]) {
            return (rough_trouble)trouble;
        }
        percent -= shares[trouble];
    }
    return ROUGH_RESET;
}

/* Chooses the trouble of a new connection. */
static void choose_fate(rough_pair *pair)
{
    rough_proxy *proxy = pair->proxy;
    static const uint32_t pieces[] = {7, 200, 4000, PIECE_MAX, PIECE_MAX};
    static const uint32_t late[] = {0, 0, 5, 50};
    pair->trouble = choose_trouble(proxy);
    pair->piece_max = pieces[between(proxy, 0, 4)];
    pair->late_per_mille = late[between(proxy, 0, 3)];
    pair->budget = between(proxy, proxy->bytes_min, proxy->bytes_max);
    if (pair->piece_max == pieces[0] && pair->budget > TINY_BUDGET) {
        pair->budget = TINY_BUDGET;
    }
}

/* ---- the end of a pair ---- */

static void on_handle_closed(uv_handle_t *handle)
{
    rough_pair *pair = handle->data;
    if (--pair->open_handles != 0) {
        return;
    }
    rough_pair **link = &pair->proxy->pairs;
    while (*link != pair) {
        link = &(*link)->next;
    }
    *link = pair->next;
    arcp_buf_fini(&pair->down.pending);
    arcp_buf_fini(&pair->up.pending);
    free(pair);
}

static void close_tcp(uv_tcp_t *tcp, bool with_reset)
{
    /* A reset is refused while a shutdown is under way. */
    if (!with_reset || uv_tcp_close_reset(tcp, on_handle_closed) != 0) {
        uv_close((uv_handle_t *)tcp, on_handle_closed);
    }
}

static void close_pair(rough_pair *pair, bool with_reset)
{
    if (pair->is_closing) {
        return;
    }
    pair->is_closing = true;
    uv_close((uv_handle_t *)&pair->down.timer, on_handle_closed);
    uv_close((uv_handle_t *)&pair->up.timer, on_handle_closed);
    close_tcp(&pair->client, with_reset);
    close_tcp(&pair->server, with_reset);
}

/* ---- forwarding ---- */

static size_t unsent(const way *w)
{
    return w->pending.size - w->sent;
}

static void drop_pending(way *w)
{
    arcp_buf_clear(&w->pending);
    w->sent = 0;
}

static void pump(way *w);
static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *bytes);

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *out)
{
    rough_pair *pair = handle->data;
    way *w = (uv_handle_t *)pair->up.from == handle ? &pair->up : &pair->down;
    *out = uv_buf_init(w->room, READ_BYTES);
}

static void read_on(way *w)
{
    const bool wanted = w->pending.size < PENDING_MAX && !w->has_ended;
    if (wanted && !w->reads) {
        assert_int_equal(uv_read_start((uv_stream_t *)w->from, on_alloc, on_read), 0);
    } else if (!wanted && w->reads) {
        (void)uv_read_stop((uv_stream_t *)w->from);
    }
    w->reads = wanted;
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    (void)request;
    (void)status; /* the other side may be closed already; reading reports it */
}

/* Shuts the other side down when everything before the end was written. */
static void shut(way *w)
{
    if (!w->is_shut && w->writing == 0) {
        w->is_shut = true;
        (void)uv_shutdown(&w->shutdown, (uv_stream_t *)w->to, on_shutdown);
    }
    rough_pair *pair = w->pair;
    if (pair->down.is_shut && pair->up.is_shut && pair->down.has_ended && pair->up.has_ended) {
        close_pair(pair, false);
    }
}

/* Makes `w` discard everything from now on. */
static void swallow(way *w)
{
    w->swallows = true;
    if (w->writing == 0) {
        drop_pending(w);
    }
}

static void get_into_trouble(rough_pair *pair)
{
    pair->budget = NEVER;
    pair->proxy->troubles[pair->trouble]++;
    switch (pair->trouble) {
    case ROUGH_HALF_CLOSED_CLIENT:
        swallow(&pair->down);
        shut(&pair->down);
        return;
    case ROUGH_HALF_CLOSED_SERVER:
        swallow(&pair->up);
        shut(&pair->up);
        return;
    case ROUGH_STALLED:
        swallow(&pair->down);
        swallow(&pair->up);
        return;
    case ROUGH_RESET:
    case ROUGH_REFUSED:
    case ROUGH_TROUBLES:
        close_pair(pair, true);
        return;
    }
}

/* Subtracts from the budget; true if it is used up. */
static bool spend(rough_pair *pair, size_t size)
{
    pair->proxy->bytes += size;
    if (pair->budget == NEVER) {
        return false;
    }
    pair->budget -= size < pair->budget ? size : pair->budget;
    return pair->budget == 0;
}

static void on_written(uv_write_t *request, int status)
{
    way *w = request->data;
    rough_pair *pair = w->pair;
    if (pair->is_closing) {
        return;
    }
    if (status != 0) {
        close_pair(pair, true);
        return;
    }
    const size_t written = w->writing;
    w->writing = 0;
    w->sent += written;
    if (w->sent == w->pending.size) {
        drop_pending(w);
    } else if (w->sent >= PENDING_MAX / 2) {
        arcp_buf_consume(&w->pending, w->sent);
        w->sent = 0;
    }
    if (spend(pair, written)) {
        get_into_trouble(pair);
    }
    if (!pair->is_closing) {
        pump(w);
    }
}

static void write_piece(way *w)
{
    rough_proxy *proxy = w->pair->proxy;
    size_t size = (size_t)between(proxy, 1, w->pair->piece_max);
    size = size < unsent(w) ? size : unsent(w);
    w->writing = size;
    w->write.data = w;
    proxy->pieces++;
    uv_buf_t piece = uv_buf_init(w->pending.data + w->sent, (unsigned)size);
    if (uv_write(&w->write, (uv_stream_t *)w->to, &piece, 1, on_written) != 0) {
        close_pair(w->pair, true);
    }
}

static void on_time(uv_timer_t *timer)
{
    rough_pair *pair = timer->data;
    way *w = &pair->down.timer == timer ? &pair->down : &pair->up;
    w->is_late = false;
    if (!w->swallows && w->pending.size != 0) {
        write_piece(w);
    } else {
        pump(w);
    }
}

/* The next step of one direction. While a write is in progress nothing is appended to `pending`,
 * because that could move the bytes being written. */
static void pump(way *w)
{
    const rough_pair *pair = w->pair;
    rough_proxy *proxy = pair->proxy;
    if (w->writing != 0 || w->is_late) {
        return;
    }
    if (w->swallows) {
        drop_pending(w);
    }
    if (w->pending.size == 0) {
        const bool is_half_closed =
            pair->budget == NEVER && w->swallows && !w->is_shut && pair->trouble != ROUGH_STALLED;
        if (w->has_ended || is_half_closed) {
            shut(w);
        }
    } else if (between(proxy, 0, 999) < pair->late_per_mille) {
        w->is_late = true;
        proxy->late_pieces++;
        (void)uv_timer_start(&w->timer, on_time, between(proxy, 1, LATE_MS_MAX), 0);
    } else {
        write_piece(w);
    }
    if (!pair->is_closing) {
        read_on(w);
    }
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *bytes)
{
    rough_pair *pair = stream->data;
    way *w = (uv_stream_t *)pair->up.from == stream ? &pair->up : &pair->down;
    if (got == 0) {
        return;
    }
    if (got < 0) {
        w->has_ended = true;
        w->reads = false;
        (void)uv_read_stop(stream);
        /* A stalled pair does not end by itself: one of the peers must close it. */
        if (got != UV_EOF || (pair->trouble == ROUGH_STALLED && pair->budget == NEVER)) {
            close_pair(pair, true);
            return;
        }
    } else if (!w->swallows) {
        assert_true(w->pending.size + (size_t)got <= w->pending.capacity);
        arcp_buf_append(&w->pending, arcp_span_make(bytes->base, (size_t)got));
    }
    pump(w);
    if (!pair->is_closing) {
        read_on(w);
    }
}

/* ---- new connections ---- */

static void on_connected(uv_connect_t *request, int status)
{
    rough_pair *pair = request->data;
    if (pair->is_closing) {
        return;
    }
    if (status != 0) {
        close_pair(pair, true);
        return;
    }
    (void)uv_tcp_nodelay(&pair->server, 1);
    read_on(&pair->down);
    read_on(&pair->up);
}

static void init_way(rough_pair *pair, way *w, uv_tcp_t *from, uv_tcp_t *to)
{
    *w = (way){.pair = pair, .from = from, .to = to};
    assert_true(arcp_buf_reserve(&w->pending, PENDING_MAX + READ_BYTES));
    assert_int_equal(uv_timer_init(pair->client.loop, &w->timer), 0);
    w->timer.data = pair;
}

static void on_connection(uv_stream_t *listener, int status)
{
    rough_proxy *proxy = listener->data;
    assert_int_equal(status, 0);
    rough_pair *pair = calloc(1, sizeof *pair);
    assert_non_null(pair);
    pair->proxy = proxy;
    pair->next = proxy->pairs;
    proxy->pairs = pair;
    proxy->connections++;
    assert_int_equal(uv_tcp_init(listener->loop, &pair->client), 0);
    assert_int_equal(uv_tcp_init(listener->loop, &pair->server), 0);
    pair->client.data = pair;
    pair->server.data = pair;
    pair->open_handles = 4;
    init_way(pair, &pair->down, &pair->server, &pair->client);
    init_way(pair, &pair->up, &pair->client, &pair->server);
    choose_fate(pair);
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&pair->client), 0);
    (void)uv_tcp_nodelay(&pair->client, 1);
    if (pair->trouble == ROUGH_REFUSED) {
        proxy->troubles[ROUGH_REFUSED]++;
        close_pair(pair, true);
        return;
    }
    struct sockaddr_in address;
    assert_int_equal(uv_ip4_addr("127.0.0.1", proxy->target, &address), 0);
    pair->connect.data = pair;
    if (uv_tcp_connect(&pair->connect, &pair->server, (const struct sockaddr *)&address,
                       on_connected) != 0) {
        close_pair(pair, true);
    }
}

void rough_proxy_start(rough_proxy *proxy, uv_loop_t *loop, unsigned short target, uint64_t seed,
                       uint64_t bytes_min, uint64_t bytes_max)
{
    struct sockaddr_in address;
    int size = sizeof address;
    *proxy = (rough_proxy){
        .target = target, .random = seed, .bytes_min = bytes_min, .bytes_max = bytes_max};
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &address), 0);
    assert_int_equal(uv_tcp_init(loop, &proxy->listener), 0);
    proxy->listener.data = proxy;
    assert_int_equal(uv_tcp_bind(&proxy->listener, (const struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&proxy->listener, 64, on_connection), 0);
    assert_int_equal(uv_tcp_getsockname(&proxy->listener, (struct sockaddr *)&address, &size), 0);
    proxy->port = ntohs(address.sin_port);
}

void rough_proxy_stop(rough_proxy *proxy)
{
    uv_close((uv_handle_t *)&proxy->listener, NULL);
    for (rough_pair *pair = proxy->pairs; pair != NULL; pair = pair->next) {
        close_pair(pair, true);
    }
}

const char *rough_trouble_name(rough_trouble trouble)
{
    static const char *const names[ROUGH_TROUBLES] = {
        "resets", "half-closed to the client", "half-closed to the server", "stalls", "refusals"};
    return names[trouble];
}
