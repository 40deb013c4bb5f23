/* trail.c - see trail.h. */
#include "train/trail.h"

#include <math.h>

static void halve(struct train_trail *t)
{
    for (uint32_t i = 0; i < TRAIN_TRAIL_MAX / 2; i++)
        t->value[i] = t->value[2 * (size_t)i];
    t->count = TRAIN_TRAIL_MAX / 2;
    t->every *= 2;
}

void train_trail_value(struct train_trail *t, uint64_t at_ns, uint64_t clock, uint64_t task_ns,
                       double value)
{
    if (t->every == 0)
        t->every = 1;
    bool even = t->seen++ % t->every == 0;

    t->count -= t->extra;
    if (even && t->count == TRAIN_TRAIL_MAX)
        halve(t);
    t->extra = !even;
    t->value[t->count++] = (struct train_trail_value){at_ns, clock, task_ns, value,
                                                      t->held ? t->held_out : (double)NAN};
    t->held_seen += t->held;
    t->held = false;
}

void train_trail_held_out(struct train_trail *t, double value)
{
    t->held = true;
    t->held_out = value;
}

void train_trail_crew(struct train_trail *t, uint64_t at_ns, uint32_t workers, uint32_t lost)
{
    struct train_trail_crew *last = t->crews > 0 ? &t->crew[t->crews - 1] : NULL;

    if (last != NULL && last->workers == workers && last->lost == lost)
        return;
    if (t->crews < TRAIN_TRAIL_CREWS)
        t->crews++;
    t->crew[t->crews - 1] = (struct train_trail_crew){at_ns, workers, lost};
}

void train_history_add(struct train_history *h, double value)
{
    if (h->every == 0)
        h->every = 1;
    if (h->seen++ % h->every != 0)
        return;
    if (h->count == TRAIN_HISTORY_MAX) {
        for (uint32_t i = 0; i < TRAIN_HISTORY_MAX / 2; i++)
            h->value[i] = h->value[2 * (size_t)i];
        h->count = TRAIN_HISTORY_MAX / 2;
        h->every *= 2;
    }
    h->value[h->count++] = value;
}
