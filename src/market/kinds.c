/* kinds.c - see kinds.h. A row is a kind, or a family with '*' at its end; the first that fits
 * counts, so exceptions stand before their family. */
#include "market/kinds.h"

#include "base/assert.h"
#include <string.h>

struct row {
    const char *cloud, *kind, *accelerator;
    double count;
};

static const struct row ROWS[] = {
    {"aws", "p2.xlarge", "K80", 1},
    {"aws", "p2.8xlarge", "K80", 8},
    {"aws", "p2.16xlarge", "K80", 16},
    {"aws", "p3.2xlarge", "V100", 1},
    {"aws", "p3.8xlarge", "V100", 4},
    {"aws", "p3.16xlarge", "V100", 8},
    {"aws", "p3dn.24xlarge", "V100-32GB", 8},
    {"aws", "p4d.24xlarge", "A100", 8},
    {"aws", "p4de.24xlarge", "A100-80GB", 8},
    {"aws", "p5.4xlarge", "H100", 1},
    {"aws", "p5.48xlarge", "H100", 8},
    {"aws", "p5e.48xlarge", "H200", 8},
    {"aws", "p5en.48xlarge", "H200", 8},
    {"aws", "p6-b200.48xlarge", "B200", 8},
    {"aws", "p6-b300.48xlarge", "B300", 8},
    {"aws", "g3s.xlarge", "M60", 1},
    {"aws", "g3.4xlarge", "M60", 1},
    {"aws", "g3.8xlarge", "M60", 2},
    {"aws", "g3.16xlarge", "M60", 4},
    {"aws", "g4dn.12xlarge", "T4", 4},
    {"aws", "g4dn.metal", "T4", 8},
    {"aws", "g4dn.*", "T4", 1},
    {"aws", "g5.12xlarge", "A10G", 4},
    {"aws", "g5.24xlarge", "A10G", 4},
    {"aws", "g5.48xlarge", "A10G", 8},
    {"aws", "g5.*", "A10G", 1},
    {"aws", "g6.12xlarge", "L4", 4},
    {"aws", "g6.24xlarge", "L4", 4},
    {"aws", "g6.48xlarge", "L4", 8},
    {"aws", "g6.*", "L4", 1},
    {"aws", "gr6.*", "L4", 1},
    {"aws", "g6e.12xlarge", "L40S", 4},
    {"aws", "g6e.24xlarge", "L40S", 4},
    {"aws", "g6e.48xlarge", "L40S", 8},
    {"aws", "g6e.*", "L40S", 1},
    {"azure", "Standard_NC6", "K80", 1},
    {"azure", "Standard_NC12", "K80", 2},
    {"azure", "Standard_NC24", "K80", 4},
    {"azure", "Standard_NC24r", "K80", 4},
    {"azure", "Standard_NC6s_v2", "P100", 1},
    {"azure", "Standard_NC12s_v2", "P100", 2},
    {"azure", "Standard_NC24s_v2", "P100", 4},
    {"azure", "Standard_NC24rs_v2", "P100", 4},
    {"azure", "Standard_NC6s_v3", "V100", 1},
    {"azure", "Standard_NC12s_v3", "V100", 2},
    {"azure", "Standard_NC24s_v3", "V100", 4},
    {"azure", "Standard_NC24rs_v3", "V100", 4},
};

static bool fits(const char *pattern, const char *kind)
{
    size_t length = strlen(pattern);

    if (pattern[length - 1] == '*')
        return strncmp(pattern, kind, length - 1) == 0;
    return strcmp(pattern, kind) == 0;
}

bool market_kinds_find(const char *cloud, const char *kind, const char **out_accelerator,
                       double *out_count)
{
    for (size_t i = 0; i < BASE_COUNT(ROWS); i++) {
        if (strcmp(ROWS[i].cloud, cloud) != 0 || !fits(ROWS[i].kind, kind))
            continue;
        *out_accelerator = ROWS[i].accelerator;
        *out_count = ROWS[i].count;
        return true;
    }
    return false;
}
