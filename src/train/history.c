/* history.c - see history.h. */
#include "train/history.h"

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
