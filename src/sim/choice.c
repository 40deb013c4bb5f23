/* choice.c - policies by name: reads "policy:key=value:key=value", and lists them (shoal/list.h). */
#include "sim/compare.h"

#include "base/assert.h"
#include "base/err.h"
#include "page/field.h"
#include "page/make.h"
#include "sched/plan.h"
#include "shoal/list.h"
#include <string.h>

shoal_status sim_choice_parse(char *text, struct sim_choice *out, shoal_err *err)
{
    struct sim_choice choice = {0};
    char *rest = strchr(text, ':');

    if (rest != NULL)
        *rest++ = '\0';
    choice.policy = sched_policy_find(text, err);
    if (choice.policy == NULL)
        return SHOAL_E_NOTFOUND;
    while (rest != NULL) {
        if (choice.set_count == SIM_SETS_MAX)
            return base_err(err, SHOAL_E_INVAL, "more than %d knobs for policy '%s'", SIM_SETS_MAX,
                            text);
        choice.sets[choice.set_count++] = rest;
        rest = strchr(rest, ':');
        if (rest != NULL)
            *rest++ = '\0';
    }
    *out = choice;
    return SHOAL_OK;
}

/* ---- listings ---- */

struct record { /* of one policy */
    const char *name, *summary;
    bool preempts, work_conserving, starvation_free;
    const char *optimises, *paper;
    shoal_records knobs, own, placement; /* all; and for people, apart */
};

#define ROW struct record

static const shoal_field fields[] = {
    FIELD(name, "NAME", NONE, 0, 1, "its name"),
    FIELD(preempts, "PREEMPTS", NONE, 0, 1, "it may stop a running job"),
    FIELD(work_conserving, "NO IDLING", NONE, 0, 1,
          "it leaves no GPU idle that a waiting job could use"),
    FIELD(starvation_free, "NO STARVING", NONE, 0, 1, "it starts every job in the end"),
    FIELD(summary, "SUMMARY", NONE, 0, 1, "what it is", WRAPPED),
    DATA(optimises, NONE, 0, "what it makes best"),
    DATA(paper, NONE, 0, "where it comes from"),
    LIST(knobs, "knobs", NULL, 0, page_option_schema, "its knobs"),
    LIST(own, NULL, "knobs (--set KEY=VALUE)", 1, page_option_schema, NULL),
    LIST(placement, NULL, "placement (--set, the same for all policies)", 1, page_option_schema,
         NULL),
};
#undef ROW
enum { LISTED = 5 }; /* of them, in a list of policies */

static const shoal_schema listed_schema = {"policy", NULL, "A scheduling policy.", fields, LISTED};
static const shoal_schema shown_schema = SCHEMA_OF("policy", NULL, "A scheduling policy.", fields);
static const shoal_field list_fields[] = {
    {0, SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "policies", .help = "all policies",
     .of = &listed_schema},
};
static const shoal_schema list_schema = {"policies", NULL, "The scheduling policies.", list_fields,
                                         1};

static struct record record_of(const struct sched_policy *policy)
{
    return (struct record){.name = policy->name,
                           .summary = policy->summary,
                           .preempts = policy->preempts,
                           .work_conserving = policy->work_conserving,
                           .starvation_free = policy->starvation_free,
                           .optimises = policy->optimises,
                           .paper = policy->paper};
}

shoal_status shoal_policy_list(const shoal_result **out_result, shoal_err *err)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);
    struct page_made *made = page_made_new(&base_alloc_libc);
    shoal_records *list = page_made_alloc(made, 1, sizeof *list);
    struct record *records = page_made_alloc(made, count, sizeof *records);

    if (list != NULL && records != NULL) {
        for (size_t i = 0; i < count; i++)
            records[i] = record_of(policies[i]);
        *list = page_records(records, count);
        made->result.schema = &list_schema;
        made->result.records = page_records(list, 1);
    }
    return page_made_finish(made, out_result, err);
}

/* Its own knobs and those of placement behind them. */
static void put_knobs(struct page_made *made, const struct sched_policy *policy, struct record *r)
{
    size_t count = policy->opt_count + sched_place_row_count;

    r->own = page_made_options(made, policy->opts, policy->opt_count, false);
    r->placement = page_made_options(made, sched_place_rows, sched_place_row_count, true);
    size_t stride = r->placement.stride;
    char *all = page_made_alloc(made, count, stride);
    if (all == NULL || r->own.first == NULL || r->placement.first == NULL)
        return;
    memcpy(all, r->own.first, policy->opt_count * stride);
    memcpy(all + policy->opt_count * stride, r->placement.first, sched_place_row_count * stride);
    r->knobs = (shoal_records){.first = all, .stride = stride, .count = count};
}

shoal_status shoal_policy_show(const char *name, const shoal_result **out_result, shoal_err *err)
{
    const struct sched_policy *policy = sched_policy_find(name, err);

    if (policy == NULL)
        return SHOAL_E_NOTFOUND;
    struct page_made *made = page_made_new(&base_alloc_libc);
    struct record *record = page_made_alloc(made, 1, sizeof *record);
    if (record != NULL) {
        *record = record_of(policy);
        put_knobs(made, policy, record);
        made->result.schema = &shown_schema;
        made->result.records = page_records(record, 1);
    }
    page_made_head(made, "%s: %s\n\n%s\n\npreempts: %s   no idling: %s   no starving: %s\n",
                   policy->name, policy->summary, policy->optimises,
                   policy->preempts ? "yes" : "no", policy->work_conserving ? "yes" : "no",
                   policy->starvation_free ? "yes" : "no");
    if (policy->paper != NULL && policy->paper[0] != '\0')
        page_made_say(made, "%s\n", policy->paper);
    return page_made_finish(made, out_result, err);
}
