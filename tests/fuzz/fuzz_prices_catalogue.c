/* Any bytes as a price history in format catalogue. */
#include "prices_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return prices_target(data, size, MARKET_FORMAT_CATALOGUE);
}
