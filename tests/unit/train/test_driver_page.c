/* test_driver_page.c - an application's part of a page: only when it is asked for, and never more than
 * there is room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/master_parts.h"
#include <string.h>

static shoal_status adds_twice(shoal_driver *driver, shoal_err *err)
{
    (void)err;
    assert_int_equal(shoal_driver_page(driver, "<p>one</p>", 10), SHOAL_OK);
    assert_int_equal(shoal_driver_page(driver, "<p>much more</p>", 16), SHOAL_E_LIMIT);
    assert_int_equal(shoal_driver_page(driver, "<i></i>", 7), SHOAL_OK);
    return SHOAL_OK;
}

static void what_does_not_fit_is_not_added_at_all(void **state)
{
    static const shoal_app app = {.struct_size = sizeof app, .page = adds_twice};
    static struct train_master master = {.opts.app = &app};
    struct base_buf page;

    (void)state;
    base_buf_init(&page, &base_alloc_libc, 20);
    assert_int_equal(train_master_page(&master, &page, NULL), SHOAL_OK);
    assert_string_equal(page.data, "<p>one</p><i></i>");
    assert_int_equal(shoal_driver_page(&master.driver, "x", 1), SHOAL_E_INVAL); /* it is over */
    base_buf_fini(&page);
}

static void an_application_without_the_hook_adds_nothing(void **state)
{
    static const shoal_app app = {.struct_size = sizeof app};
    static struct train_master master = {.opts.app = &app};
    struct base_buf page;

    (void)state;
    base_buf_init(&page, &base_alloc_libc, 20);
    assert_int_equal(train_master_page(&master, &page, NULL), SHOAL_OK);
    assert_int_equal(page.size, 0);
    base_buf_fini(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_not_added_at_all),
        cmocka_unit_test(an_application_without_the_hook_adds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
