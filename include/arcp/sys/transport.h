/* Transports: connections and listeners that carry frames.
 *
 * A connection carries whole frames (one JSON text each) in both directions. All functions and
 * callbacks run on the thread of its libuv loop. A callback is always called from the loop, never
 * from inside a call on the same connection, so that an owner may call everything, free included,
 * from any callback.
 *
 * WebSocket, pipes and memory behave alike: one test suite runs over all of them. Programs must
 * ignore SIGPIPE (signal(SIGPIPE, SIG_IGN)), as libuv requires. Options begin with their init
 * function; those of a newer release are refused with ARCP_E_USAGE. Draft §4. */
#ifndef ARCP_SYS_TRANSPORT_H
#define ARCP_SYS_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/sys/admission.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uv_loop_s; /* uv_loop_t of <uv.h> */

typedef struct arcp_connection arcp_connection;
typedef struct arcp_listener arcp_listener;
typedef struct arcp_connector arcp_connector;

/* Limits of the transports; 0 in an options struct means these. */
#define ARCP_FRAME_BYTES_DEFAULT      ((size_t)4 * 1024 * 1024)
#define ARCP_HANDSHAKE_BYTES_DEFAULT  ((size_t)16 * 1024)
#define ARCP_CLOSE_TIMEOUT_MS_DEFAULT 2000u

/* Why a connection ended, in WebSocket's close codes (RFC 6455 §7.4); other transports
 * map to them. A peer may send others of its own (3000 to 4999): a value of this type is
 * not always one of these names. */
typedef enum arcp_close_code {
    ARCP_CLOSE_NORMAL = 1000,
    ARCP_CLOSE_GOING_AWAY = 1001,
    ARCP_CLOSE_PROTOCOL_ERROR = 1002,
    ARCP_CLOSE_UNSUPPORTED = 1003, /* a binary message; of a subprotocol: a text message */
    ARCP_CLOSE_ABNORMAL = 1006,    /* the connection ended without a close; never sent */
    ARCP_CLOSE_BAD_DATA = 1007,    /* text that is not UTF-8 */
    ARCP_CLOSE_POLICY = 1008,
    ARCP_CLOSE_TOO_BIG = 1009,
    ARCP_CLOSE_INTERNAL = 1011,
    ARCP_CLOSE_TRY_AGAIN = 1013 /* there are too many connections now */
} arcp_close_code;

typedef struct arcp_connection_info {
    size_t struct_size;    /* set by the caller */
    const char *transport; /* "ws", "wss", "stdio", "memory" */
    const char *peer;      /* for logs: "127.0.0.1:51234"; lives with the connection */
    bool encrypted;        /* by the transport itself */
    bool local;            /* loopback, a pipe, or the same process */
    uint32_t waited_ms;    /* from accept until its handshake was complete; else 0 */
    bool closed_by_peer;   /* the peer sent the close code */
} arcp_connection_info;

static inline arcp_connection_info arcp_connection_info_init(void)
{
    arcp_connection_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    return info;
}

/* Callbacks of a connection's owner, who sets them right after it got the connection. Any of the
 * four may be NULL. */
typedef struct arcp_connection_callbacks {
    /* A whole frame; valid during the call only. The transport has checked its size; it
     * does not check its UTF-8 or JSON (the owner closes with BAD_DATA when it is not
     * UTF-8). */
    void (*message)(void *user, arcp_connection *connection, arcp_span frame);
    /* The system has taken `written` more bytes of the accepted frames; `unsent` remain. The sum of
     * all `written` and the last `unsent` is the size of all frames that send accepted. For a write
     * that was taken in part the count is proportional. */
    void (*drained)(void *user, arcp_connection *connection, size_t written, size_t unsent);
    /* The peer sends nothing more but may still read: no message follows, and sent frames are still
     * written. Called once, and only over descriptors (arcp_open_stdio). The owner closes when it
     * has sent everything. NULL: the connection closes by itself, with NORMAL. */
    void (*input_over)(void *user, arcp_connection *connection);
    /* The connection ended, by either side; nothing follows, and the owner must call
     * free. The code is that of the side that closed first; ABNORMAL when the end was
     * not an orderly one. `reason` may be ""; valid during the call only. */
    void (*closed)(void *user, arcp_connection *connection, arcp_close_code code,
                   const char *reason);
    void *user;
} arcp_connection_callbacks;

typedef struct arcp_connection_ops {
    size_t struct_size;
    void (*set_callbacks)(arcp_connection *connection, const arcp_connection_callbacks *callbacks);
    /* Fills what `out` has room for. */
    void (*info)(const arcp_connection *connection, arcp_connection_info *out);
    /* Copies the frame into the outgoing buffer. Nothing is written before flush (or the
     * end of the loop's turn). ARCP_E_CLOSED once close was called or the connection
     * ended, ARCP_E_NO_MEMORY; ARCP_E_INVALID_REQUEST on a transport of lines for a frame
     * that is empty or has a line feed. Never refuses for size: that is for the owner, who sees
     * unsent. */
    arcp_status (*send)(arcp_connection *connection, arcp_span frame);
    /* Writes what is buffered, in as few system calls as possible. */
    void (*flush)(arcp_connection *connection);
    /* Bytes accepted by send that the system has not taken yet. */
    size_t (*unsent)(const arcp_connection *connection);
    /* Stops and resumes delivery of messages (and reading from the system). Inside a
     * message callback: no further message follows. The end of a peer may go unnoticed
     * while paused. */
    void (*pause)(arcp_connection *connection);
    void (*resume)(arcp_connection *connection);
    /* The peer is authenticated: a listener's connection is no longer pending (arcp_admission).
     * Does nothing on other transports. */
    void (*admit)(arcp_connection *connection);
    /* Sends what is buffered, then closes in the transport's own way, and cuts the connection after
     * the close timeout (2 s). No message follows; `closed` comes later. Works while paused.
     * Idempotent: the first code and reason stay. `reason` is cut at 123 bytes. */
    void (*close)(arcp_connection *connection, arcp_close_code code, const char *reason);
    /* Cuts the connection at once, and discards unsent frames; `closed` comes later with
     * ABNORMAL. */
    void (*abort)(arcp_connection *connection);
    /* The owner's last call, after `closed` (or any time: implies abort without a
     * further callback). The memory is freed in a later turn of the loop. */
    void (*free)(arcp_connection *connection);
} arcp_connection_ops;

struct arcp_connection {
    const arcp_connection_ops *ops;
};

typedef struct arcp_listener_callbacks {
    /* A connection whose handshake is complete. The owner sets its callbacks before it
     * returns, and owns it. */
    void (*accepted)(void *user, arcp_connection *connection);
    /* A connection ended before its handshake was complete; for logs and counters, may be NULL.
     * `status` is the HTTP status of the response, 0 if none was sent. */
    void (*refused)(void *user, const char *peer, int status, const char *why);
    void *user;
} arcp_listener_callbacks;

typedef struct arcp_listener_ops {
    size_t struct_size;
    /* The URL that clients connect to, with the real port; lives with the listener. */
    const char *(*url)(const arcp_listener *listener);
    /* Reads certificate and key again for connections from now on; open ones keep
     * theirs. When that fails the old ones stay in use. ARCP_OK without TLS. */
    arcp_status (*reload)(arcp_listener *listener, arcp_error *err);
    /* Stops accepting at once (later connects are refused by the system) and drops unfinished
     * handshakes; connections stay. No callback follows. The memory is freed in a later turn of the
     * loop. */
    void (*close)(arcp_listener *listener);
} arcp_listener_ops;

struct arcp_listener {
    const arcp_listener_ops *ops;
};

/* ---- WebSocket server ---------------------------------------------------------------- */

/* A GET or HEAD of a path that is not the listener's own. Host and Origin are allowed. The texts
 * are valid during the call. */
typedef struct arcp_page_request {
    arcp_span path; /* of the target, without its query */
    arcp_span host;
    arcp_span accept_encoding; /* empty: not sent */
    arcp_span if_none_match;   /* empty: not sent */
    bool is_encrypted;
} arcp_page_request;

/* The response to it; zeroed, with empty headers, when it is passed to be filled. */
typedef struct arcp_page {
    int status;
    const char *type;  /* Content-Type; NULL: plain text in UTF-8 */
    arcp_buf *headers; /* further lines, each with its CRLF, are appended to it */
    arcp_span body;    /* valid until the listener is closed */
} arcp_page;

typedef struct arcp_listen_options {
    size_t struct_size;
    /* PEM files, for wss:// only: the chain with the server's own certificate first. */
    const char *certificate_file;
    const char *key_file;
    /* Names allowed in Host besides the loopback names (which are allowed when the
     * listener is bound to loopback): "example.org" with any port, "example.org:8443",
     * "[2001:db8::1]"; "*" allows every name. Without any, a listener that is not bound
     * to loopback takes every name. Borrowed during the call only. */
    const char *const *hosts;
    size_t host_count;
    /* Origins allowed besides the listener's own ("https://app.example.org"); "*" allows
     * every one but "null". A request without Origin does not come from a browser and passes. */
    const char *const *origins;
    size_t origin_count;
    size_t frame_bytes_max;
    size_t handshake_bytes_max;
    uint32_t close_timeout_ms;
    /* The limit for a connection's first frame, whose sender is not authenticated yet; 0: as
     * frame_bytes_max. */
    size_t first_frame_bytes_max;
    /* What counts this listener's connections; a reference is taken. NULL: one of its own. */
    arcp_admission *admission;
    /* Listening sockets that the process was started with, as by a socket unit of systemd. One that
     * is bound to the URL's address is used instead of a new one: the listener owns it, and its
     * element becomes -1. Borrowed during the call only. */
    int *sockets;
    size_t socket_count;
    /* Serves pages from the listener's port, on the loop's thread; it must not block. False: there
     * is nothing at this path (404). NULL: there are no pages. Each response with a status of 400
     * or more also has headers that keep browsers from running or framing it. `page_user` must
     * outlive the listener. */
    bool (*page)(void *page_user, const arcp_page_request *request, arcp_page *out);
    void *page_user;
    /* Another path of the listener, for a protocol of binary messages: a subprotocol of WebSocket
     * (RFC 6455 §1.9), which the client must offer. A request with an Origin comes from a browser
     * and is refused, whatever `origins` says. `binary_accepted` gets these connections, as
     * `accepted` of the callbacks gets the others; they have the limits below (0: those above).
     * NULL: there is no such path. The two texts are copied. */
    const char *binary_path;
    const char *binary_subprotocol;
    size_t binary_bytes_max;
    size_t first_binary_bytes_max;
    void (*binary_accepted)(void *binary_user, arcp_connection *connection);
    void *binary_user;
} arcp_listen_options;

static inline arcp_listen_options arcp_listen_options_init(void)
{
    arcp_listen_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* Listens at ws://HOST:PORT/PATH or wss://…; port 0 picks one, no path is "/arcp".
 * `options` may be NULL. ARCP_E_USAGE for a URL or option that is wrong, ARCP_E_IO when
 * the system refuses ("cannot listen on 127.0.0.1:7777: address already in use"). HOST
 * is an address or a name that is resolved, blocking, once. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_listen_websocket(struct uv_loop_s *loop, const char *url,
                                                           const arcp_listen_options *options,
                                                           const arcp_listener_callbacks *callbacks,
                                                           arcp_listener **out, arcp_error *err);

/* ---- clients --------------------------------------------------------------------------- */

typedef struct arcp_connect_callbacks {
    /* The handshake is complete. The owner sets the connection's callbacks before it
     * returns, and owns it. The connector is freed. */
    void (*connected)(void *user, arcp_connection *connection);
    /* The connection could not be made. The connector is freed. */
    void (*failed)(void *user, const arcp_error *err);
    void *user;
} arcp_connect_callbacks;

typedef struct arcp_connect_options {
    size_t struct_size;
    /* PEM file of the authorities to trust for wss://; NULL: the system's. */
    const char *ca_file;
    /* More request headers for ws:// and wss://, "Name: value" each. Borrowed during the
     * call only. */
    const char *const *headers;
    size_t header_count;
    size_t frame_bytes_max;
    uint32_t timeout_ms; /* until connected, name look-up included; as the handshake's */
    uint32_t close_timeout_ms;
    /* A subprotocol of WebSocket, which the server must choose: messages are binary. NULL: none,
     * messages are text. Borrowed during the call only. */
    const char *subprotocol;
} arcp_connect_options;

static inline arcp_connect_options arcp_connect_options_init(void)
{
    arcp_connect_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* Connects to ws://HOST:PORT/PATH, wss://…, unix:PATH (a local socket that carries the frames of
 * stdio), or stdio:COMMAND (see arcp_spawn_stdio).
 * After ARCP_OK exactly one of the callbacks is made, later, unless the connector is
 * cancelled. ARCP_E_USAGE for a URL or option that is wrong, ARCP_E_IO for a program that
 * cannot be started; what fails later comes to `failed`: ARCP_E_IO (refused, unreachable,
 * TLS, no WebSocket server: the message says which), ARCP_E_DEADLINE. wss:// checks the
 * certificate's chain and that it is HOST's; there is no way to turn that off. `out` may be NULL.
 */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_connect(struct uv_loop_s *loop, const char *url,
                                                  const arcp_connect_options *options,
                                                  const arcp_connect_callbacks *callbacks,
                                                  arcp_connector **out, arcp_error *err);

/* Cancels the attempt and frees the connector; no callback follows. Must not be called after one.
 */
ARCP_API void arcp_connector_cancel(arcp_connector *connector);

/* ---- pipes ------------------------------------------------------------------------------ */

typedef struct arcp_stdio_options {
    size_t struct_size;
    size_t frame_bytes_max; /* a longer line ends the connection: TOO_BIG */
    uint32_t close_timeout_ms;
} arcp_stdio_options;

static inline arcp_stdio_options arcp_stdio_options_init(void)
{
    arcp_stdio_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* A connection over two descriptors (pipes, sockets, terminals or files; the same one
 * twice for a socket): a frame is a line. Blank lines are ignored, a carriage return
 * before the line feed too, and a last line without a line feed is a frame. The end of
 * the input is reported by input_over; without that callback the connection closes after it has
 * written what is buffered. On success the connection owns the descriptors, but leaves 0, 1 and 2
 * open, and restores the file status flags of all of them. ARCP_E_IO for a descriptor that cannot
 * be read or written. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_open_stdio(struct uv_loop_s *loop, int input, int output,
                                                     const arcp_stdio_options *options,
                                                     arcp_connection **out, arcp_error *err);

/* Starts COMMAND (split into words as a shell does; no shell is started) with our
 * environment and standard error, in a process group of its own, and speaks with its
 * standard input and output as arcp_open_stdio does. close ends its input and waits for
 * its exit; after the close timeout, or at once with abort and free, the group is
 * killed. An exit status other than 0 before our close is ABNORMAL. ARCP_E_USAGE for a
 * command that cannot be split, ARCP_E_IO for one that cannot be started. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_spawn_stdio(struct uv_loop_s *loop, const char *command,
                                                      const arcp_stdio_options *options,
                                                      arcp_connection **out, arcp_error *err);

/* ---- memory ------------------------------------------------------------------------------ */

typedef struct arcp_memory_options {
    size_t struct_size;
    size_t frame_bytes_max; /* a longer frame ends the connection: TOO_BIG */
    uint32_t close_timeout_ms;
} arcp_memory_options;

static inline arcp_memory_options arcp_memory_options_init(void)
{
    arcp_memory_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* Two connected ends on one loop, for tests and for embedding. Frames arrive in order, at
 * the earliest in the turn of the loop after they were flushed; what is flushed while the reader is
 * paused stays in the sender's unsent. The same calls give the same callbacks in the
 * same turns; only the close timeout reads a clock. ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_memory_pair(struct uv_loop_s *loop,
                                                      const arcp_memory_options *options,
                                                      arcp_connection **out_a,
                                                      arcp_connection **out_b, arcp_error *err);

/* Breaks the connection as a failing network does: frames on the way are lost, and both owners get
 * ABNORMAL. */
ARCP_API void arcp_memory_cut(arcp_connection *end);

#ifdef __cplusplus
}
#endif
#endif
