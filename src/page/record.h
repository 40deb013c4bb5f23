/* record.h - reading the fields of a record. Any thread. */
#ifndef PAGE_RECORD_H
#define PAGE_RECORD_H

#include "shoal/result.h"

enum { PAGE_RECORD_BYTES = 1024 }; /* of records that are made one at a time */

/* Record `index`, where it lies or made in `scratch`, which is aligned and has PAGE_RECORD_BYTES. */
const void *page_record(const shoal_records *records, size_t index, void *scratch);

bool page_is_number(const shoal_field *field);
/* NAN where it is not known or is no number. */
double page_number_of(const shoal_field *field, const void *record);
/* The text of a text or choice; NULL where it is not known. */
const char *page_text_of(const shoal_field *field, const void *record);
bool page_is_known(const shoal_field *field, const void *record);
bool page_is_unsure(const shoal_field *field, const void *record);
/* The member itself, of types that are structs or pointers to records. */
const shoal_numbers *page_numbers_of(const shoal_field *field, const void *record);
const shoal_records *page_records_of(const shoal_field *field, const void *record);
const shoal_texts *page_texts_of(const shoal_field *field, const void *record);
const void *page_record_of(const shoal_field *field, const void *record);

#endif
