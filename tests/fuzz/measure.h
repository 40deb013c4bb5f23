/* measure.h - the most memory that is allocated at once, by all threads of a program. */
#ifndef FUZZ_MEASURE_H
#define FUZZ_MEASURE_H

#include <stddef.h>

void measure_begin(void);  /* forgets the peak so far */
size_t measure_peak(void); /* bytes allocated since then, at most at once, beyond what there was */

#endif
