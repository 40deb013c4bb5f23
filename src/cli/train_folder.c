/* train_folder.c - see train_folder.h. Tests: tests/cli/test_train_resume.py. */
#include "cli/train_folder.h"

#include "base/err.h"
#include "cli/output.h"
#include "train/checkpoint.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a driver that was killed while it wrote has left. Nobody else writes there: it is locked. */
static void remove_temporary(int folder)
{
    static const char START[] = ".shoal-";
    int fd = dup(folder);
    DIR *names = fd >= 0 ? fdopendir(fd) : NULL;

    if (names == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(names)) != NULL;)
        if (strncmp(entry->d_name, START, sizeof START - 1) == 0)
            (void)unlinkat(folder, entry->d_name, 0);
    closedir(names);
}

/* Whether some checkpoint is there, good or not. */
static bool has_checkpoint(int folder)
{
    for (uint32_t i = 0; train_shelf_file(i) != NULL; i++)
        if (faccessat(folder, train_shelf_file(i), F_OK, 0) == 0)
            return true;
    return false;
}

shoal_status cli_train_folder_open(const char *path, bool resume, int *out_folder, shoal_err *err)
{
    char why[128];
    int fd = -1;

    if (resume || mkdir(path, 0777) == 0 || errno == EEXIST)
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && resume && errno == ENOENT)
        return base_err(err, SHOAL_E_NOTFOUND, "there is no checkpoint: no folder '%s'", path);
    if (fd < 0 || faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        base_err(err, SHOAL_E_IO, "cannot keep checkpoints in '%s': %s", path,
                 cli_output_reason(errno, why, sizeof why));
        if (fd >= 0)
            close(fd);
        return SHOAL_E_IO;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return base_err(err, SHOAL_E_EXISTS, "a job that runs keeps its checkpoints in '%s'", path);
    }
    if (resume && !has_checkpoint(fd)) {
        close(fd);
        return base_err(err, SHOAL_E_NOTFOUND, "there is no checkpoint: no '%s/%s'", path,
                        train_shelf_file(0));
    }
    remove_temporary(fd);
    *out_folder = fd;
    return SHOAL_OK;
}

void cli_train_folder_empty(int folder)
{
    for (uint32_t i = 0; train_shelf_file(i) != NULL; i++)
        (void)unlinkat(folder, train_shelf_file(i), 0);
}
