/* Tests of src/app/app.c: what holds for every application of this tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/app.h"

/* A driver's state of another size is another state. Where this fails, state_version goes up, and both
 * numbers here. (Other changes of meaning need it, too, and nothing but care finds them.) */
static void what_an_application_keeps_has_the_size_of_its_version(void **state)
{
    static const struct {
        const char *name;
        uint32_t version;
        size_t size;
    } KEPT[] = {{"mf", 0, 22640}, {"lda", 0, 1112}, {"logreg", 2, 12816}, {"lasso", 3, 68216}};
    size_t count = 0;

    (void)state;
    while (app_at(count) != NULL)
        count++;
    assert_int_equal(count, sizeof KEPT / sizeof KEPT[0]);
    for (size_t i = 0; i < count; i++) {
        const shoal_app *app = app_find(KEPT[i].name);
        assert_non_null(app);
        if (app->driver_size != KEPT[i].size || app->state_version != KEPT[i].version)
            fail_msg("%s: version %u keeps %zu bytes", app->name, app->state_version,
                     app->driver_size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_application_keeps_has_the_size_of_its_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
