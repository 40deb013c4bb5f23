/* test_screen.c - what is written turns the old picture into the new one, and little more is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "cli/screen.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 40, ROWS_MAX = 12 };

/* A terminal that knows the sequences which a screen writes. */
struct terminal {
    char cell[ROWS_MAX][COLUMNS_MAX][5];
    unsigned row, column;
    size_t jumps;
};

static void feed(struct terminal *t, const char *bytes)
{
    unsigned row, column;
    int used;

    while (*bytes != 0) {
        if (sscanf(bytes, "\033[%u;%uH%n", &row, &column, &used) == 2 && bytes[used - 1] == 'H') {
            t->row = row - 1;
            t->column = column - 1;
            t->jumps++;
            bytes += used;
        } else if (strncmp(bytes, "\033[2J", 4) == 0) {
            memset(t->cell, 0, sizeof t->cell);
            bytes += 4;
        } else if (*bytes == '\033') {
            bytes += strcspn(bytes, "m") + 1;
        } else {
            size_t size = 1;
            while (((unsigned char)bytes[size] & 0xc0) == 0x80)
                size++;
            assert_true(t->row < ROWS_MAX && t->column < COLUMNS_MAX && size < 5);
            memset(t->cell[t->row][t->column], 0, 5);
            if (*bytes != ' ')
                memcpy(t->cell[t->row][t->column], bytes, size);
            t->column++;
            bytes += size;
        }
    }
}

static void update(struct cli_screen *screen, struct terminal *t, size_t *out_size)
{
    struct base_buf out;

    base_buf_init(&out, &base_alloc_libc, 1 << 20);
    base_buf_puts(&out, "");
    cli_screen_update(screen, &out);
    assert_int_equal(base_buf_status(&out), SHOAL_OK);
    feed(t, out.data);
    *out_size = out.size;
    base_buf_fini(&out);
    for (unsigned row = 0; row < screen->rows; row++)
        for (unsigned column = 0; column < screen->columns; column++)
            assert_string_equal(t->cell[row][column],
                                screen->now[row * screen->columns + column].text);
}

static void draw_at_random(struct cli_screen *screen, struct base_rand *rand)
{
    static const char *const WORDS[] = {"worker", "█▌", "busy 42 %", "·", " ", "é", "a\tb\033c"};

    for (int i = 0; i < 12; i++)
        cli_screen_put(screen, (unsigned)base_rand_below(rand, ROWS_MAX + 2),
                       (unsigned)base_rand_below(rand, COLUMNS_MAX + 2),
                       (enum page_text_style)base_rand_below(rand, 3),
                       WORDS[base_rand_below(rand, sizeof WORDS / sizeof WORDS[0])]);
}

static void the_terminal_shows_every_frame_whatever_came_before(void **state)
{
    struct cli_screen screen;
    struct terminal terminal = {.jumps = 0};
    struct base_rand rand;
    size_t size;

    (void)state;
    base_rand_init(&rand, 7, "screen");
    cli_screen_init(&screen, &base_alloc_libc);
    for (int frame = 0; frame < 2000; frame++) {
        unsigned columns = screen.columns, rows = screen.rows;
        if (columns == 0 || base_rand_below(&rand, 20) == 0) {
            columns = 1 + (unsigned)base_rand_below(&rand, COLUMNS_MAX);
            rows = 1 + (unsigned)base_rand_below(&rand, ROWS_MAX);
        }
        screen.color = base_rand_below(&rand, 2) == 0;
        cli_screen_begin(&screen, columns, rows);
        draw_at_random(&screen, &rand);
        update(&screen, &terminal, &size);
    }
    cli_screen_fini(&screen);
}

static void a_frame_that_did_not_change_writes_nothing(void **state)
{
    struct cli_screen screen;
    struct terminal terminal = {.jumps = 0};
    size_t size;

    (void)state;
    cli_screen_init(&screen, &base_alloc_libc);
    for (int i = 0; i < 2; i++) {
        cli_screen_begin(&screen, 20, 3);
        cli_screen_put(&screen, 1, 2, PAGE_BOLD, "clock 341");
        update(&screen, &terminal, &size);
    }
    assert_int_equal(size, 0);
    terminal.jumps = 0;
    cli_screen_begin(&screen, 20, 3);
    cli_screen_put(&screen, 1, 2, PAGE_BOLD, "clock 342");
    update(&screen, &terminal, &size);
    assert_int_equal(terminal.jumps, 1);
    assert_true(size < 10); /* one jump, one character */
    cli_screen_forget(&screen);
    cli_screen_begin(&screen, 20, 3);
    cli_screen_put(&screen, 1, 2, PAGE_BOLD, "clock 342");
    update(&screen, &terminal, &size);
    assert_true(size > 10);
    cli_screen_fini(&screen);
}

static void plain_lines_have_no_sequences_and_no_spaces_at_their_ends(void **state)
{
    struct cli_screen screen;
    struct base_buf out;

    (void)state;
    cli_screen_init(&screen, &base_alloc_libc);
    screen.color = true;
    cli_screen_begin(&screen, 20, 9);
    cli_screen_put(&screen, 0, 1, PAGE_BOLD, "a b  ");
    assert_int_equal(cli_screen_printf(&screen, 2, 0, PAGE_DIM, "%d %s", 7, "tables"), 8);
    base_buf_init(&out, &base_alloc_libc, 1 << 12);
    cli_screen_plain(&screen, &out);
    assert_string_equal(out.data, " a b\n\n7 tables\n");
    base_buf_fini(&out);
    cli_screen_fini(&screen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_terminal_shows_every_frame_whatever_came_before),
        cmocka_unit_test(a_frame_that_did_not_change_writes_nothing),
        cmocka_unit_test(plain_lines_have_no_sequences_and_no_spaces_at_their_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
