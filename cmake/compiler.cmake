# Flags of every target. Floating point is kept strict: equal event logs must give equal action logs.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -ffp-contract=off -fno-fast-math)

# g++ 12 takes the frame allocator of inlined coroutines for a mismatch.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)

# ccache accepts precompiled headers only with these settings.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)

# g++ walks all that it holds each time that it holds a third more. It begins at 600 MB instead of 128 MB: few files get
# there, and scripts/jobs.sh counts 1.5 GB for each compiler.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=600000>)

if(PENSTOCK_SANITIZE)
  add_compile_options(-fsanitize=${PENSTOCK_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PENSTOCK_SANITIZE})
  if(PENSTOCK_SANITIZE MATCHES "undefined")
    # With g++ these three take half of the compile time. The address sanitizer finds a use of null and of dead objects; the
    # fuzzers, built by clang, check all of them.
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=null,alignment,vptr>)
    # Clang 14 cannot compile coroutines with it: "Cannot represent a difference across sections".
    add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  endif()
  if(PENSTOCK_SANITIZE MATCHES "thread")
    # GCC warns about Asio's fences, which its thread sanitizer does not model.
    add_compile_options(-Wno-tsan)
  endif()
endif()

if(PENSTOCK_FUZZERS)
  # All code reports its branches to the fuzzer.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Compiles the files of a library in batches of sixteen: the headers and templates that they share are read and compiled once.
# A whole build takes half the time, a change of one file takes longer; the preset dev does without.
option(PENSTOCK_UNITY "Compile libraries in batches" OFF)
if(PENSTOCK_UNITY)
  # g++ takes the lambdas of an included source file for those of a header.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

# penstock_library(NAME sources...): one static library per folder, headers found from the root.
function(penstock_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${PENSTOCK_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# penstock_test(NAME LIBRARIES... SOURCES...): a GoogleTest binary, one ctest entry per binary.
function(penstock_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} penstock_test_source GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${PENSTOCK_UNITY} UNITY_BUILD_BATCH_SIZE 16)
  # Tests name the fields that matter and leave the others at their defaults.
  target_compile_options(${name} PRIVATE -Wno-missing-field-initializers)
  # A test runs once per build: less work for the optimiser saves a quarter of its compile time.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  add_test(NAME ${name} COMMAND ${name})
  # A sanitizer makes a test four to five times slower.
  set(timeout 300)
  if(PENSTOCK_SANITIZE)
    set(timeout 900)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${timeout})
endfunction()
