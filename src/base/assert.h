/* assert.h - assertions for our own mistakes. shoal_assert is always on; shoal_dassert is for
 * inner loops and on where sanitizers are. Neither is ever for input. */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

_Noreturn void base_assert_failed(const char *expression, const char *file, int line);

#define shoal_assert(e) ((e) ? (void)0 : base_assert_failed(#e, __FILE__, __LINE__))
#ifdef SHOAL_DEBUG
#define shoal_dassert(e) shoal_assert(e)
#else
#define shoal_dassert(e) ((void)sizeof(e))
#endif

#define BASE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
