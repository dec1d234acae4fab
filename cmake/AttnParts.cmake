# SPDX-License-Identifier: GPL-3.0-or-later
# How a part of the house is built. A part sees its own headers and those of the parts that it links: each part's
# include path holds one link, <build>/include/<part>/<part>, so a wrong arrow does not compile.

add_library(attn_flags INTERFACE)
target_compile_options(attn_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow
                       -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Werror>)
# GCC 12 sees overlaps in std::string that are not there (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(attn_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(ATTN_SANITIZE)
  # Instrumented code hides from GCC that a std::variant was set (-Wmaybe-uninitialized, GCC bug 105562).
  target_compile_options(attn_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${ATTN_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all -Wno-maybe-uninitialized>)
  target_link_options(attn_flags INTERFACE -fsanitize=${ATTN_SANITIZE})
endif()

# attn_add_part(NAME core LIBS ... [PRIVATE_LIBS ...]): library attn_<name> from every source below this folder.
function(attn_add_part)
  cmake_parse_arguments(PART "" "NAME" "LIBS;PRIVATE_LIBS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  foreach(pattern IN LISTS PART_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  set(root ${PROJECT_BINARY_DIR}/include/${PART_NAME})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${PART_NAME} SYMBOLIC)
  add_library(attn_${PART_NAME} STATIC ${sources})
  target_include_directories(attn_${PART_NAME} PUBLIC ${root})
  target_link_libraries(attn_${PART_NAME} PUBLIC ${PART_LIBS} PRIVATE attn_flags ${PART_PRIVATE_LIBS})
endfunction()
