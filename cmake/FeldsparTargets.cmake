# The library target, and a private one that carries what only our own binaries are compiled with:
# warnings never leak to users.
include(GNUInstallDirs)

add_library(feldspar INTERFACE)
add_library(feldspar::feldspar ALIAS feldspar)
target_include_directories(
  feldspar INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/cpp/include>
                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(feldspar INTERFACE cxx_std_20)
target_link_libraries(feldspar INTERFACE Eigen3::Eigen Threads::Threads)
# GCC warns that the calling convention of vector types depends on the instruction set. Ours (Pack) only
# travel through inlined functions.
target_compile_options(feldspar INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>)
# Asked how many threads there should be; the threads are our own.
if(FELDSPAR_USE_OPENMP AND TARGET OpenMP::OpenMP_CXX)
  target_link_libraries(feldspar INTERFACE OpenMP::OpenMP_CXX)
endif()

add_library(feldspar_private INTERFACE)
target_link_libraries(feldspar_private INTERFACE feldspar::feldspar)
if(MSVC)
  target_compile_options(feldspar_private INTERFACE /W4 /permissive- /fp:precise $<$<BOOL:${FELDSPAR_WERROR}>:/WX>)
else()
  # -ffp-contract=off: the same sums on every instruction set, see docs/decisions.
  target_compile_options(
    feldspar_private INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -ffp-contract=off
                               $<$<BOOL:${FELDSPAR_WERROR}>:-Werror>)
endif()
# What the sanitizers shall watch while it runs links this, too. Checks that the address sanitizer mostly
# makes as well are left out: they cost half of the compilation.
add_library(feldspar_watched INTERFACE)
if(FELDSPAR_SANITIZE)
  target_compile_options(
    feldspar_watched
    INTERFACE -fsanitize=address,undefined -fno-sanitize=null,object-size,vptr,alignment,pointer-overflow
              -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(feldspar_watched INTERFACE -fsanitize=address,undefined)
endif()
