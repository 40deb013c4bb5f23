/* status.c - the status table as functions. Tests: tests/unit/base/test_status.c. */
#include "shoal/status.h"

#include "shoal/version.h"

const char *shoal_status_name(shoal_status status)
{
    switch (status) {
#define ROW(name, value, action, text) \
    case name: return #name;
        SHOAL_STATUS_MAP(ROW)
#undef ROW
    }
    return "SHOAL_E_UNKNOWN";
}

const char *shoal_status_text(shoal_status status)
{
    switch (status) {
#define ROW(name, value, action, text) \
    case name: return text;
        SHOAL_STATUS_MAP(ROW)
#undef ROW
    }
    return "unknown status";
}

shoal_action shoal_status_action(shoal_status status)
{
    switch (status) {
#define ROW(name, value, action, text) \
    case name: return action;
        SHOAL_STATUS_MAP(ROW)
#undef ROW
    }
    return SHOAL_ACTION_GIVE_UP;
}

const char *shoal_action_text(shoal_action action)
{
    switch (action) {
    case SHOAL_ACTION_NONE: return "none";
    case SHOAL_ACTION_RETRY_HERE: return "retry here";
    case SHOAL_ACTION_RETRY_ELSEWHERE: return "retry elsewhere";
    case SHOAL_ACTION_GIVE_UP: return "give up";
    case SHOAL_ACTION_FIX_CALL: return "fix the call";
    }
    return "give up";
}

const char *shoal_version(void)
{
    return SHOAL_VERSION;
}
