/* spill.c - see spill.h. A block is one file and one mapping. The files' pages count as the disk's
 * and not as this process's, so limits on private memory leave them alone. A block grows by growing
 * its file and moving the mapping: nothing is copied.
 *
 * Blocks begin at pages, which the C library's nearly never do, so whose a pointer is costs one
 * look at its low bits; the few that lie at a page are looked up in a list. Tests:
 * tests/unit/env/test_spill.c. */
#include "env/spill.h"

#include "base/assert.h"
#include "base/err.h"
#include "env/loop_real.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { PAGE = 4096, NAME_TRIES = 100 };

struct block {
    char *base;
    size_t size; /* of the mapping */
    int fd;
};

struct env_spill {
    struct base_alloc alloc;
    pthread_mutex_t lock; /* of the blocks */
    struct block *blocks;
    size_t count, cap;
    atomic_int refusal; /* errno; 0: none */
    int folder;
    char path[];
};

/* ---- files ---- */

/* Where the file system has no files without a name, one is made and its name taken away. */
static int named_file(const struct env_spill *spill)
{
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        char name[64];
        snprintf(name, sizeof name, ".shoal-%ld-spill%u", (long)getpid(), i);
        int fd = openat(spill->folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0)
            (void)unlinkat(spill->folder, name, 0);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

int env_spill_file(const struct env_spill *spill)
{
    int fd = openat(spill->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        fd = named_file(spill);
    return fd;
}

static void refuse(struct env_spill *spill, int code)
{
    if (spill != NULL)
        atomic_store_explicit(&spill->refusal, code, memory_order_relaxed);
}

int env_spill_back(struct env_spill *spill, int fd, uint64_t offset, uint64_t size)
{
    int code = EFBIG;

    if (offset <= INT64_MAX && size <= INT64_MAX - offset)
        do
            code = posix_fallocate(fd, (off_t)offset, (off_t)size);
        while (code == EINTR);
    if (code != 0)
        refuse(spill, code);
    return code;
}

/* ---- blocks ---- */

static size_t whole_pages(size_t size)
{
    return size > SIZE_MAX - PAGE ? 0 : (size + PAGE - 1) / PAGE * PAGE;
}

/* Under the lock. NULL: the C library's. */
static struct block *find(struct env_spill *spill, const void *p)
{
    for (size_t i = spill->count; i-- > 0;)
        if (spill->blocks[i].base == p)
            return &spill->blocks[i];
    return NULL;
}

static void *block_new(struct env_spill *spill, size_t size)
{
    void *blocks = spill->blocks;
    struct block block = {.size = whole_pages(size)};

    if (block.size == 0 ||
        base_reserve(&base_alloc_libc, &blocks, &spill->cap, spill->count + 1, sizeof block) != 0)
        return NULL;
    spill->blocks = blocks;
    block.fd = env_spill_file(spill);
    if (block.fd < 0) {
        refuse(spill, errno);
        return NULL;
    }
    void *base = MAP_FAILED;
    if (env_spill_back(spill, block.fd, 0, block.size) == 0)
        base = mmap(NULL, block.size, PROT_READ | PROT_WRITE, MAP_SHARED, block.fd, 0);
    if (base == MAP_FAILED) {
        (void)close(block.fd);
        return NULL;
    }
    block.base = base;
    spill->blocks[spill->count++] = block;
    return base;
}

static void block_free(struct env_spill *spill, struct block *block)
{
    shoal_assert(munmap(block->base, block->size) == 0);
    (void)close(block->fd);
    *block = spill->blocks[--spill->count];
}

static void *block_resize(struct env_spill *spill, struct block *block, size_t size)
{
    size = whole_pages(size);
    if (size == 0 || (size > block->size &&
                      env_spill_back(spill, block->fd, block->size, size - block->size) != 0))
        return NULL;
    void *base = mremap(block->base, block->size, size, MREMAP_MAYMOVE);
    if (base == MAP_FAILED)
        return NULL;
    if (size < block->size) {
        int cut = ftruncate(block->fd, (off_t)size);
        (void)cut; /* where it fails, the rest of the file stays and is of no use */
    }
    block->base = base;
    block->size = size;
    return base;
}

/* From one kind to the other. */
static void *move(struct env_spill *spill, void *p, struct block *block, size_t size)
{
    size_t had = block != NULL ? block->size : malloc_usable_size(p);
    void *to = block != NULL ? malloc(size) : block_new(spill, size);

    if (to == NULL)
        return NULL;
    memcpy(to, p, had < size ? had : size);
    if (block != NULL)
        block_free(spill, block);
    else
        free(p);
    return to;
}

static void *change(struct env_spill *spill, void *p, struct block *block, size_t size)
{
    bool large = size >= ENV_SPILL_MIN;

    if (block == NULL && !large)
        return realloc(p, size);
    if (p == NULL)
        return block_new(spill, size);
    if (block == NULL || !large)
        return move(spill, p, block, size);
    return block_resize(spill, block, size);
}

static void *spill_fn(void *ctx, void *p, size_t size)
{
    struct env_spill *spill = ctx;
    bool ours = p != NULL && (uintptr_t)p % PAGE == 0;

    if (!ours && size < ENV_SPILL_MIN)
        return base_alloc_libc.fn(base_alloc_libc.ctx, p, size);
    shoal_assert(pthread_mutex_lock(&spill->lock) == 0);
    struct block *block = ours ? find(spill, p) : NULL;
    void *to = NULL;
    if (size > 0)
        to = change(spill, p, block, size);
    else if (block != NULL)
        block_free(spill, block);
    else
        free(p);
    shoal_assert(pthread_mutex_unlock(&spill->lock) == 0);
    return to;
}

/* ---- beginning and end ---- */

shoal_status env_spill_start(shoal_env *env, const char *folder, shoal_err *err)
{
    size_t path_size = strlen(folder) + 1;
    char text[128];

    if (env->ops->loops != &env_loop_ops_real || env->spill != NULL)
        return base_err(err, SHOAL_E_INVAL, "memory spills in the real world, to one folder");
    struct env_spill *spill = base_calloc(&base_alloc_libc, 1, sizeof *spill + path_size);
    if (spill == NULL)
        return base_err_nomem(err, "starting to spill");
    memcpy(spill->path, folder, path_size);
    spill->alloc = (struct base_alloc){spill_fn, spill};
    shoal_assert(pthread_mutex_init(&spill->lock, NULL) == 0);
    spill->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = spill->folder >= 0 ? env_spill_file(spill) : -1;
    if (fd < 0) {
        shoal_status st = base_err(err, env_real_status(errno), "cannot spill to '%s': %s", folder,
                                   env_real_reason(errno, text, sizeof text));
        env_spill_free(spill);
        return st;
    }
    (void)close(fd);
    env->spill = spill;
    env->alloc = &spill->alloc;
    return SHOAL_OK;
}

void env_spill_free(struct env_spill *spill)
{
    if (spill == NULL)
        return;
    while (spill->count > 0)
        block_free(spill, &spill->blocks[spill->count - 1]);
    base_free(&base_alloc_libc, spill->blocks);
    if (spill->folder >= 0)
        (void)close(spill->folder);
    (void)pthread_mutex_destroy(&spill->lock);
    base_free(&base_alloc_libc, spill);
}

/* ---- words ---- */

uint64_t env_spill_room(shoal_env *env)
{
    struct statvfs info;

    if (env->spill == NULL || fstatvfs(env->spill->folder, &info) != 0)
        return 0;
    return (uint64_t)info.f_bavail * info.f_frsize;
}

bool env_spill_explain(shoal_env *env, shoal_err *err)
{
    struct env_spill *spill = env->spill;
    int code = spill == NULL ? 0 : atomic_load_explicit(&spill->refusal, memory_order_relaxed);
    char text[128];

    if (code == 0)
        return false;
    base_err(err, env_real_status(code), "cannot spill to '%s': %s", spill->path,
             env_real_reason(code, text, sizeof text));
    return true;
}
