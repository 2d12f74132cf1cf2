/* The keys of `models`, and the configuration of the gateway for models that they make. */
#include "base/alloc.h"
#include "config/config_rows.h"
#include "file/private_file.h"
#include "setup/setup.h"
#include "json/json_put.h"

#define KEY_BYTES_MAX 8192

/* ---- the keys ---- */

static const char *const dialects[] = {"openai", "anthropic", NULL};
static const char *const key_headers[] = {"null", "authorization", "x-api-key", NULL};
static const char *const price_kinds[] = {"listed", "free", NULL};
static const char *const server_tools[] = {"refuse", "remove", NULL};
static const char *const stores[] = {"null", "false", NULL};
static const char *const unknown_prices[] = {"refuse", "free", NULL};

static const arcp__config_row provider_rows[] = {
    {ROW("name", text, arcp__model_provider_options, name)},
    {ROW("dialect", word, arcp__model_provider_options, dialect), .words = dialects},
    {ROW("url", text, arcp__model_provider_options, url)},
    {ROW("key", text, arcp__model_provider_options, key), .flags = SECRET},
    {ROW("key_header", word, arcp__model_provider_options, key_header), .words = key_headers},
    {TEXTS("models", arcp__model_provider_options, models, model_count)},
    {ROW("price", word, arcp__model_provider_options, is_free), .words = price_kinds},
    {ROW("limit_field", text, arcp__model_provider_options, limit_field)},
    {TEXTS("allow", arcp__model_provider_options, allow, allow_count)},
    {ROW("multiplier", text, arcp__model_provider_options, multiplier)},
    {ROW("image_tokens", number, arcp__model_provider_options, image_tokens), .maximum = 1000000},
    {ROW("other_tokens_per_byte", number, arcp__model_provider_options, other_tokens_per_byte),
     .maximum = 100},
    {ROW("server_tools", word, arcp__model_provider_options, removes_tools), .words = server_tools},
    {ROW("calls_at_once", number, arcp__model_provider_options, calls_at_once), .maximum = 65536},
    {ROW("store", word, arcp__model_provider_options, forbids_store), .words = stores},
};

static arcp_status check_provider(arcp__yaml_reader *r, void *owner)
{
    const arcp__model_provider_options *provider = owner;
    return provider->name == NULL || provider->url == NULL || provider->model_count == 0 ||
                   arcp__yaml_find(r, "dialect") == NULL
               ? arcp__yaml_refuse(r, "needs name, dialect, url and models (a list of globs)")
               : ARCP_OK;
}

static const arcp__config_row provider_item = {
    ITEM(arcp__model_provider_options, ROWS(provider_rows), .check = check_provider)};

static const char *const periods[] = {"day", NULL};

static const arcp__config_row spend_rows[] = {
    {ROW("principal", text, arcp__setup_spend, principal), .otherwise = "*"},
    {ROW("per", word, arcp__setup_spend, per), .words = periods},
    {TEXTS("budget", arcp__setup_spend, budget, budget_count)},
};

static arcp_status check_spend(arcp__yaml_reader *r, void *owner)
{
    const arcp__setup_spend *spend = owner;
    return spend->budget_count == 0
               ? arcp__yaml_refuse(r, "needs budget (a list of amounts like USD:50)")
               : ARCP_OK;
}

static const arcp__config_row spend_item = {
    ITEM(arcp__setup_spend, ROWS(spend_rows), .is_flow = true, .check = check_spend)};

#define MODELS(name, kind, member) ROW(name, kind, arcp__setup, models.member)
static const arcp__config_row model_rows[] = {
    {LIST("providers", arcp__setup, models.providers, models.provider_count, &provider_item),
     .maximum = 64, .item_name = "providers"},
    {PAIRS("aliases", arcp__setup, models.aliases, models.alias_count, text),
     .flags = ARCP__CONFIG_LISTS, .separator = "="},
    {MODELS("prices", text, prices)},
    {MODELS("unknown_price", word, unknown_is_free), .words = unknown_prices},
    {MODELS("currency", text, currency), .otherwise = "USD"},
    {PAIRS("exchange", arcp__setup, models.exchange, models.exchange_count, text),
     .separator = "="},
    {MODELS("max_output_tokens", number, max_output_tokens), .initial = 32768, .minimum = 1,
     .maximum = 100000000},
    {MODELS("min_output_tokens", number, min_output_tokens), .initial = 256, .minimum = 1,
     .maximum = 100000000},
    {LIST("spend", arcp__setup, spends, spend_count, &spend_item), .maximum = 1024},
};
const arcp__config_fields arcp__setup_models = {ROWS(model_rows)};

/* ---- keys of providers: {file:PATH} and {env:NAME} ---- */

static arcp_status append_file(const char *key, const char *path, arcp_buf *out, arcp_error *err)
{
    const arcp__private_file file = {.what = key,
                                     .path = path,
                                     .bytes_max = KEY_BYTES_MAX,
                                     .closed_to = 07,
                                     .may_be_link = true};
    const size_t before = out->size;
    const arcp_status status = arcp__private_file_read(&file, out, err);
    while (status == ARCP_OK && out->size > before &&
           (out->data[out->size - 1] == '\n' || out->data[out->size - 1] == '\r')) {
        out->size--;
    }
    return status;
}

static arcp_status append_variable(const char *key, const char *name, arcp_buf *out,
                                   arcp_error *err)
{
    const char *value = getenv(name);
    if (value == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: the environment has no variable %.200s", key,
                              name);
    }
    arcp_buf_append_cstr(out, value);
    return ARCP_OK;
}

arcp_status arcp__setup_expand(const char *key, const char *text, arcp_buf *out, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    while (*text != '\0' && status == ARCP_OK) {
        const bool is_file = strncmp(text, "{file:", 6) == 0;
        const bool is_variable = strncmp(text, "{env:", 5) == 0;
        const char *end = is_file || is_variable ? strchr(text, '}') : NULL;
        if (end == NULL) {
            arcp_buf_append_byte(out, *text++);
            continue;
        }
        const char *start = text + (is_file ? 6 : 5);
        char *name = arcp__copy_cstr(start, (size_t)(end - start));
        if (name == NULL) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        status = is_file ? append_file(key, name, out, err) : append_variable(key, name, out, err);
        arcp__free(name);
        text = end + 1;
    }
    return status;
}

/* ---- what principals may spend ---- */

/* Whether calls to models are charged in a currency. */
static bool is_charged(const arcp__model_options *models, arcp_span currency)
{
    bool is_known =
        arcp_span_equal_cstr(currency, "tokens") ||
        arcp_span_equal_cstr(currency, models->currency == NULL ? "USD" : models->currency);
    for (size_t i = 0; i < models->exchange_count && !is_known; i++) {
        const char *pair = models->exchange[i];
        is_known = arcp_span_equal(currency, arcp_span_make(pair, strcspn(pair, "=")));
    }
    return is_known;
}

arcp_status arcp__setup_read_spend(const arcp__setup *setup, size_t index, arcp_lease **out,
                                   arcp_error *err)
{
    const arcp__setup_spend *spend = &setup->spends[index];
    arcp_lease *lease = NULL;
    arcp_buf text = arcp_buf_init();
    arcp_error why = {0};
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__put_array(&writer, "cost.budget");
    for (size_t i = 0; i < spend->budget_count; i++) {
        arcp_json_write_cstr(&writer, spend->budget[i]);
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
    arcp_status status = arcp_buf_status(&text);
    if (status == ARCP_OK) {
        status = arcp_lease_parse(arcp_buf_span(&text), ARCP_SPAN_LITERAL(""), NULL, &lease, &why);
    }
    arcp_buf_fini(&text);
    if (status != ARCP_OK) {
        return arcp_error_set(err, status == ARCP_E_NO_MEMORY ? status : ARCP_E_USAGE,
                              "models.spend[%zu].budget: %s", index, why.message);
    }
    for (size_t i = 0; i < spend->budget_count; i++) {
        const char *amount = spend->budget[i];
        const arcp_span currency = arcp_span_make(amount, strcspn(amount, ":"));
        if (!is_charged(&setup->models, currency)) {
            arcp_lease_unref(lease);
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "models.spend[%zu].budget: \"%.100s\": calls are not charged in "
                                  "this currency: expected models.currency, one of "
                                  "models.exchange, or tokens",
                                  index, amount);
        }
    }
    *out = lease;
    return ARCP_OK;
}

static arcp_status check_spends(const arcp__setup *setup, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < setup->spend_count && status == ARCP_OK; i++) {
        arcp_lease *lease = NULL;
        status = arcp__setup_read_spend(setup, i, &lease, err);
        arcp_lease_unref(lease);
    }
    return status;
}

/* ---- the object ---- */

static arcp_status read_prices(const char *path, arcp_buf *out, arcp_error *err)
{
    const arcp__private_file file = {.what = "models.prices",
                                     .path = path,
                                     .bytes_max = ARCP__LLM_PRICES_BYTES_MAX,
                                     .may_be_link = true};
    return path == NULL ? ARCP_OK : arcp__private_file_read(&file, out, err);
}

arcp_status arcp__setup_list_models(const arcp__setup *setup, arcp__model_config **out,
                                    arcp_error *err)
{
    const arcp__model_options *models = &setup->models;
    arcp_buf prices = arcp_buf_init();
    const char **keys = arcp__alloc_array(models->provider_count + 1, sizeof *keys);
    arcp_status status = keys == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                      : read_prices(models->prices, &prices, err);
    if (status == ARCP_OK) {
        status = arcp__model_config_new(models, arcp_buf_span(&prices), keys, out, err);
    }
    arcp__free(keys);
    arcp_buf_fini(&prices);
    return status;
}

arcp_status arcp__setup_model_urls(const arcp__setup *setup, bool allows_direct,
                                   arcp__text_list *out, arcp_error *err)
{
    const arcp__model_options *models = &setup->models;
    const size_t count = allows_direct ? 0 : models->provider_count;
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < count && status == ARCP_OK; i++) {
        const char *url = models->providers[i].url; /* without one the gateway refuses it */
        status = url == NULL ? ARCP_OK : arcp__text_list_add(out, url, err);
    }
    return status;
}

arcp_status arcp__setup_make_models(const arcp__setup *setup, arcp__model_config **out,
                                    arcp_error *err)
{
    const arcp__model_options *models = &setup->models;
    const size_t count = models->provider_count;
    arcp_buf prices = arcp_buf_init();
    arcp_buf *keys = arcp__alloc_array(count + 1, sizeof *keys);
    const char **texts = arcp__alloc_array(count + 1, sizeof *texts);
    *out = NULL;
    arcp_status status = keys == NULL || texts == NULL
                             ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                             : check_spends(setup, err);
    if (status == ARCP_OK) {
        status = read_prices(models->prices, &prices, err);
    }
    for (size_t i = 0; i < count && status == ARCP_OK && keys != NULL && texts != NULL; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "models.providers[%zu].key", i);
        keys[i] = arcp_buf_secret_init();
        if (models->providers[i].key != NULL) {
            status = arcp__setup_expand(key, models->providers[i].key, &keys[i], err);
            texts[i] = arcp_buf_cstr(&keys[i]);
        }
        if (status == ARCP_OK && keys[i].failed) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    if (status == ARCP_OK) {
        status = arcp__model_config_new(models, arcp_buf_span(&prices), texts, out, err);
    }
    for (size_t i = 0; i < count && keys != NULL; i++) {
        arcp_buf_fini(&keys[i]);
    }
    arcp__free(keys);
    arcp__free(texts);
    arcp_buf_fini(&prices);
    return status;
}
