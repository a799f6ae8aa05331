# `make install`: the tool, the library, its headers, and edgecompilerConfig.cmake for find_package(edgecompiler).
# In a wheel (SKBUILD) tool and library lie inside the package, in the same folders to each other.
if(SKBUILD)
  install(TARGETS edgecompile RUNTIME DESTINATION edgecompiler/bin COMPONENT python)
  if(BUILD_SHARED_LIBS)
    install(TARGETS edgecompiler LIBRARY DESTINATION edgecompiler/lib COMPONENT python)
    set_target_properties(edgecompile PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  endif()
  return()
endif()

install(TARGETS edgecompile RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(BUILD_SHARED_LIBS)
  file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(edgecompile PROPERTIES INSTALL_RPATH "$ORIGIN/${up}")
  install(TARGETS edgecompiler EXPORT edgecompiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/edgecompiler DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT edgecompiler FILE edgecompilerConfig.cmake NAMESPACE edgecompiler::
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/edgecompiler)
endif()
