/* new_app.h - the texts of `shoal new app`, with @NAME@ where the application's name goes. */
#ifndef CLI_NEW_APP_H
#define CLI_NEW_APP_H

extern const char cli_new_app_source[];
extern const char cli_new_app_makefile[];
extern const char cli_new_app_readme[];

#endif
