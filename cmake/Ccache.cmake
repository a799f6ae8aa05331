# The compiler cache, set up here rather than by whoever calls CMake, so that every build of these sources shares it: `make`,
# the wheel that pip builds, an editor's build folder. Paths are hashed relative to the sources, so that a clone elsewhere
# finds the same objects; a build folder has to lie directly below the sources (build, build-wheel) for that.
find_program(EC_CCACHE ccache)
if(EC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The last one: a precompiled header is known by its content, not by the macros and the time of its making.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${EC_CCACHE})
endif()
