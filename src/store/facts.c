/* facts.c - the section of keys and values (facts.h), a flat JSON object read and written by jansson.
 *
 * Whole numbers over INT64_MAX, which JSON cannot say, are kept as a string of digits. Tests: tests/unit/store/test_facts.c. */
#include "store/facts.h"

#include "base/err.h"
#include "base/text.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store_facts {
    const struct base_alloc *alloc;
    json_t *object;
    char *from;    /* the file they came from, for messages; NULL: none */
    shoal_err why; /* of the first failed set */
};

shoal_status store_facts_new(shoal_env *env, struct store_facts **out_facts, shoal_err *err)
{
    struct store_facts *facts = base_calloc(env_alloc(env), 1, sizeof *facts);
    if (facts == NULL)
        return base_err_nomem(err, "making facts");
    facts->alloc = env_alloc(env);
    facts->object = json_object();
    if (facts->object == NULL) {
        store_facts_free(facts);
        return base_err_nomem(err, "making facts");
    }
    *out_facts = facts;
    return SHOAL_OK;
}

void store_facts_free(struct store_facts *facts)
{
    if (facts == NULL)
        return;
    json_decref(facts->object);
    base_free(facts->alloc, facts->from);
    base_free(facts->alloc, facts);
}

/* ---- setting and saving ---- */

/* Takes `value`, which is NULL when it could not be made. */
static void set(struct store_facts *facts, const char *key, json_t *value)
{
    if (facts->why.code != SHOAL_OK) {
        json_decref(value);
        return;
    }
    if (value == NULL || key[0] == '\0' || json_object_set_new(facts->object, key, value) != 0)
        (void)base_err(&facts->why, SHOAL_E_INVAL,
                       "cannot keep fact '%.100s': no UTF-8 text, or out of memory", key);
}

void store_facts_set_text(struct store_facts *facts, const char *key, const char *value)
{
    set(facts, key, json_string(value));
}

void store_facts_set_u64(struct store_facts *facts, const char *key, uint64_t value)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%" PRIu64, value);
    set(facts, key, value <= INT64_MAX ? json_integer((int64_t)value) : json_string(digits));
}

shoal_status store_facts_save(const struct store_facts *facts, struct store_pack_out *out)
{
    if (facts->why.code != SHOAL_OK)
        return store_pack_fail(out, &facts->why);
    shoal_err why = SHOAL_ERR_INIT;
    char *text = json_dumps(facts->object, JSON_INDENT(1));
    shoal_status st = SHOAL_OK;
    if (text == NULL) {
        (void)base_err_nomem(&why, "writing facts");
        st = store_pack_fail(out, &why);
    } else if (strlen(text) > STORE_FACTS_SIZE_MAX) {
        (void)base_err(&why, SHOAL_E_LIMIT, "cannot write facts: over %d bytes",
                       STORE_FACTS_SIZE_MAX);
        st = store_pack_fail(out, &why);
    } else {
        st = store_pack_section(out, STORE_FACTS_SECTION, text, strlen(text));
    }
    free(text);
    return st;
}

/* ---- loading ---- */

static shoal_status check_flat(const struct store_facts *facts, shoal_err *err)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(facts->object, key, value)
    {
        if (json_is_object(value) || json_is_array(value) || json_is_null(value))
            return base_err(err, SHOAL_E_FORMAT,
                            "cannot read '%s': fact '%.100s' is no text, number or boolean",
                            facts->from, key);
    }
    return SHOAL_OK;
}

/* The section's bytes into facts->object. */
static shoal_status parse(struct store_facts *facts, const char *text, size_t size, shoal_err *err)
{
    json_error_t why;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(object)) {
        bool parsed = object != NULL;
        json_decref(object);
        return base_err(err, SHOAL_E_FORMAT, "cannot read '%s': section '%s' is no JSON object%s%s",
                        facts->from, STORE_FACTS_SECTION, parsed ? "" : ": ",
                        parsed ? "" : why.text);
    }
    json_decref(facts->object);
    facts->object = object;
    return check_flat(facts, err);
}

static shoal_status load(struct store_facts *facts, struct store_pack *pack,
                         const struct store_section *section, shoal_err *err)
{
    if (section->size > STORE_FACTS_SIZE_MAX)
        return base_err(err, SHOAL_E_LIMIT, "cannot read '%s': section '%s' is over %d bytes",
                        store_pack_path(pack), section->name, STORE_FACTS_SIZE_MAX);
    size_t size = (size_t)section->size;
    char *text = base_malloc(facts->alloc, size + 1);
    facts->from = base_strdup(facts->alloc, store_pack_path(pack));
    shoal_status st = SHOAL_OK;
    if (text == NULL || facts->from == NULL)
        st = base_err_nomem(err, "reading facts");
    if (st == SHOAL_OK)
        st = store_pack_read(pack, section, 0, text, size, err);
    if (st == SHOAL_OK)
        st = parse(facts, text, size, err);
    base_free(facts->alloc, text);
    return st;
}

shoal_status store_facts_load(shoal_env *env, struct store_pack *pack,
                              struct store_facts **out_facts, shoal_err *err)
{
    const struct store_section *section = NULL;
    struct store_facts *facts = NULL;
    shoal_status st = store_pack_need(pack, STORE_FACTS_SECTION, UINT64_MAX, &section, err);
    if (st == SHOAL_OK)
        st = store_facts_new(env, &facts, err);
    if (st == SHOAL_OK)
        st = load(facts, pack, section, err);
    if (st == SHOAL_OK) {
        *out_facts = facts;
        facts = NULL;
    }
    store_facts_free(facts);
    return st;
}

/* ---- asking ---- */

static shoal_status get(const struct store_facts *facts, const char *key, const json_t **out,
                        shoal_err *err)
{
    *out = json_object_get(facts->object, key);
    if (*out != NULL)
        return SHOAL_OK;
    return base_err(err, SHOAL_E_NOTFOUND, "'%s' does not say '%.100s'",
                    facts->from != NULL ? facts->from : "facts", key);
}

static shoal_status not_a(const struct store_facts *facts, const char *key, const char *what,
                          shoal_err *err)
{
    return base_err(err, SHOAL_E_FORMAT, "'%s' has no %s under '%.100s'",
                    facts->from != NULL ? facts->from : "facts", what, key);
}

shoal_status store_facts_text(const struct store_facts *facts, const char *key, const char **out,
                              shoal_err *err)
{
    const json_t *value = NULL;
    shoal_status st = get(facts, key, &value, err);
    if (st == SHOAL_OK && !json_is_string(value))
        return not_a(facts, key, "text", err);
    if (st == SHOAL_OK)
        *out = json_string_value(value);
    return st;
}

shoal_status store_facts_u64(const struct store_facts *facts, const char *key, uint64_t *out,
                             shoal_err *err)
{
    const json_t *value = NULL;
    shoal_status st = get(facts, key, &value, err);
    if (st != SHOAL_OK)
        return st;
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *out = (uint64_t)json_integer_value(value);
        return SHOAL_OK;
    }
    if (json_is_string(value) &&
        base_parse_u64(json_string_value(value), json_string_length(value), out))
        return SHOAL_OK;
    return not_a(facts, key, "whole number of at least 0", err);
}
