/* test_style.c - the tokens of the visual language, as designed, and with enough contrast to be read. */
#include "torture.h"

#include "page/show.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static double luminance(const char *hex)
{
    static const double weight[3] = {0.2126, 0.7152, 0.0722};
    unsigned rgb[3];
    double sum = 0;

    assert_int_equal(sscanf(hex, "#%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]), 3);
    for (size_t i = 0; i < 3; i++) {
        double c = rgb[i] / 255.0;
        sum += weight[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

/* The value of a token, in the light set or in the dark one. */
static const char *token(const char *name, bool dark)
{
    char key[32];

    (void)snprintf(key, sizeof key, "--%s:#", name);
    const char *at = strstr(page_template, ":root{");
    if (dark)
        at = strstr(at, "prefers-color-scheme:dark");
    at = strstr(at, key);
    assert_non_null(at);
    return strchr(at, '#');
}

static double contrast(const char *a, const char *b, bool dark)
{
    double x = luminance(token(a, dark)), y = luminance(token(b, dark));

    return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

static void tokens_are_those_of_the_visual_language(void **state)
{
    (void)state;
    static const struct {
        const char *name, *light, *dark;
    } rows[] = {{"bg", "#f4f7f8", "#0b1317"},       {"panel", "#ffffff", "#121b21"},
                {"sunk", "#eef3f5", "#0f181d"},     {"ink", "#10212a", "#e3edf1"},
                {"dim", "#51636d", "#97a9b3"},      {"line", "#d9e2e6", "#24323a"},
                {"grid", "#e6edf0", "#1c2830"},     {"accent", "#0b6b7a", "#5cc6d6"},
                {"accent-t", "#e2f1f3", "#123038"}, {"ok", "#1b6e3c", "#62c58a"},
                {"warn", "#8a5a00", "#e0ac4b"},     {"warn-t", "#fdf1d8", "#33280f"},
                {"bad", "#b3261e", "#ff8a7f"},      {"bad-t", "#fde8e6", "#3a1b19"},
                {"k0", "#2565c7", "#5ea6f7"},       {"k1", "#00a0a6", "#37d0d8"},
                {"k2", "#966610", "#d39a2c"},       {"k3", "#d9745f", "#f3ad99"},
                {"k4", "#653a7d", "#a06ac6"},       {"k5", "#17561f", "#3f8a55"},
                {"k6", "#6b767f", "#7d8d98"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_memory_equal(token(rows[i].name, false), rows[i].light, 7);
        assert_memory_equal(token(rows[i].name, true), rows[i].dark, 7);
    }
}

static void text_and_marks_have_contrast(void **state)
{
    (void)state;
    static const char *const text[][2] = {
        {"ink", "bg"},       {"ink", "panel"},   {"ink", "sunk"},
        {"dim", "bg"},       {"dim", "panel"},   {"dim", "sunk"},
        {"accent", "panel"}, {"warn", "warn-t"}, {"dim", "warn-t"}};
    for (int dark = 0; dark < 2; dark++) {
        for (size_t i = 0; i < sizeof text / sizeof *text; i++)
            if (contrast(text[i][0], text[i][1], dark == 1) < 5.2)
                fail_msg("%s on %s: %.2f", text[i][0], text[i][1],
                         contrast(text[i][0], text[i][1], dark == 1));
        for (int k = 0; k < 7; k++) {
            char name[4] = {'k', (char)('0' + k), 0, 0};
            assert_true(contrast(name, "panel", dark == 1) >= 3.1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_those_of_the_visual_language),
        cmocka_unit_test(text_and_marks_have_contrast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
