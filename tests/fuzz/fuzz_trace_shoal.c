/* Any bytes as a trace in format shoal. */
#include "trace_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return trace_target(data, size, SIM_FORMAT_SHOAL);
}
