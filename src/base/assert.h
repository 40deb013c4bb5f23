/* assert.h - assertions for our own mistakes. shoal_assert stays on in release; shoal_dassert is
 * for inner loops and is compiled out with NDEBUG. Neither is ever for input. */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

_Noreturn void base_assert_failed(const char *expression, const char *file, int line);

#define shoal_assert(e) ((e) ? (void)0 : base_assert_failed(#e, __FILE__, __LINE__))
#ifdef NDEBUG
#define shoal_dassert(e) ((void)0)
#else
#define shoal_dassert(e) shoal_assert(e)
#endif

#define BASE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
