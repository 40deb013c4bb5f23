/* row.c - see row.h. The reader of these lines is trace_shoal.c. */
#include "sim/row.h"

#include "base/event.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const sim_row_names[SIM_ROW_COUNT] = {
    "name",   "submit_s",   "gpus", "duration_s", "model", "steps", "batch", "group",
    "weight", "deadline_s", "slo",  "kinds",      "adapt", "app",   "score",
};

void sim_row_header(uint32_t mask, struct base_buf *out)
{
    const char *comma = "";

    base_buf_puts(out, "#shoal-trace v1\n");
    for (unsigned c = 0; c < SIM_ROW_COUNT; c++) {
        if ((mask & 1u << c) == 0)
            continue;
        base_buf_puts(out, comma);
        base_buf_puts(out, sim_row_names[c]);
        comma = ",";
    }
    base_buf_puts(out, "\n");
}

static void put_text(const char *text, struct base_buf *out)
{
    if (text == NULL)
        return;
    if (text[strcspn(text, ",\"")] == '\0' && text[0] != '#') {
        base_buf_puts(out, text);
        return;
    }
    base_buf_puts(out, "\"");
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        base_buf_append(out, text, (size_t)(quote + 1 - text));
        base_buf_puts(out, "\"");
    }
    base_buf_puts(out, text);
    base_buf_puts(out, "\"");
}

static void put_number(double value, struct base_buf *out)
{
    if (!isfinite(value))
        return;
    if (value >= 0 && value < 1e15 && value == floor(value)) {
        char digits[24];
        char *p = digits + sizeof digits;
        uint64_t whole = (uint64_t)value;
        do
            *--p = (char)('0' + whole % 10);
        while ((whole /= 10) > 0);
        base_buf_append(out, p, (size_t)(digits + sizeof digits - p));
        return;
    }
    base_json_f64(out, value);
}

/* The fewest digits that read back as the same float. */
static void put_float(float value, struct base_buf *out)
{
    char text[32];

    if (!isfinite(value))
        return;
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    base_buf_puts(out, text);
}

static void put_column(const struct sim_row *row, unsigned c, struct base_buf *out)
{
    switch ((enum sim_row_column)c) {
    case SIM_ROW_NAME: put_text(row->name, out); break;
    case SIM_ROW_SUBMIT: put_number(row->submit_s, out); break;
    case SIM_ROW_GPUS: put_number(row->gpus, out); break;
    case SIM_ROW_DURATION: put_number(row->duration_s, out); break;
    case SIM_ROW_MODEL: put_text(row->model, out); break;
    case SIM_ROW_STEPS: put_number(row->steps, out); break;
    case SIM_ROW_BATCH: put_number(row->batch > 0 ? (double)row->batch : (double)NAN, out); break;
    case SIM_ROW_GROUP: put_text(row->group, out); break;
    case SIM_ROW_WEIGHT: put_number(row->weight, out); break;
    case SIM_ROW_DEADLINE: put_number(row->deadline_s, out); break;
    case SIM_ROW_SLO: put_float(row->slo, out); break;
    case SIM_ROW_KINDS: put_text(row->kinds, out); break;
    case SIM_ROW_ADAPT: put_text(row->adapt, out); break;
    case SIM_ROW_APP: put_text(row->app, out); break;
    case SIM_ROW_SCORE: put_number(row->score, out); break;
    case SIM_ROW_COUNT: break;
    }
}

void sim_row_format(const struct sim_row *row, uint32_t mask, struct base_buf *out)
{
    const char *comma = "";

    for (unsigned c = 0; c < SIM_ROW_COUNT; c++) {
        if ((mask & 1u << c) == 0)
            continue;
        base_buf_puts(out, comma);
        put_column(row, c, out);
        comma = ",";
    }
    base_buf_puts(out, "\n");
}
