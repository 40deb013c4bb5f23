/* measure.c - see measure.h. With sanitizers their hooks count; without, malloc and its like are ours and call
 * those of glibc. Memory that is allocated and never touched counts: it is what a file claimed. */
#include "measure.h"

#include <malloc.h>
#include <stdatomic.h>

static atomic_size_t now, peak;
static size_t before;

static void add(size_t size)
{
    size_t all = atomic_fetch_add(&now, size) + size, most = atomic_load(&peak);

    while (all > most && !atomic_compare_exchange_weak(&peak, &most, all)) {
    }
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HOOKS
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOOKS
#endif

#ifdef HOOKS
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *p);

static void on_malloc(const volatile void *p, size_t size)
{
    (void)p;
    add(size);
}

static void on_free(const volatile void *p)
{
    if (p != NULL)
        atomic_fetch_sub(&now, __sanitizer_get_allocated_size(p));
}

__attribute__((constructor)) static void install(void)
{
    __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
}
#else
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

void *malloc(size_t size)
{
    void *p = __libc_malloc(size);

    add(malloc_usable_size(p));
    return p;
}

void *calloc(size_t count, size_t size)
{
    void *p = __libc_calloc(count, size);

    add(malloc_usable_size(p));
    return p;
}

void *realloc(void *p, size_t size)
{
    size_t old = malloc_usable_size(p);
    void *more = __libc_realloc(p, size);

    if (more == NULL && size > 0)
        return NULL;
    atomic_fetch_sub(&now, old);
    add(malloc_usable_size(more));
    return more;
}

void free(void *p)
{
    atomic_fetch_sub(&now, malloc_usable_size(p));
    __libc_free(p);
}
#endif

void measure_begin(void)
{
    before = atomic_load(&now);
    atomic_store(&peak, before);
}

size_t measure_peak(void)
{
    return atomic_load(&peak) - before;
}
