/* table.h - the applications, in the order in which `shoal app list` shows them. Row X(mf) is
 * `const shoal_app app_mf`, defined in mf.c. */
#ifndef APP_TABLE_H
#define APP_TABLE_H

/* name */
#define APP_TABLE(X) X(lasso) X(lda) X(logreg) X(mf)

#endif
