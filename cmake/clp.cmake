# CLP, COIN-OR's solver of linear programs: the oracle of tests and the peer in benches, where it is
# installed. The product never links it (tests/checks/check_needed.py).
find_path(CLP_INCLUDE_DIR Clp_C_Interface.h PATH_SUFFIXES coin)
find_library(CLP_LIBRARY Clp)
mark_as_advanced(CLP_INCLUDE_DIR CLP_LIBRARY)

# Links CLP to a target whose file asks for it: it says SHOAL_HAVE_CLP, and does without otherwise.
function(shoal_link_clp target file)
    file(STRINGS ${file} asks LIMIT_COUNT 1 REGEX "SHOAL_HAVE_CLP")
    if(asks AND CLP_INCLUDE_DIR AND CLP_LIBRARY)
        target_include_directories(${target} SYSTEM PRIVATE ${CLP_INCLUDE_DIR})
        target_compile_definitions(${target} PRIVATE SHOAL_HAVE_CLP)
        target_link_libraries(${target} PRIVATE ${CLP_LIBRARY})
    endif()
endfunction()
