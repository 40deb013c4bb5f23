# What `make install` and the packages contain: the command, the library, headers, pkg-config file,
# CMake package, man pages and completions.
include(CMakePackageConfigHelpers)

install(TARGETS shoal_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
install(TARGETS shoal_shared EXPORT shoal
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
)
install(DIRECTORY include/shoal DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
    FILES_MATCHING PATTERN "*.h"
)

# The way from the pkg-config folder back to the prefix, so that the installed tree can be moved.
file(RELATIVE_PATH pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_up ${pc_up})
configure_file(cmake/shoal.pc.in shoal.pc @ONLY)
# pkg-config prefers it where both are: in the build tree, which 'shoal new app' asks.
configure_file(cmake/shoal-uninstalled.pc.in shoal-uninstalled.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/shoal.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development
)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shoal)
install(EXPORT shoal NAMESPACE shoal:: FILE shoalTargets.cmake
    DESTINATION ${package_dir} COMPONENT development
)
configure_package_config_file(cmake/shoalConfig.cmake.in shoalConfig.cmake
    INSTALL_DESTINATION ${package_dir}
)
write_basic_package_version_file(shoalConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/shoalConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/shoalConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT development
)

# Manual pages of commands and the completions come from the command's own tables; man/ holds the rest.
set(generated ${CMAKE_BINARY_DIR}/generated)
add_custom_command(OUTPUT ${generated}.stamp
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/generate $<TARGET_FILE:shoal_command> ${generated}
    COMMAND ${CMAKE_COMMAND} -E touch ${generated}.stamp
    DEPENDS shoal_command ${CMAKE_CURRENT_SOURCE_DIR}/tools/generate
    VERBATIM
)
add_custom_target(generated ALL DEPENDS ${generated}.stamp)
file(GLOB man_pages CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/man/*.[1-8])
foreach(page IN LISTS man_pages)
    string(REGEX MATCH "[1-8]$" section ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT command)
endforeach()
install(DIRECTORY ${generated}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
install(FILES ${generated}/completion/shoal
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT command
)
install(FILES ${generated}/completion/_shoal
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT command
)
install(FILES ${generated}/completion/shoal.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT command
)
