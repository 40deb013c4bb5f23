/* main.c - the process around cli_main: descriptors and signals. */
#include "cli/cli.h"

#include "wire/auth.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* A closed descriptor 0, 1 or 2 would be taken by the next file opened, which would then receive
 * our output. It is held by one that refuses what the descriptor is for, so that the failure is
 * seen and reported. */
static int hold_closed_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            continue;
        if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (hold_closed_descriptors() != 0)
        return 1;
    wire_skip_openssl_tables();
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is a write error, seen at the end */
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write error, as a full disk is */
    return cli_main(argc, (const char *const *)argv, stdout, stderr);
}
