# SPDX-License-Identifier: GPL-3.0-or-later
# The CUDA toolkit: whether it is used, for which architectures, with which flags. Nothing here needs a driver or a
# card, and a program built with it starts without them: the CUDA runtime is linked statically, libcuda and libcudnn
# are opened when they are there.

set(ATTN_CUDA AUTO CACHE STRING "Kernels for NVIDIA cards: AUTO (when the toolkit is found), ON, OFF")
set_property(CACHE ATTN_CUDA PROPERTY STRINGS AUTO ON OFF)
# As CMAKE_CUDA_ARCHITECTURES without -real; the environment variable of the same name overrides it.
set(ATTN_CUDA_ARCHITECTURES "80;90;100;120" CACHE STRING "Architectures of the kernels; the last also as PTX")
if(NOT "$ENV{ATTN_CUDA_ARCHITECTURES}" STREQUAL "")
  set(ATTN_CUDA_ARCHITECTURES "$ENV{ATTN_CUDA_ARCHITECTURES}")
endif()

set(ATTN_HAVE_CUDA FALSE)
if(ATTN_CUDA STREQUAL "ON")
  find_package(CUDAToolkit 12.8 REQUIRED)  # the first that knows sm_120
elseif(ATTN_CUDA STREQUAL "AUTO")
  find_package(CUDAToolkit 12.8 QUIET)
endif()
if(CUDAToolkit_FOUND AND NOT ATTN_CUDA STREQUAL "OFF")
  list(TRANSFORM ATTN_CUDA_ARCHITECTURES APPEND -real OUTPUT_VARIABLE CMAKE_CUDA_ARCHITECTURES)
  list(GET ATTN_CUDA_ARCHITECTURES -1 newest)
  list(APPEND CMAKE_CUDA_ARCHITECTURES ${newest}-virtual)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND CUDAToolkit_NVCC_EXECUTABLE)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc takes C++20
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(ATTN_HAVE_CUDA TRUE)
  elseif(ATTN_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ATTN_CUDA=ON, but nvcc of the toolkit in ${CUDAToolkit_BIN_DIR} compiles nothing here")
  endif()
endif()
if(ATTN_HAVE_CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  # What ptxas says of registers and spills is kept beside each object; tests/cuda/resources_test.cpp reads it.
  find_program(ATTN_CCACHE ccache)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/keep_ptxas_report)
  if(ATTN_CCACHE)
    list(APPEND CMAKE_CUDA_COMPILER_LAUNCHER ${ATTN_CCACHE})
  endif()
  list(JOIN ATTN_CUDA_ARCHITECTURES ", " listed)
  message(STATUS "CUDA: toolkit ${CUDAToolkit_VERSION} found, kernels for sm ${listed}")
else()
  message(STATUS "CUDA: toolkit not found or not wanted; built without it, every GPU target is emulated on the host")
endif()

# attn_add_cuda_library(): attn_cuda from backends/cuda: every .cu and every *_cuda.cpp, which are the sources that
# need the toolkit's headers. Without toolkit it is empty and *_absent.cpp, in attn_backends, say so.
function(attn_add_cuda_library)
  if(NOT ATTN_HAVE_CUDA)
    add_library(attn_cuda INTERFACE)
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu ${CMAKE_CURRENT_SOURCE_DIR}/*_cuda.cpp)
  add_library(attn_cuda STATIC ${sources})
  target_include_directories(attn_cuda PRIVATE ${PROJECT_BINARY_DIR}/include/backends)
  set(nvcc_flags --expt-relaxed-constexpr -Werror=all-warnings "SHELL:-Xcompiler -Wall,-Wextra"
      "SHELL:-Xptxas -v")
  target_compile_options(attn_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${nvcc_flags}>")
  list(TRANSFORM ATTN_CUDA_ARCHITECTURES REPLACE "[a-z]+$" "" OUTPUT_VARIABLE architectures)
  list(REMOVE_DUPLICATES architectures)
  list(JOIN architectures "," listed)
  set_source_files_properties(cuda/runtime/toolkit_cuda.cpp PROPERTIES
                              COMPILE_DEFINITIONS "ATTN_CUDA_ARCHITECTURES=${listed}")
  target_link_libraries(attn_cuda PUBLIC attn_core PRIVATE CUDA::cudart_static attn_flags)
  # Each calls the other, so that the linker meets both twice.
  target_link_libraries(attn_cuda INTERFACE attn_backends)
endfunction()
