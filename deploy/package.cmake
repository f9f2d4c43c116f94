# What `cmake --install` puts where, and the Debian package: cmake -B build-deb -DCMAKE_INSTALL_PREFIX=/usr
# -DHOLDFAST_TESTS=OFF, build, then cpack -G DEB in that folder.
include(GNUInstallDirs)
install(TARGETS holdfast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/systemd/holdfast.service DESTINATION lib/systemd/system)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/debian/holdfast.env DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/holdfast
        PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/holdfast.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME operating.md)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/nginx DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME holdfast)
set(CPACK_PACKAGE_CONTACT "The Holdfast maintainers <maintainers@holdfast.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "application state over HTTP, kept on PostgreSQL")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Holdfast keeps entries with versions, conditions and expiry, leases, quotas,\n rate limits and what is done once, over HTTP, in PostgreSQL: a private one,\n or one that is there already.")
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "postgresql")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${CMAKE_CURRENT_LIST_DIR}/debian/conffiles ${CMAKE_CURRENT_LIST_DIR}/debian/postinst
    ${CMAKE_CURRENT_LIST_DIR}/debian/prerm ${CMAKE_CURRENT_LIST_DIR}/debian/postrm)
include(CPack)
