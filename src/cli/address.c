/* address.c - see address.h. Tests: tests/unit/cli/test_address.c, tests/cli/test_train_tls.py,
 * transcripts. */
#include "cli/address.h"

#include "base/err.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TLS[] = "tls://";
enum { PORT_MAX = 65535 };

/* Whether a port follows the last colon, and a host is before it; what is wrong with the host, who
 * looks it up will say. */
static shoal_status check(const char *address, shoal_err *err)
{
    const char *mark = strstr(address, "://");
    const char *host = mark == NULL ? address : mark + 3;
    const char *colon = strrchr(host, ':');

    if (colon == NULL || colon == host)
        return base_err(err, SHOAL_E_INVAL, "'%s' is not an address: HOST:PORT", address);
    size_t digits = strspn(colon + 1, "0123456789");
    if (digits == 0 || colon[1 + digits] != '\0' || strtoul(colon + 1, NULL, 10) > PORT_MAX)
        return base_err(err, SHOAL_E_INVAL, "'%s' is not an address: a port is 0 to %d", address,
                        PORT_MAX);
    return SHOAL_OK;
}

shoal_status cli_address(const char *address, bool tls, char out[CLI_ADDRESS_SIZE], shoal_err *err)
{
    bool is_named = strstr(address, "://") != NULL;

    if (tls && is_named && strncmp(address, TLS, sizeof TLS - 1) != 0)
        return base_err(err, SHOAL_E_INVAL, "--tls and '%s' name two transports", address);
    if (snprintf(out, CLI_ADDRESS_SIZE, "%s%s", tls && !is_named ? TLS : "", address) >=
        CLI_ADDRESS_SIZE)
        return base_err(err, SHOAL_E_INVAL, "'%.32s...' is too long for an address", address);
    return check(address, err);
}

/* What a machine calls itself; any other name may be that of a network. */
static bool is_loopback(const char *host, size_t size)
{
    static const char *const NAMES[] = {"localhost", "[::1]", "::1"};

    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strlen(NAMES[i]) == size && memcmp(host, NAMES[i], size) == 0)
            return true;
    return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == size;
}

bool cli_address_is_open(const char *address)
{
    const char *mark = strstr(address, "://");
    const char *host = mark == NULL ? address : mark + 3;
    const char *colon = strrchr(host, ':');

    return strncmp(address, TLS, sizeof TLS - 1) != 0 && colon != NULL &&
           !is_loopback(host, (size_t)(colon - host));
}
