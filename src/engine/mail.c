#include "engine/mail.h"

#include "engine/parts.h"

static void post(arcp__engine *engine, const arcp__mail *mail)
{
    if (engine->mail_end == engine->mail_capacity) {
        const size_t capacity = engine->mail_capacity == 0 ? 16 : engine->mail_capacity * 2;
        arcp__mail *grown = arcp__realloc_array(engine->mail, capacity, sizeof *grown);
        if (grown == NULL) {
            arcp__context_no_memory(&engine->context);
            return;
        }
        engine->mail = grown;
        engine->mail_capacity = capacity;
    }
    engine->mail[engine->mail_end++] = *mail;
}

void arcp__mail_record(arcp__engine *engine, arcp__observation *observation, uint64_t position,
                       size_t bytes, arcp_feature feature)
{
    post(engine, &(arcp__mail){.kind = ARCP__MAIL_RECORD,
                               .observation = observation,
                               .position = position,
                               .bytes = bytes,
                               .feature = feature});
}

void arcp__mail_catch_up(arcp__engine *engine, arcp__observation *observation)
{
    post(engine, &(arcp__mail){.kind = ARCP__MAIL_CATCH_UP, .observation = observation});
}

void arcp__mail_end(arcp__engine *engine, arcp__observation *observation)
{
    post(engine, &(arcp__mail){.kind = ARCP__MAIL_END, .observation = observation});
}

void arcp__mail_forget_observation(arcp__engine *engine, const arcp__observation *observation)
{
    for (size_t i = engine->mail_first; i < engine->mail_end; i++) {
        if (engine->mail[i].observation == observation) {
            engine->mail[i].observation = NULL;
        }
    }
}

static void deliver(arcp__engine *engine, const arcp__mail *mail)
{
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
    }
}

void arcp__mail_deliver(arcp__engine *engine)
{
    while (engine->mail_first < engine->mail_end) {
        const arcp__mail mail = engine->mail[engine->mail_first++]; /* delivering may post more */
        if (mail.observation != NULL) {
            deliver(engine, &mail);
        }
    }
    engine->mail_first = engine->mail_end = 0;
}
