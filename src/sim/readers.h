/* readers.h - the trace formats Shoal reads, one row each: file trace_<name>.c with a
 * `const struct sim_reader sim_reader_<name>` (reader.h), tried in this order when the format is
 * not given. A row also gives the value SIM_FORMAT_<ID> and the word for --format. */
#ifndef SIM_READERS_H
#define SIM_READERS_H

/* id, name */
#define SIM_READER_MAP(X) \
    X(SHOAL, shoal)       \
    X(GAVEL, gavel)       \
    X(POLLUX, pollux)     \
    X(PHILLY, philly)     \
    X(ALIBABA, alibaba)

#endif
