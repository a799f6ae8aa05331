# One compiler has several names (c++, g++, x86_64-linux-gnu-g++), and the compiler cache tells them apart. Python's build
# tools ask for the last one by CXX: when that is what c++ is, it is called c++ here, as by `make`.
if(DEFINED ENV{CXX} AND NOT CMAKE_CXX_COMPILER)
  find_program(EC_ASKED_COMPILER "$ENV{CXX}")
  find_program(EC_USUAL_COMPILER c++)
  mark_as_advanced(EC_ASKED_COMPILER EC_USUAL_COMPILER)
  if(EC_ASKED_COMPILER AND EC_USUAL_COMPILER)
    file(REAL_PATH "${EC_ASKED_COMPILER}" asked)
    file(REAL_PATH "${EC_USUAL_COMPILER}" usual)
    if(asked STREQUAL usual)
      set(CMAKE_CXX_COMPILER ${EC_USUAL_COMPILER} CACHE FILEPATH "C++ compiler")
    endif()
  endif()
endif()
