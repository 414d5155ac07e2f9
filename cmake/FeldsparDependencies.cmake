# Where third-party code comes from: the system first, then what pip put into the building Python's
# environment, then (Eigen and doctest only) a download checked by its hash.
include(FetchContent)

# Python is found once, with all that is needed of it: pybind11 does not ask again.
if(FELDSPAR_BUILD_PYTHON)
  find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python QUIET COMPONENTS Interpreter)
endif()

find_package(Eigen3 3.4 QUIET NO_MODULE)
if(NOT TARGET Eigen3::Eigen AND Python_Interpreter_FOUND)
  execute_process(
    COMMAND
      "${Python_EXECUTABLE}" -c
      "import sys, pathlib; print(next((str(p) for p in (pathlib.Path(e) / 'cmeel.prefix' for e in sys.path) if p.is_dir()), ''))"
    OUTPUT_VARIABLE cmeel_prefix
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(cmeel_prefix)
    find_package(Eigen3 3.4 QUIET NO_MODULE PATHS "${cmeel_prefix}" NO_DEFAULT_PATH)
  endif()
endif()
if(NOT TARGET Eigen3::Eigen)
  message(STATUS "Eigen: neither on the system nor in the Python environment; downloading")
  FetchContent_Declare(
    eigen
    URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
    URL_HASH SHA256=8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72
    SOURCE_SUBDIR none)
  FetchContent_MakeAvailable(eigen)
  add_library(feldspar_eigen INTERFACE)
  target_include_directories(feldspar_eigen SYSTEM INTERFACE "${eigen_SOURCE_DIR}")
  add_library(Eigen3::Eigen ALIAS feldspar_eigen)
endif()

find_package(Threads REQUIRED)
if(FELDSPAR_USE_OPENMP)
  find_package(OpenMP COMPONENTS CXX QUIET)
endif()

if(FELDSPAR_BUILD_TESTS)
  find_package(doctest QUIET)
  if(NOT TARGET doctest::doctest)
    message(STATUS "doctest: not on the system; downloading")
    # A failed download stops the configuration: tests are never skipped for want of doctest. Only
    # its header is taken, since its own build asks for a CMake too old for current ones.
    FetchContent_Declare(
      doctest
      URL https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz
      URL_HASH SHA256=632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186
      SOURCE_SUBDIR none)
    FetchContent_MakeAvailable(doctest)
    add_library(feldspar_doctest INTERFACE)
    target_include_directories(feldspar_doctest SYSTEM INTERFACE "${doctest_SOURCE_DIR}")
    add_library(doctest::doctest ALIAS feldspar_doctest)
  endif()
endif()
