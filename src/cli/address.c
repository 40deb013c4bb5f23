/* address.c - see address.h. Tests: tests/cli/test_train_tls.py. */
#include "cli/address.h"

#include "base/err.h"
#include <stdio.h>
#include <string.h>

static const char TLS[] = "tls://";

shoal_status cli_address(const char *address, bool tls, char out[CLI_ADDRESS_SIZE], shoal_err *err)
{
    bool is_named = strstr(address, "://") != NULL;

    if (tls && is_named && strncmp(address, TLS, sizeof TLS - 1) != 0)
        return base_err(err, SHOAL_E_INVAL, "--tls and '%s' name two transports", address);
    if (snprintf(out, CLI_ADDRESS_SIZE, "%s%s", tls && !is_named ? TLS : "", address) >=
        CLI_ADDRESS_SIZE)
        return base_err(err, SHOAL_E_INVAL, "'%.32s...' is too long for an address", address);
    return SHOAL_OK;
}
