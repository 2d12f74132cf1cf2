#include "engine/mail.h"

#include "engine/parts.h"

static arcp__mail *post(arcp__engine *engine, arcp__mail_kind kind, arcp__observation *observation)
{
    arcp__mail *mail = engine->mail_free;
    if (mail != NULL) {
        engine->mail_free = mail->next;
    } else {
        mail = arcp__alloc(sizeof(*mail));
        if (mail == NULL) {
            arcp__context_no_memory(&engine->context);
            return NULL;
        }
    }
    *mail = (arcp__mail){.kind = kind, .observation = observation};
    if (engine->mail_last == NULL) {
        engine->mail_first = mail;
    } else {
        engine->mail_last->next = mail;
    }
    engine->mail_last = mail;
    return mail;
}

void arcp__mail_record(arcp__engine *engine, arcp__observation *observation, uint64_t position,
                       size_t bytes, arcp_feature feature)
{
    arcp__mail *mail = post(engine, ARCP__MAIL_RECORD, observation);
    if (mail != NULL) {
        mail->position = position;
        mail->bytes = bytes;
        mail->feature = feature;
    }
}

void arcp__mail_catch_up(arcp__engine *engine, arcp__observation *observation)
{
    (void)post(engine, ARCP__MAIL_CATCH_UP, observation);
}

void arcp__mail_end(arcp__engine *engine, arcp__observation *observation)
{
    (void)post(engine, ARCP__MAIL_END, observation);
}

void arcp__mail_forget_observation(arcp__engine *engine, const arcp__observation *observation)
{
    for (arcp__mail *mail = engine->mail_first; mail != NULL; mail = mail->next) {
        if (mail->observation == observation) {
            mail->kind = ARCP__MAIL_VOID;
            mail->observation = NULL;
        }
    }
}

bool arcp__mail_deliver(arcp__engine *engine)
{
    arcp__mail *mail = engine->mail_first;
    if (mail == NULL) {
        return false;
    }
    engine->mail_first = mail->next;
    if (engine->mail_first == NULL) {
        engine->mail_last = NULL;
    }
    switch (mail->kind) {
    case ARCP__MAIL_RECORD:
        arcp__job_record(engine, mail->observation, mail->position, mail->bytes, mail->feature);
        break;
    case ARCP__MAIL_CATCH_UP:
        arcp__observation_catch_up(engine, mail->observation);
        break;
    case ARCP__MAIL_END:
        arcp__observation_repeat_end(engine, mail->observation);
        break;
    case ARCP__MAIL_VOID:
        break;
    }
    mail->next = engine->mail_free;
    engine->mail_free = mail;
    return true;
}

void arcp__mail_free_all(arcp__engine *engine)
{
    arcp__mail *lists[] = {engine->mail_first, engine->mail_free};
    for (size_t list = 0; list < 2; list++) {
        for (arcp__mail *mail = lists[list], *next = NULL; mail != NULL; mail = next) {
            next = mail->next;
            arcp__free(mail);
        }
    }
    engine->mail_first = engine->mail_last = engine->mail_free = NULL;
}
