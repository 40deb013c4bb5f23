/* address.h - addresses as options say them: --tls in front of one that names no transport. */
#ifndef CLI_ADDRESS_H
#define CLI_ADDRESS_H

#include "cli/cli.h"

enum { CLI_ADDRESS_SIZE = 300 };

/* `address` into `out`, with "tls://" in front where `tls` is set. SHOAL_E_INVAL in words when it
 * names another transport, is longer than any address, or does not end in a port. Any thread. */
SHOAL_MUST_USE shoal_status cli_address(const char *address, bool tls, char out[CLI_ADDRESS_SIZE],
                                        shoal_err *err);
/* Whether others can read what passes there: it is beyond this machine and not encrypted. For one that
 * cli_address took. Any thread. */
bool cli_address_is_open(const char *address);

#endif
