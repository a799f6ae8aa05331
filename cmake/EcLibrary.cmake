# ec_library(NAME ir SRCS a.cpp ... DEPS support ...): the code of one folder, with the project's warnings and sanitizers.
# Include paths are "folder/file.h" from src/. Programs link to ec::NAME, which is libedgecompiler.so, one shared library
# with every folder in it; with BUILD_SHARED_LIBS=OFF it is an archive of that folder alone (docs/adr/0013).
add_library(ec_options INTERFACE)
# Functions of the library call each other directly, as nobody replaces one of them from outside.
target_compile_options(ec_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  -fvisibility-inlines-hidden -fno-semantic-interposition -ffunction-sections -fdata-sections)
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
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code hides from GCC what is initialised.
    target_compile_options(ec_options INTERFACE -Wno-maybe-uninitialized)
  endif()
  if(EC_SANITIZE_ARITHMETIC)
    # Checks of pointers are two thirds of the instrumented code, and AddressSanitizer reports most of what they find.
    target_compile_options(ec_options INTERFACE -fsanitize=float-cast-overflow -fno-sanitize-recover=float-cast-overflow
      -fno-sanitize=null,alignment,object-size,vptr,nonnull-attribute,returns-nonnull-attribute)
  endif()
endif()
if(EC_FUZZ)
  target_compile_options(ec_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
# A plain option, not a compile feature: versions of CMake put the feature's flag at different positions of the command, and the
# compiler cache would then keep the objects of each version apart.
set(EC_STANDARD_FLAG -std=gnu++20)
target_compile_options(ec_options INTERFACE ${EC_STANDARD_FLAG})

# The headers that nearly every file parses, precompiled. Headers of the project do not belong here: a change to one would
# compile everything anew, files that forget to include it would build, and its path would keep clones from sharing a cache.
set(EC_STANDARD_HEADERS <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <numeric>
  <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# ec_precompile(TARGET LIKE): TARGET starts from the precompiled standard headers of the target LIKE, which has the same
# flags. Parsing them is a third of the time that GCC takes for a file. Sources with flags of their own start without.
function(ec_precompile TARGET LIKE)
  if(EC_PRECOMPILE)
    target_precompile_headers(${TARGET} REUSE_FROM ${LIKE})
  endif()
endfunction()

function(ec_library)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS;LIBS" ${ARGN})
  set(target ec_${ARG_NAME})
  if(BUILD_SHARED_LIBS)
    add_library(${target} OBJECT ${ARG_SRCS})
    add_library(ec::${ARG_NAME} ALIAS edgecompiler)
    target_link_libraries(edgecompiler PRIVATE ${target})
  else()
    add_library(${target} STATIC ${ARG_SRCS})
    add_library(ec::${ARG_NAME} ALIAS ${target})
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE ec_options)
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(${target} PUBLIC ec_${dep})
  endforeach()
  target_link_libraries(${target} PUBLIC ${ARG_LIBS})
  ec_precompile(${target} ec_headers)
endfunction()

# ec_objects(NAME TARGET): the objects of TARGET, which have flags of their own, belong to the library NAME.
function(ec_objects NAME TARGET)
  set_target_properties(${TARGET} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(BUILD_SHARED_LIBS)
    target_sources(edgecompiler PRIVATE $<TARGET_OBJECTS:${TARGET}>)
  else()
    target_sources(ec_${NAME} PRIVATE $<TARGET_OBJECTS:${TARGET}>)
  endif()
endfunction()

# ec_headers_need(NAME INCLUDES dir ... DEFINITIONS X=1 ...): whoever includes the headers of NAME compiles with these.
function(ec_headers_need NAME)
  cmake_parse_arguments(ARG "" "" "INCLUDES;DEFINITIONS" ${ARGN})
  target_include_directories(ec_${NAME} SYSTEM PUBLIC ${ARG_INCLUDES})
  target_compile_definitions(ec_${NAME} PUBLIC ${ARG_DEFINITIONS})
  if(BUILD_SHARED_LIBS)
    target_include_directories(edgecompiler SYSTEM INTERFACE "$<BUILD_INTERFACE:${ARG_INCLUDES}>")
    target_compile_definitions(edgecompiler INTERFACE "$<BUILD_INTERFACE:${ARG_DEFINITIONS}>")
  endif()
endfunction()
