/* Protocol stories against the client's session, without a transport: the test supplies the frames
 * of the runtime and the time, and every action of the session is written to a log.
 *
 * Frames are written with ' for ". In them $(TYPE) is the id of the last frame of that type
 * that the session sent, $(TYPE N) of the N-th (from 1), and %(TYPE) the last one's trace id.
 *
 * The log has one line per action and item:
 *
 *   dial | close | abort
 *   connected | resumed | disconnected CODE | closed [CODE] | notice CODE
 *   added JOB | event JOB SEQ KIND BODY | ended JOB SEQ STATUS [CODE]
 *   changed BODY | figures BODY | unwatched CODE
 *   reply NAME ok [JOB] | reply NAME CODE */
#ifndef ARCP_TESTS_CLIENT_STORY_H
#define ARCP_TESTS_CLIENT_STORY_H

#include "support/check.h"

#include <arcp/client.h>

#include "client/client_session.h"

#define DEFAULTS (arcp_client_options_init())

#define STORY_SENT_MAX 4096
#define STORY_JOBS_MAX 16

typedef struct story {
    arcp__client_session *session;
    arcp_time now;
    uint64_t random; /* state of the seeded source */
    char *sent[STORY_SENT_MAX];
    size_t sent_count;
    arcp_buf log;
    arcp_job *jobs[STORY_JOBS_MAX]; /* handles from replies, in order */
    size_t job_count;
    arcp_job_page *page; /* of the last list reply */
    bool keeps_unread;   /* no event counts as delivered */
} story;

/* Creates a session that has not started. Sets the url, and the token unless it is given; the token
 * "-" means none. */
void story_new(story *s, arcp_client_options options);
/* Started and connected: the hello was sent. */
void story_hello(story *s, arcp_client_options options);
/* The same, and welcomed with every feature and a 30 s heartbeat, by a runtime that names requests
 * like arcpd; the log is empty. */
void story_live(story *s, arcp_client_options options);
/* The same with a runtime that names no requests. */
void story_live_plain(story *s, arcp_client_options options);
/* Like story_live, with job_1 submitted as "a" and accepted; the log is empty. */
void story_live_job(story *s);
void story_end(story *s);

/* Carries out the actions of the session and logs them. Called by the functions below. */
void story_drain(story *s);

void story_start(story *s);
void story_connect(story *s);
void story_receive(story *s, const char *frame);
void story_receive_format(story *s, const char *format, ...) ARCP_PRINTF(2, 3);
/* One byte longer than the longest id that the client accepts. */
const char *story_id_too_long(void);
void story_drop(story *s);
void story_drop_for(story *s, arcp_status status); /* with the status of the transport */
void story_wait(story *s, int64_t ms);             /* lets time pass, and ticks */
/* Ticks at the deadline of the session; fails if it has none. */
void story_wait_deadline(story *s);
/* The connection is lost, and the next one is established after the pause of the client. */
void story_reconnect(story *s);

/* Requests by name; a job handle that comes with the reply is kept in s->jobs. */
void story_submit(story *s, const char *name, const char *agent);
arcp_status story_submit_with(story *s, const char *name, const arcp_submit_options *options,
                              arcp_error *err);
void story_subscribe(story *s, const char *name, const char *job_id, bool history);
void story_cancel(story *s, const char *name, const char *job_id);
void story_list(story *s, const char *name);
void story_ping(story *s, const char *name);
arcp_reply_fn story_on_reply(void);

/* Fails unless the log is exactly `text`; clears it. */
void story_check_log(story *s, const char *text);
/* The last sent frame of a type, or the nth (from 1); NULL if there is none. */
const char *story_sent(const story *s, const char *type);
const char *story_sent_nth(const story *s, const char *type, size_t nth);
size_t story_sent_count(const story *s, const char *type);
/* Fails unless the member of the frame at the path ("a/b") is this JSON text ("" for absent). */
void story_check_member(const char *frame, const char *path, const char *json);

/* ---- frames of the runtime ---- */

#define WELCOME                                                                                    \
    "{'arcp':'1.1','id':'w1','type':'session.welcome','session_id':'sess_1','payload':{"           \
    "'session_id':'sess_1','request_id':'$(session.hello)','reply_to':'$(session.hello)',"         \
    "'runtime':{'name':'test','version':'1'},'resume_token':'rt_1','resume_window_sec':600,"       \
    "'heartbeat_interval_sec':30,'capabilities':{'encodings':['json'],'features':['heartbeat',"    \
    "'ack','list_jobs','subscribe','lease_expires_at','cost.budget','model.use',"                  \
    "'provisioned_credentials','progress','result_chunk','agent_versions',"                        \
    "'x-vendor.arcpd.accepted_again','x-vendor.arcpd.view','x-vendor.arcpd.operate'],"             \
    "'agents':[{'name':'echo','versions':['1.0.0','2.0.0'],'default':'1.0.0'}]}}}"
/* After a resume. */
#define WELCOME_AGAIN                                                                              \
    "{'arcp':'1.1','id':'w2','type':'session.welcome','session_id':'sess_1','payload':{"           \
    "'request_id':'$(session.hello)','resume_token':'rt_2','resume_window_sec':600,"               \
    "'heartbeat_interval_sec':30,'capabilities':{'features':['heartbeat','ack','list_jobs',"       \
    "'subscribe','agent_versions','result_chunk','progress','cost.budget','model.use',"            \
    "'lease_expires_at','provisioned_credentials']}}}"

#define ACCEPTED(id, members, job)                                                                 \
    "{'arcp':'1.1','id':'" id "','type':'job.accepted','session_id':'sess_1','payload':{" members  \
    "'job_id':'" job "','lease':{}}}"
/* The response to the last submit, of a runtime that names requests. */
#define JOB_1_ACCEPTED                                                                             \
    "{'arcp':'1.1','id':'$(job.submit)','type':'job.accepted','session_id':'sess_1','payload':{"   \
    "'request_id':'$(job.submit)','job_id':'job_1','agent':'echo@1.0.0','lease':{},"               \
    "'accepted_at':'2026-01-01T00:00:00.000Z','trace_id':'%(job.submit)'}}"
#define SESSION_ERROR(id, members)                                                                 \
    "{'arcp':'1.1','id':'" id "','type':'session.error','session_id':'sess_1',"                    \
    "'payload':{" members "'code':'AGENT_NOT_AVAILABLE','message':'no'}}"

#define EVENT_OF(job, seq, kind, body)                                                             \
    "{'arcp':'1.1','id':'e" #seq "','type':'job.event','session_id':'sess_1','job_id':'" job       \
    "','event_seq':" #seq ",'payload':{'kind':'" kind                                              \
    "','ts':'2026-01-01T00:00:00.000Z','body':" body "}}"
#define RESULT_OF(job, seq, members)                                                               \
    "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1','job_id':'" job              \
    "','event_seq':" #seq ",'payload':{'final_status':'success'" members "}}"
#define ERROR_OF(job, seq, members)                                                                \
    "{'arcp':'1.1','id':'r','type':'job.error','session_id':'sess_1','job_id':'" job               \
    "','event_seq':" #seq ",'payload':{" members "}}"

#endif
