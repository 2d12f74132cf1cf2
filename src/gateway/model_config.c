#include "gateway/model_config.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "core/name_glob.h"

#define ANTHROPIC_IMAGE_TOKENS 8192

struct arcp__model_config {
    atomic_size_t references;
    arcp__arena arena; /* has all texts */
    arcp__llm_prices *prices;
    arcp__model_provider *providers;
    size_t provider_count;
    arcp__model_alias *aliases;
    size_t alias_count;
    arcp__model_exchange exchanges[ARCP__MODEL_LIST_MAX];
    size_t exchange_count;
    arcp_span currency;
    uint64_t min_output_tokens;
    bool unknown_is_free;
};

/* What is being made. */
typedef struct maker {
    arcp__model_config *config;
    bool failed; /* out of memory */
} maker;

static arcp_span copy(maker *m, const char *text)
{
    const arcp_span out = arcp__arena_copy(&m->config->arena, arcp_span_cstr(text));
    m->failed = m->failed || out.data == NULL;
    return out;
}

static void *take(maker *m, size_t count, size_t size)
{
    void *memory = arcp__arena_take(&m->config->arena, (count + 1) * size);
    m->failed = m->failed || memory == NULL;
    if (memory != NULL) {
        memset(memory, 0, (count + 1) * size);
    }
    return memory;
}

static const char *const *copy_texts(maker *m, const char *const *texts, size_t count)
{
    const char **out = take(m, count, sizeof *out);
    for (size_t i = 0; i < count && out != NULL; i++) {
        out[i] = copy(m, texts[i]).data;
    }
    return out;
}

static arcp_status refuse(arcp_error *err, const char *key, size_t index, const char *text,
                          const char *wanted)
{
    return arcp_error_set(err, ARCP_E_USAGE, "models.%s[%zu]: \"%.200s\": %s", key, index,
                          text == NULL ? "" : text, wanted);
}

/* ---- providers ---- */

static bool is_name(const char *text)
{
    const size_t size = text == NULL ? 0 : strlen(text);
    return size != 0 && size <= 32 && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

static bool is_url(const char *text)
{
    const arcp_span url = arcp_span_cstr(text);
    const bool has_scheme = arcp_span_starts_with(url, ARCP_SPAN_LITERAL("https://")) ||
                            arcp_span_starts_with(url, ARCP_SPAN_LITERAL("http://"));
    for (size_t i = 0; i < url.size; i++) {
        if ((unsigned char)url.data[i] <= ' ' || url.data[i] == '?' || url.data[i] == '#') {
            return false;
        }
    }
    return has_scheme && url.data[url.size - 1] != '/';
}

/* A key must fit into a header. */
static bool is_key(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text <= ' ' || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

static void set_key(const arcp__model_provider_options *from, const char *key,
                    arcp__model_provider *to)
{
    const bool is_bearer =
        from->key_header == ARCP__MODEL_KEY_AUTHORIZATION ||
        (from->key_header == ARCP__MODEL_KEY_BY_DIALECT && to->dialect == ARCP__LLM_DIALECT_OPENAI);
    to->key_line = arcp_buf_secret_init();
    if (key != NULL) {
        arcp_buf_append_cstr(&to->key_line, is_bearer ? "Authorization: Bearer " : "X-Api-Key: ");
        arcp_buf_append_cstr(&to->key_line, key);
    }
}

static arcp_status set_multiplier(const arcp__model_provider_options *from, size_t index,
                                  arcp__model_provider *to, arcp_error *err)
{
    const arcp_decimal zero = ARCP_DECIMAL_ZERO;
    arcp_error why = {0};
    if (from->multiplier == NULL) {
        return ARCP_OK;
    }
    if (arcp_decimal_parse(arcp_span_cstr(from->multiplier), &to->terms.multiplier, &why) !=
            ARCP_OK ||
        arcp_decimal_compare(to->terms.multiplier, zero) <= 0) {
        return refuse(err, "providers", index, from->multiplier,
                      "multiplier must be a decimal above 0, in quotes");
    }
    return ARCP_OK;
}

static arcp_status set_provider(maker *m, const arcp__model_options *options, size_t index,
                                const char *key, arcp_error *err)
{
    const arcp__model_provider_options *from = &options->providers[index];
    arcp__model_provider *to = &m->config->providers[index];
    if (!is_name(from->name)) {
        return refuse(err, "providers", index, from->name,
                      "name must be 1 to 32 of a-z, 0-9 and '-'");
    }
    for (size_t i = 0; i < index; i++) {
        if (strcmp(options->providers[i].name, from->name) == 0) {
            return refuse(err, "providers", index, from->name, "an entry above has this name");
        }
    }
    if (!is_url(from->url)) {
        return refuse(err, "providers", index, from->url,
                      "url must begin with https:// or http://, without a query and a slash at its "
                      "end");
    }
    if (from->model_count == 0) {
        return refuse(err, "providers", index, from->name, "needs models (a list of globs)");
    }
    if (key != NULL && !is_key(key)) {
        return refuse(err, "providers", index, from->name,
                      "the key has a byte that a header cannot have");
    }
    *to = (arcp__model_provider){
        .name = copy(m, from->name),
        .dialect = (arcp__llm_dialect)from->dialect,
        .url = copy(m, from->url),
        .models = copy_texts(m, from->models, from->model_count),
        .model_count = from->model_count,
        .is_free = from->is_free,
        .removes_tools = from->removes_tools,
        .forbids_store = from->forbids_store,
        .is_openai = strncmp(from->url, "https://api.openai.com", 22) == 0 &&
                     (from->url[22] == '/' || from->url[22] == ':' || from->url[22] == '\0'),
        .allow = copy_texts(m, from->allow, from->allow_count),
        .allow_count = from->allow_count,
        .other_tokens_per_byte = from->other_tokens_per_byte,
        .calls_at_once = from->calls_at_once,
        .terms = arcp__llm_terms_init()};
    set_key(from, key, to);
    to->limit_field = from->limit_field != NULL ? copy(m, from->limit_field).data
                      : to->is_openai           ? "max_completion_tokens"
                                                : "max_tokens";
    to->terms.max_output_tokens = options->max_output_tokens;
    if (from->image_tokens != 0) {
        to->terms.image_tokens = from->image_tokens;
    } else if (to->dialect == ARCP__LLM_DIALECT_ANTHROPIC) {
        to->terms.image_tokens = ANTHROPIC_IMAGE_TOKENS;
    }
    m->failed = m->failed || to->key_line.failed;
    return set_multiplier(from, index, to, err);
}

static arcp_status set_providers(maker *m, const arcp__model_options *options,
                                 const char *const *keys, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    m->config->providers = take(m, options->provider_count, sizeof *m->config->providers);
    for (size_t i = 0; i < options->provider_count && status == ARCP_OK && !m->failed; i++) {
        m->config->provider_count = i + 1;
        status = set_provider(m, options, i, keys[i], err);
    }
    return status;
}

/* ---- aliases and exchange rates: texts NAME=VALUE ---- */

static arcp_status set_alias(maker *m, size_t index, const char *text, arcp_error *err)
{
    arcp__model_alias *alias = &m->config->aliases[index];
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return refuse(err, "aliases", index, text,
                      "must be a name and a model, or a list of models");
    }
    alias->name =
        arcp__arena_copy(&m->config->arena, arcp_span_make(text, (size_t)(equals - text)));
    alias->models = take(m, ARCP__MODEL_LIST_MAX, sizeof *alias->models);
    m->failed = m->failed || alias->name.data == NULL;
    for (const char *at = equals + 1; !m->failed && at != NULL;) {
        const char *end = strchr(at, ',');
        const size_t size = end == NULL ? strlen(at) : (size_t)(end - at);
        if (size == 0 || alias->model_count == ARCP__MODEL_LIST_MAX) {
            return refuse(err, "aliases", index, text,
                          "must have 1 to 16 models, none of them empty");
        }
        const arcp_span model = arcp__arena_copy(&m->config->arena, arcp_span_make(at, size));
        m->failed = m->failed || model.data == NULL;
        alias->models[alias->model_count++] = model;
        at = end == NULL ? NULL : end + 1;
    }
    return ARCP_OK;
}

static arcp_status set_exchange(maker *m, size_t index, const char *text, arcp_error *err)
{
    const arcp_decimal zero = ARCP_DECIMAL_ZERO;
    arcp_error why = {0};
    arcp__model_exchange *exchange = &m->config->exchanges[index];
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text ||
        arcp_decimal_parse(arcp_span_cstr(equals + 1), &exchange->rate, &why) != ARCP_OK ||
        arcp_decimal_compare(exchange->rate, zero) <= 0) {
        return refuse(err, "exchange", index, text, "must be a currency and a decimal above 0");
    }
    exchange->currency =
        arcp__arena_copy(&m->config->arena, arcp_span_make(text, (size_t)(equals - text)));
    m->failed = m->failed || exchange->currency.data == NULL;
    if (arcp_span_equal_cstr(exchange->currency, "tokens") ||
        arcp_span_equal(exchange->currency, m->config->currency)) {
        return refuse(err, "exchange", index, text, "must be another currency than that of prices");
    }
    m->config->exchange_count = index + 1;
    return ARCP_OK;
}

static arcp_status set_others(maker *m, const arcp__model_options *options, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    m->config->currency = copy(m, options->currency == NULL ? "USD" : options->currency);
    m->config->aliases = take(m, options->alias_count, sizeof *m->config->aliases);
    for (size_t i = 0; i < options->alias_count && status == ARCP_OK && !m->failed; i++) {
        status = set_alias(m, i, options->aliases[i], err);
        m->config->alias_count = i + 1;
    }
    if (status == ARCP_OK && options->exchange_count > ARCP__MODEL_LIST_MAX - 2) {
        return arcp_error_set(err, ARCP_E_USAGE, "models.exchange: must have at most %d currencies",
                              ARCP__MODEL_LIST_MAX - 2);
    }
    for (size_t i = 0; i < options->exchange_count && status == ARCP_OK && !m->failed; i++) {
        status = set_exchange(m, i, options->exchange[i], err);
    }
    m->config->min_output_tokens = options->min_output_tokens;
    m->config->unknown_is_free = options->unknown_is_free;
    return status;
}

/* ---- the object ---- */

arcp_status arcp__model_config_new(const arcp__model_options *options, arcp_span prices,
                                   const char *const *keys, arcp__model_config **out,
                                   arcp_error *err)
{
    arcp_error why = {0};
    maker m = {.config = arcp__alloc(sizeof *m.config)};
    if (m.config == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    atomic_init(&m.config->references, 1);
    arcp_status status = arcp__llm_prices_read(prices.size == 0 ? ARCP_SPAN_LITERAL("{}") : prices,
                                               &m.config->prices, &why);
    if (status == ARCP_E_INVALID_REQUEST) {
        status = arcp_error_set(err, ARCP_E_USAGE, "models.prices: \"%.200s\": %s",
                                options->prices == NULL ? "" : options->prices, why.message);
    }
    if (status == ARCP_OK) {
        status = set_providers(&m, options, keys, err);
    }
    if (status == ARCP_OK) {
        status = set_others(&m, options, err);
    }
    if (status == ARCP_OK && m.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status != ARCP_OK) {
        arcp__model_config_unref(m.config);
        return status;
    }
    *out = m.config;
    return ARCP_OK;
}

arcp__model_config *arcp__model_config_ref(arcp__model_config *config)
{
    atomic_fetch_add_explicit(&config->references, 1, memory_order_relaxed);
    return config;
}

void arcp__model_config_unref(arcp__model_config *config)
{
    if (config != NULL &&
        atomic_fetch_sub_explicit(&config->references, 1, memory_order_acq_rel) == 1) {
        for (size_t i = 0; i < config->provider_count; i++) {
            arcp_buf_fini(&config->providers[i].key_line);
        }
        arcp__llm_prices_free(config->prices);
        arcp__arena_fini(&config->arena);
        arcp__free(config);
    }
}

/* ---- finding ---- */

static bool serves(const arcp__model_provider *provider, arcp_span model)
{
    for (size_t i = 0; i < provider->model_count; i++) {
        if (arcp__name_glob_matches(provider->models[i], model)) {
            return true;
        }
    }
    return false;
}

/* The row PREFIX/MODEL. */
static const arcp__llm_row *find_prefixed(const arcp__model_config *config, const char *prefix,
                                          arcp_span model)
{
    const arcp__llm_row *row = NULL;
    arcp_buf name = arcp_buf_init();
    arcp_buf_append_cstr(&name, prefix);
    arcp_buf_append_byte(&name, '/');
    arcp_buf_append(&name, model);
    if (!name.failed) {
        row = arcp__llm_prices_find(config->prices, arcp_buf_span(&name));
    }
    arcp_buf_fini(&name);
    return row;
}

static const arcp__llm_row *find_row(const arcp__model_config *config,
                                     const arcp__model_provider *provider, arcp_span model)
{
    const bool is_anthropic = provider->dialect == ARCP__LLM_DIALECT_ANTHROPIC;
    const arcp__llm_row *row = arcp__llm_prices_find(config->prices, model);
    if (row == NULL) {
        row = find_prefixed(config, is_anthropic ? "anthropic" : "openai", model);
    }
    return row == NULL ? find_prefixed(config, provider->name.data, model) : row;
}

static const arcp__model_alias *find_alias(const arcp__model_config *config, arcp_span name)
{
    for (size_t i = 0; i < config->alias_count; i++) {
        if (arcp_span_equal(config->aliases[i].name, name)) {
            return &config->aliases[i];
        }
    }
    return NULL;
}

bool arcp__model_is_alias(const arcp__model_config *config, arcp_span name)
{
    return find_alias(config, name) != NULL;
}

size_t arcp__model_find(const arcp__model_config *config, arcp__llm_dialect dialect, arcp_span name,
                        arcp__model_found *out)
{
    const arcp__model_alias *alias = find_alias(config, name);
    const size_t wanted = alias == NULL ? 1 : alias->model_count;
    size_t count = 0;
    for (size_t i = 0; i < wanted; i++) {
        const arcp_span model = alias == NULL ? name : alias->models[i];
        for (size_t j = 0; j < config->provider_count; j++) {
            const arcp__model_provider *provider = &config->providers[j];
            if (provider->dialect == dialect && serves(provider, model)) {
                out[count++] =
                    (arcp__model_found){model, provider, find_row(config, provider, model)};
                break;
            }
        }
    }
    return count;
}

void arcp__model_each(const arcp__model_config *config,
                      void (*each)(void *user, arcp_span name, arcp_span provider), void *user)
{
    for (size_t i = 0; i < config->alias_count; i++) {
        each(user, config->aliases[i].name, ARCP_SPAN_LITERAL("arcp"));
    }
    for (size_t i = 0; i < config->provider_count; i++) {
        const arcp__model_provider *provider = &config->providers[i];
        for (size_t j = 0; j < provider->model_count; j++) {
            if (strchr(provider->models[j], '*') == NULL) {
                each(user, arcp_span_cstr(provider->models[j]), provider->name);
            }
        }
        for (size_t j = 0; j < arcp__llm_prices_count(config->prices); j++) {
            const arcp__llm_row *row = arcp__llm_prices_row(config->prices, j);
            if (row->problem == ARCP__LLM_PROBLEM_NONE && serves(provider, row->name)) {
                each(user, row->name, provider->name);
            }
        }
    }
}

arcp_span arcp__model_currency(const arcp__model_config *config)
{
    return config->currency;
}

size_t arcp__model_exchanges(const arcp__model_config *config, const arcp__model_exchange **out)
{
    *out = config->exchanges;
    return config->exchange_count;
}

uint64_t arcp__model_min_output(const arcp__model_config *config)
{
    return config->min_output_tokens;
}

bool arcp__model_unknown_is_free(const arcp__model_config *config)
{
    return config->unknown_is_free;
}

/* ---- explaining ---- */

static void explain_model(const arcp__model_config *config, arcp_span model, arcp_buf *out)
{
    arcp__model_found found[ARCP__MODEL_LIST_MAX];
    bool is_served = false;
    for (unsigned dialect = 0; dialect < 2; dialect++) {
        if (find_alias(config, model) == NULL &&
            arcp__model_find(config, (arcp__llm_dialect)dialect, model, found) != 0) {
            const arcp__llm_row *row = found[0].row;
            is_served = true;
            arcp_buf_append_format(out, " %.*s by %s", (int)model.size, model.data,
                                   found[0].provider->name.data);
            if (found[0].provider->is_free) {
                arcp_buf_append_cstr(out, " (free)");
            } else if (row == NULL) {
                arcp_buf_append_cstr(out, config->unknown_is_free ? " (no price: free)"
                                                                  : " (no price: refused)");
            } else if (row->problem != ARCP__LLM_PROBLEM_NONE) {
                arcp_buf_append_format(out, " (refused, not bounded: %.*s%s%s)", (int)row->key.size,
                                       row->key.data, row->key.size == 0 ? "" : " ",
                                       arcp__llm_problem_text(row->problem));
            }
        }
    }
    if (!is_served) {
        arcp_buf_append_format(out, " %.*s by no provider", (int)model.size, model.data);
    }
}

void arcp__model_config_explain(const arcp__model_config *config, arcp_buf *out)
{
    for (size_t i = 0; i < config->alias_count; i++) {
        arcp_buf_append_format(out, "alias %s:", config->aliases[i].name.data);
        for (size_t j = 0; j < config->aliases[i].model_count; j++) {
            arcp_buf_append_cstr(out, j == 0 ? "" : ",");
            explain_model(config, config->aliases[i].models[j], out);
        }
        arcp_buf_append_byte(out, '\n');
    }
    for (size_t i = 0; i < config->provider_count; i++) {
        const arcp__model_provider *provider = &config->providers[i];
        arcp_buf_append_format(out, "provider %s:", provider->name.data);
        for (size_t j = 0; j < provider->model_count; j++) {
            const arcp_span model = arcp_span_cstr(provider->models[j]);
            arcp_buf_append_cstr(out, j == 0 ? "" : ",");
            if (strchr(model.data, '*') == NULL) {
                explain_model(config, model, out);
            } else {
                arcp_buf_append_format(out, " %s", model.data);
            }
        }
        arcp_buf_append_byte(out, '\n');
    }
}
