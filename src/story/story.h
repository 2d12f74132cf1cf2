/* Protocol stories: scripts that a reader of the draft can follow, played against a runtime. The
 * tests in tests/scripts and the cases of `arcp conformance` are stories.
 *
 *   # text              a comment
 *   connect a           client a connects and sends nothing; its name is one letter
 *   drop a              its connection breaks
 *   a> {...}            it sends this frame unchanged; it connects first if it is not connected
 *   a> TYPE #ID {...}   it sends a message with this type, id and payload; without #ID the message
 *                       gets a new id, which $id then has. The default payload is {}.
 *   a< {...}            the next frame for a has at least these members
 *   a< TYPE {...}       the next message for a has this type and at least these members
 *   a< close CODE       its connection was closed with this code
 *   a< nothing          there is no frame for a
 *   a refused CODES     the next message is a job.error or session.error (the draft leaves open
 *                       which of the two refuses a request) with one of the codes: THIS|THAT
 *   a answers +-+       the next job.accepted (+) and refusals (-) come in this order
 *   a ends $job         the job ends, in whatever way; job.cancelled may come before its end
 *   a quiet             a ping is answered, and no message about a job comes before the pong
 *   a endless           a ping is answered, and no job's end comes before the pong; events may
 *   a settle            a ping is answered; any message may come before the pong
 *   a lacks $name       the last message does not contain this value
 *   differ $x $y        two variables have different values
 *   forget x y          removes these variables
 *
 * A line that begins with white space continues the previous one. A stage, on which stories are
 * played, adds verbs of its own, and macros:
 *
 *   define hello CLIENT NAME
 *   ...
 *   end
 *
 * The parameters, in capitals, are replaced by the words that follow the macro's name, the last one
 * by the rest of the line.
 *
 * In a frame to send, $name is replaced by the variable's JSON or, inside a string, by its text.
 * $now, $in_2s and $ago_1h are instants; each keeps its value for the whole story.
 *
 * In a pattern, members that are not named may have any value; an array must have exactly the given
 * items or, if its last item is "$more", at least the others, in any order. "$name" matches the
 * variable's value, or sets the variable if it has none. "$string", "$number", "$boolean",
 * "$array",
 * "$object" and "$absent" match by type, "$versioned" matches name@version, "$_" any value. */
#ifndef ARCP_STORY_STORY_H
#define ARCP_STORY_STORY_H

#include "base/ulid.h"
#include "story/match.h"

typedef struct arcp__story arcp__story;

/* Which received frame must match an expectation. */
typedef enum arcp__story_order {
    ARCP__STORY_NEXT, /* the next one: the order is fixed */
    ARCP__STORY_ANY,  /* any; the first match is taken, and the others are left for later */
    /* the next one, after skipping those that a foreign runtime may send at any time: events,
     * responses that may have been lost, pongs */
    ARCP__STORY_SKIPPING
} arcp__story_order;

/* Texts received from the runtime: by a client, an agent, or the audit log. */
typedef struct arcp__story_source {
    arcp__story_order order;
    /* The index-th text that was not removed; a real runtime's is waited for. NULL: there is none;
     * then arcp__story_fail may have been called. Borrowed until the next call. */
    const char *(*text_at)(void *user, const char *name, unsigned index);
    void (*remove)(void *user, const char *name, unsigned index);
} arcp__story_source;

/* A word that begins a line; `rest` is the rest of the line, and may be written to. False: the
 * story has failed. */
typedef struct arcp__story_verb {
    const char *name;
    bool (*play)(arcp__story *story, char *rest);
} arcp__story_verb;

/* Where stories are played. */
typedef struct arcp__story_stage {
    void *user;
    arcp__story_source clients;
    bool names_ids;                /* put session_id and job_id into the envelope of messages */
    const arcp__story_verb *verbs; /* the stage's own; the last one has no name */
    const char *macros;
    void (*step)(void *user); /* before each line; may be NULL */
    bool (*is_connected)(void *user, const char *client);
    /* False: the story has failed. */
    bool (*connect)(void *user, const char *client);
    bool (*send)(void *user, const char *client, const char *frame);
    /* Waits until the runtime has closed the client's connection. False: it did not, or there are
     * frames before the close; then arcp__story_fail may have been called. */
    bool (*await_close)(void *user, const char *client, int *code);
    void (*drop)(void *user, const char *client);
    int64_t (*now)(void *user); /* wall clock, nanoseconds since 1970 */
} arcp__story_stage;

struct arcp__story {
    const arcp__story_stage *stage;
    arcp__variables variables;
    unsigned line;       /* being played */
    const char *awaited; /* the message that is awaited, for errors */
    arcp_buf frame;      /* the last frame received */
    arcp_json json;      /* of `frame` */
    arcp_buf why;        /* why the story has failed */
    bool shows_frame;    /* `frame` is the reason */
    arcp__ulid_source ids;
};

/* The stage is borrowed. */
void arcp__story_init(arcp__story *story, const arcp__story_stage *stage);
void arcp__story_fini(arcp__story *story);

/* Plays a text, line by line. False: `line` and `why` say where and why it failed. */
ARCP_MUST_CHECK bool arcp__story_play(arcp__story *story, arcp_span text);

/* ---- for the verbs of stages; functions that return false have called arcp__story_fail ---- */

/* Appends to `why`. Returns false. */
bool arcp__story_fail(arcp__story *story, const char *format, ...) ARCP_PRINTF(2, 3);
/* Takes the next word from the line; "" at its end. */
const char *arcp__story_word(char **rest);

/* Appends the text with its variables replaced, NUL-terminated. */
ARCP_MUST_CHECK bool arcp__story_expand(arcp__story *story, const char *text, arcp_buf *out);
/* The value of the variable $name. NULL when it has none; then the story has failed. */
const arcp_buf *arcp__story_value(arcp__story *story, const char *word);

/* Sends a message. `id` may be NULL: a new one. */
ARCP_MUST_CHECK bool arcp__story_send(arcp__story *story, const char *client, const char *type,
                                      const char *id, const char *payload);
/* Takes the next text of a client, whatever it is. */
ARCP_MUST_CHECK bool arcp__story_take(arcp__story *story, const char *client, const char *awaited);
/* Takes the text that matches the pattern; `type` may be "": any type. */
ARCP_MUST_CHECK bool arcp__story_expect(arcp__story *story, const arcp__story_source *source,
                                        const char *name, const char *type, const char *pattern);
/* Whether there is no text. Always true where the order is not ARCP__STORY_NEXT: more may come. */
ARCP_MUST_CHECK bool arcp__story_expect_nothing(arcp__story *story,
                                                const arcp__story_source *source, const char *name);
/* Fails the story: the last text is not `wanted`. Returns false. */
bool arcp__story_unexpected(arcp__story *story, const char *wanted);

/* ---- client.c ---- */

/* Plays a line that begins with a, a> or a<. */
ARCP_MUST_CHECK bool arcp__story_play_client(arcp__story *story, const char *word, char *rest);

/* ---- members of a frame ---- */

arcp_json_ref arcp__frame_member(const arcp_json *json, const char *name);
arcp_json_ref arcp__payload_member(const arcp_json *json, const char *name);
/* Whether the frame is of this type. */
bool arcp__frame_is(const arcp_json *json, const char *type);

#endif
