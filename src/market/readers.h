/* readers.h - the formats of price histories Shoal reads, one row each: file prices_<name>.c with a
 * `const struct market_reader market_reader_<name>` (reader.h), tried in this order when the format
 * is not given. A row also gives the value MARKET_FORMAT_<ID> and the word for --format. */
#ifndef MARKET_READERS_H
#define MARKET_READERS_H

/* id, name: our CSV; `aws ec2 describe-spot-price-history`; a change log of cross-cloud catalogues;
 * series of changes as tab-separated text; a table of dates and instances, as of Azure */
#define MARKET_READER_MAP(X) \
    X(SHOAL, shoal)          \
    X(AWS, aws)              \
    X(CATALOGUE, catalogue)  \
    X(SERIES, series)        \
    X(DATES, dates)

#endif
