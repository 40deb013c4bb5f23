# How every file of Shoal is compiled: language, warnings, sanitizers. Targets take it by linking
# shoal_options.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Kind of build" FORCE)
endif()
# What is built is what is installed: optimised, hardened, with assertions. Those of inner loops (shoal_dassert) are
# compiled where sanitizers or coverage slow everything down anyway.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g" CACHE STRING "" FORCE)

set(SHOAL_SANITIZE "" CACHE STRING "Sanitizers, such as 'address,undefined' or 'thread'")
option(SHOAL_COVERAGE "Count executed lines (gcov)" OFF)
option(SHOAL_FUZZ "Build tests/fuzz as libFuzzer binaries; needs clang" OFF)
option(SHOAL_UCX "Transport over UCX ('ucx://' addresses); needs its headers" OFF)
option(SHOAL_WERROR "Warnings are errors" OFF)

add_library(shoal_options INTERFACE)
target_compile_definitions(shoal_options INTERFACE _GNU_SOURCE)
# -ffp-contract=off: equal seeds give equal bytes on machines with and without FMA.
target_compile_options(shoal_options INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -ffp-contract=off
    $<$<BOOL:${SHOAL_WERROR}>:-Werror>
)
if(SHOAL_SANITIZE OR SHOAL_COVERAGE)
    target_compile_definitions(shoal_options INTERFACE SHOAL_DEBUG)
else()
    target_compile_options(shoal_options INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    target_link_options(shoal_options INTERFACE LINKER:-z,relro LINKER:-z,now)
endif()
if(SHOAL_SANITIZE)
    target_compile_options(shoal_options INTERFACE
        -fsanitize=${SHOAL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    )
    target_link_options(shoal_options INTERFACE -fsanitize=${SHOAL_SANITIZE})
endif()
if(SHOAL_COVERAGE)
    target_compile_options(shoal_options INTERFACE --coverage -O0)
    target_link_options(shoal_options INTERFACE --coverage)
endif()
if(SHOAL_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
        message(FATAL_ERROR "SHOAL_FUZZ needs clang: cmake --preset fuzz")
    endif()
    target_compile_options(shoal_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
