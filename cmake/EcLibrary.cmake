# ec_library(NAME ir SRCS a.cpp ... DEPS support ...): one static library per folder, with the
# project's warnings, sanitizers and an alias ec::NAME. Include paths are "folder/file.h" from src/.
find_program(EC_CCACHE ccache)
if(EC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${EC_CCACHE})
endif()

add_library(ec_options INTERFACE)
target_compile_features(ec_options INTERFACE cxx_std_20)
target_compile_options(ec_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  -fvisibility=hidden -ffunction-sections -fdata-sections)
if(EC_WERROR)
  target_compile_options(ec_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports overlaps in std::string concatenation that do not exist.
  target_compile_options(ec_options INTERFACE -Wno-restrict)
endif()
if(EC_SANITIZE)
  target_compile_options(ec_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer -g1)
  target_link_options(ec_options INTERFACE -fsanitize=address,undefined)
endif()
if(EC_FUZZ)
  target_compile_options(ec_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(ec_library)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS;LIBS" ${ARGN})
  add_library(ec_${ARG_NAME} STATIC ${ARG_SRCS})
  add_library(ec::${ARG_NAME} ALIAS ec_${ARG_NAME})
  set_target_properties(ec_${ARG_NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(ec_${ARG_NAME} PUBLIC
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(ec_${ARG_NAME} PRIVATE ec_options)
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(ec_${ARG_NAME} PUBLIC ec::${dep})
  endforeach()
  target_link_libraries(ec_${ARG_NAME} PUBLIC ${ARG_LIBS})
endfunction()
