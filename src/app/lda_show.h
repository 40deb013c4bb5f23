/* lda_show.h - topics as they are shown: the largest, their top words, which are alike, and which
 * words several of them have. lda_topics.c finds that, lda_show.c writes it. Private to both.
 * Tests: tests/cli/test_train_report.py. */
#ifndef APP_LDA_SHOW_H
#define APP_LDA_SHOW_H

#include "app/lda.h"

enum {
    LDA_SHOWN_MAX = 1000, /* topics */
    LDA_TOP = 40,         /* words of a topic that are looked at */
    LDA_COHERENT = 10,    /* of them, those that coherence is about */
    LDA_NEAR = 4,         /* topics that a topic is said to be like */
    LDA_SHARED_MAX = 128  /* words of several topics that can be asked for */
};

/* A word that several topics have among their first. */
struct lda_shared {
    uint32_t word, first, count; /* entries of `by_word` */
};
struct lda_use {
    uint32_t word, place; /* of the topic */
    float share;          /* of the topic's tokens */
};

/* Arrays of the topics shown are by place: the largest topic has place 0. */
struct lda_topics {
    const struct base_alloc *alloc;
    const struct lda_kept *kept;
    const char *
        *name; /* where each word's begins, up to the end of a line; NULL: they are numbers */
    struct num_lda_model counts; /* the driver's */
    uint32_t all;                /* topics there are */
    uint32_t filled;             /* of them, those with tokens */
    uint32_t half;               /* the fewest topics that have half of all tokens */
    uint32_t shown;
    uint32_t *topic;       /* (shown) */
    uint32_t *place;       /* (all): UINT32_MAX: not shown */
    uint32_t *word, *used; /* (shown, LDA_TOP): NUM_LDA_NONE where there are fewer; how often */
    uint32_t *near;        /* (shown, LDA_NEAR): places, the most alike first; UINT32_MAX: none */
    double *npmi; /* (shown), NAN: not two of its words are in the documents; NULL: not known */
    const char *no_npmi; /* why it is not; NULL: it is */
    struct lda_use *by_word;
    size_t uses; /* sorted by word, then place */
};

/* Ended by lda_topics_fini, also after a failure. */
shoal_status lda_topics_init(struct lda_topics *topics, shoal_driver *driver, shoal_err *err);
void lda_topics_fini(struct lda_topics *topics);
/* Words that two or more topics have among their first `words`, most topics first, then as they come; at
 * most `max`, up to LDA_SHARED_MAX.
 * Returns how many there are in all. */
size_t lda_topics_shared(struct lda_topics *topics, uint32_t words, struct lda_shared *out,
                         size_t max);

#endif
