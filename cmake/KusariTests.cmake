# Unit tests: tests/<folder>/**/*_test.cc make the program test_<folder>. tests/*.cc (main and helpers) is linked to each.

find_package(doctest REQUIRED)
find_package(Python3 COMPONENTS Interpreter)

if(KUSARI_WITH_CUDA_EMULATED)
  add_subdirectory(tests/cuda_emulated)
endif()

# The test sees that many emulated CUDA devices; further arguments are variables of its environment. The devices have few
# multiprocessors, because those work one after another. What the tests compile they keep for each other, and not for
# other build trees.
function(kusari_emulate_cuda test devices)
  set_tests_properties(
    ${test} PROPERTIES TIMEOUT 1200
    ENVIRONMENT "KUSARI_EMULATED_DEVICES=${devices};KUSARI_EMULATED_MULTIPROCESSORS=4;KUSARI_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/tests/kernels;${ARGN}"
    ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=path_list_prepend:$<TARGET_FILE_DIR:kusari_cuda_emulated>")
endfunction()

# Instruction sets that tests run with beside this machine's own.
set(kusari_other_isas)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(kusari_other_isas v1)
  file(STRINGS /proc/cpuinfo avx512 REGEX "^flags.* avx512f " LIMIT_COUNT 1)
  if(avx512)
    list(APPEND kusari_other_isas v3)
  endif()
endif()

# AddressSanitizer looks for libraries where its own lies; MPI leaves memory behind, and a rank dies by a segmentation fault.
function(kusari_sanitize_mpi)
  if(KUSARI_SANITIZE MATCHES address)
    set_tests_properties(
      ${ARGV} PROPERTIES ENVIRONMENT_MODIFICATION
                         "LD_LIBRARY_PATH=path_list_prepend:$<TARGET_FILE_DIR:kusari>;ASAN_OPTIONS=string_append::detect_leaks=0:handle_segv=0")
  endif()
endfunction()

# CTest shows the test as skipped if a case of it was, and none failed.
function(kusari_may_skip test)
  set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT KUSARI_TEST_SKIP_CODE=77)
endfunction()

file(GLOB test_support_sources CONFIGURE_DEPENDS tests/*.cc)
if(test_support_sources)
  add_library(test_support OBJECT ${test_support_sources})
  kusari_compile_settings(test_support)
  kusari_compile_quickly(test_support -O1)
  target_link_libraries(test_support PUBLIC kusari::kusari doctest::doctest Eigen3::Eigen nlohmann_json::nlohmann_json
                                            OpenMP::OpenMP_CXX ZLIB::ZLIB Threads::Threads)
  target_compile_definitions(test_support PUBLIC KUSARI_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}"
                                                 KUSARI_SHARED_DIR="${KUSARI_SHARED_DIR}")

  # Tests that start a program say with what, when it is for another processor than this machine's.
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    target_compile_definitions(test_support PUBLIC KUSARI_TEST_EMULATOR="${emulator} ")
  endif()

  if(KUSARI_WITH_PCRE2)
    target_compile_definitions(test_support PUBLIC KUSARI_WITH_PCRE2)
  endif()
  if(KUSARI_WITH_PUGIXML)
    target_compile_definitions(test_support PUBLIC KUSARI_WITH_PUGIXML)
  endif()

  # The tests of decoders make images with the libraries that read them.
  foreach(format JPEG PNG)
    if(KUSARI_WITH_${format})
      target_compile_definitions(test_support PUBLIC KUSARI_WITH_${format})
      target_link_libraries(test_support PUBLIC ${format}::${format})
    endif()
  endforeach()

  file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/tests" tests/*_test.cc)
  list(FILTER test_sources EXCLUDE REGEX "^cuda_emulated/")
  if(NOT TARGET kusari_onnx)
    list(FILTER test_sources EXCLUDE REGEX "^examples/inference_test")
  endif()
  set(test_folders)
  foreach(source ${test_sources})
    if(source MATCHES "^([^/]+)/")
      set(folder ${CMAKE_MATCH_1})
      list(APPEND test_folders ${folder})
      list(APPEND test_sources_${folder} tests/${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES test_folders)
  if(NOT KUSARI_WITH_CUDA)
    list(REMOVE_ITEM test_folders cudnn nvrtc)
  endif()
  if(NOT Python3_Interpreter_FOUND)
    list(REMOVE_ITEM test_folders misuse_drawn)
  endif()
  if(NOT TARGET kusari-inspect)
    list(REMOVE_ITEM test_folders inspect)
  endif()
  if(NOT TARGET kusari_onnx)
    list(REMOVE_ITEM test_folders onnx)
  endif()

  foreach(folder ${test_folders})
    add_executable(test_${folder} ${test_sources_${folder}})
    kusari_compile_settings(test_${folder})
    kusari_compile_together(test_${folder} 12)
    # Those of cpu and properties compute much themselves, to compare with.
    if(folder MATCHES "^(cpu|properties)$")
      kusari_compile_quickly(test_${folder} -O1)
    else()
      kusari_compile_quickly(test_${folder} -O0)
      kusari_precompile_program(test_${folder} test cmake/precompiled_test.h)
    endif()
    target_link_libraries(test_${folder} PRIVATE test_support)
    set_target_properties(test_${folder} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/tests")
    set(selection "--test-suite-exclude=needs *")
    if(folder STREQUAL gpu)
      # Sources whose test cases ask for a device are a test of their own.
      set(device_sources)
      foreach(source ${test_sources_gpu})
        file(STRINGS ${source} uses REGEX "gpu_device\\(" LIMIT_COUNT 1)
        if(uses)
          cmake_path(GET source FILENAME file_name)
          list(APPEND device_sources "*/${file_name}")
        endif()
      endforeach()
      list(JOIN device_sources "," device_sources)
      list(APPEND selection "--source-file-exclude=${device_sources}")
      add_test(NAME gpu_devices COMMAND test_gpu "--source-file=${device_sources}")
      set_tests_properties(gpu_devices PROPERTIES LABELS unit TIMEOUT 600)
      kusari_may_skip(gpu_devices)
    endif()
    add_test(NAME ${folder} COMMAND test_${folder} ${selection})
    set_tests_properties(${folder} PROPERTIES LABELS unit TIMEOUT 600)
    # What needs something that is not everywhere is a test of its own, which may be skipped: see tests/skip.h.
    set(needs)
    foreach(source ${test_sources_${folder}})
      file(STRINGS ${source} decorators REGEX "test_suite\\(\"needs [^\"]+\"\\)")
      foreach(decorator ${decorators})
        string(REGEX REPLACE ".*test_suite\\(\"needs ([^\"]+)\"\\).*" "\\1" need "${decorator}")
        list(APPEND needs ${need})
      endforeach()
    endforeach()
    list(REMOVE_DUPLICATES needs)
    foreach(need ${needs})
      add_test(NAME ${folder}_${need} COMMAND test_${folder} "--test-suite=needs ${need}")
      set_tests_properties(${folder}_${need} PROPERTIES LABELS unit TIMEOUT 600)
      kusari_may_skip(${folder}_${need})
    endforeach()
  endforeach()

  # Writes files for kusari::onnx, and reads its own.
  if(TARGET test_onnx)
    target_link_libraries(test_onnx PRIVATE kusari::onnx Protozero::Protozero)
    # For tools/check_onnx_export, which asks ONNX Runtime.
    add_executable(onnx_export_cases EXCLUDE_FROM_ALL tests/onnx/export_cases.cc)
    kusari_compile_settings(onnx_export_cases)
    kusari_compile_quickly(onnx_export_cases -O0)
    target_link_libraries(onnx_export_cases PRIVATE kusari_onnx)
    set_target_properties(onnx_export_cases PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/tests")
  endif()

  # Some of the examples read and write ONNX files.
  if(TARGET test_examples AND TARGET kusari_onnx)
    target_link_libraries(test_examples PRIVATE kusari::onnx)
  endif()
  if(TARGET test_examples AND TARGET example_flags)
    target_link_libraries(test_examples PRIVATE example_flags)
  endif()

  # Asks cuDNN itself, which needs no card for that.
  if(TARGET test_cudnn)
    file(GLOB cudnn_sources CONFIGURE_DEPENDS cuda/libraries/cudnn_*.cc)
    target_sources(test_cudnn PRIVATE ${cudnn_sources})
    target_include_directories(test_cudnn SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${KUSARI_CUDNN_INCLUDE_DIR})
    target_link_libraries(test_cudnn PRIVATE ${KUSARI_CUDNN_LIBRARY})
  endif()

  # Asks NVRTC itself, likewise.
  if(TARGET test_nvrtc)
    target_sources(test_nvrtc PRIVATE cuda/runtime/cache_folder.cc cuda/plans/fused_pointwise_source.cc cuda/runtime/nvrtc.cc
                                      framework/kernels/user/source.cc)
    target_include_directories(test_nvrtc SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(test_nvrtc PRIVATE CUDA::nvrtc)
    kusari_use_nvrtc_headers(test_nvrtc)
  endif()

  # Calls with drawn arguments, one for each function that the headers declare.
  if(TARGET test_misuse_drawn)
    set(drawn_folder "${CMAKE_CURRENT_BINARY_DIR}/tests/misuse_drawn")
    set(drawn_sources "${drawn_folder}/entries.cc")
    foreach(part RANGE 1 6)
      list(APPEND drawn_sources "${drawn_folder}/calls_${part}.cc")
    endforeach()
    file(GLOB_RECURSE drawn_headers CONFIGURE_DEPENDS framework/*.h iterators/*.h)
    add_custom_command(
      OUTPUT ${drawn_sources} "${drawn_folder}/fields.h"
      COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tests/misuse_drawn/generate_calls.py"
              "${CMAKE_CURRENT_SOURCE_DIR}" "${drawn_folder}" 6
      DEPENDS tests/misuse_drawn/generate_calls.py tests/misuse_drawn/header_reader.py ${drawn_headers}
      COMMENT "Writing calls of what the headers declare"
      VERBATIM)
    target_sources(test_misuse_drawn PRIVATE tests/misuse_drawn/calls_by_hand.cc tests/misuse_drawn/draw.cc
                                             tests/misuse_drawn/draw_datasets.cc tests/misuse_drawn/plan.cc ${drawn_sources})
    target_include_directories(test_misuse_drawn PRIVATE tests/misuse_drawn "${drawn_folder}")
    # The test's own limit of memory cannot be set then, and several arrays that just fitted would end the process.
    if(KUSARI_SANITIZE MATCHES "address")
      set_tests_properties(misuse_drawn PROPERTIES ENVIRONMENT_MODIFICATION
                                                   "ASAN_OPTIONS=string_append::max_allocation_size_mb=1024:alloc_dealloc_mismatch=0")
    endif()
  endif()

  # What the properties of functions share.
  if(TARGET test_properties)
    target_sources(test_properties PRIVATE tests/properties/property.cc)
  endif()

  # Host code of the CUDA backend and of users' kernels, which the libraries hide.
  if(TARGET test_gpu)
    target_sources(
      test_gpu
      PRIVATE cuda/runtime/allocator.cc
              cuda/runtime/pinned_pool.cc
              cuda/plans/reduction_plan.cc
              cuda/plans/row_plan.cc
              cuda/plans/set_plan.cc
              framework/kernels/user/layout.cc
              framework/kernels/user/source.cc)
  endif()

  if(KUSARI_WITH_CUDA_EMULATED AND TARGET test_gpu)
    # Of plans and allocators the test gpu knows all.
    set(test_gpu_on_devices test_gpu "--source-file-exclude=*_plan_test.cc,*allocator_test.cc")
    add_test(NAME gpu_emulated COMMAND ${test_gpu_on_devices})
    set_tests_properties(gpu_emulated PROPERTIES LABELS unit)
    kusari_emulate_cuda(gpu_emulated 2)
    # The host code is the same in each mode below, so that its accesses to memory are watched above alone; and the
    # whole network, a sixth of the time, has no kernel that the other tests have not.
    function(kusari_emulate_cuda_mode mode)
      add_test(NAME gpu_emulated_${mode} COMMAND ${test_gpu_on_devices} "--test-case-exclude=*fusions: a residual*")
      set_tests_properties(gpu_emulated_${mode} PROPERTIES LABELS unit DEPENDS gpu_emulated)  # which compiles kernels
      kusari_emulate_cuda(gpu_emulated_${mode} 2 KUSARI_EMULATED_PROTECT=0 ${ARGN})
    endfunction()
    # With work that waits until something demands it.
    kusari_emulate_cuda_mode(deferred KUSARI_EMULATED_STREAMS=deferred)
    # With each kernel recorded, and run as a CUDA graph.
    kusari_emulate_cuda_mode(graphs KUSARI_TEST_GRAPHS=1)
    # With threads and blocks in another order, on which no result may depend.
    kusari_emulate_cuda_mode(random KUSARI_EMULATED_SCHEDULE=random:1)
  endif()

  # isa_test.cc calls each instruction set's loops, which the library hides.
  if(TARGET test_cpu)
    target_sources(test_cpu PRIVATE ${kusari_isa_objects})
  endif()

  # Convolutions with each algorithm, wherever it can. One case goes through the algorithms by itself.
  if(TARGET test_cpu)
    foreach(algorithm direct blocked winograd im2col packed depthwise)
      add_test(NAME convolution_${algorithm} COMMAND test_cpu --test-case=*convolution*
                                                     "--test-case-exclude=*through each algorithm"
                                                     "--test-suite-exclude=needs *")
      set_tests_properties(convolution_${algorithm} PROPERTIES LABELS unit TIMEOUT 600 ENVIRONMENT KUSARI_CONVOLUTION=${algorithm})
    endforeach()
  endif()

  # What computes once more as on processors without AVX-512, and without AVX; oneDNN too. Static graphs and links take
  # minutes without AVX, and are left out there.
  if(kusari_other_isas)
    foreach(folder cpu functions properties static_graph links)
      foreach(isa ${kusari_other_isas})
        if(TARGET test_${folder} AND NOT (isa STREQUAL "v1" AND folder MATCHES "^(static_graph|links)$"))
          add_test(NAME ${folder}_${isa} COMMAND test_${folder})
          set_tests_properties(${folder}_${isa} PROPERTIES LABELS unit TIMEOUT 600 ENVIRONMENT KUSARI_CPU_ISA=${isa})
        endif()
      endforeach()
    endforeach()
    # And a part truly without AVX-512; skipped without qemu-user.
    if(TARGET test_cpu AND NOT KUSARI_SANITIZE AND v3 IN_LIST kusari_other_isas)
      add_test(NAME haswell COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_haswell" "${CMAKE_CURRENT_BINARY_DIR}")
      set_tests_properties(haswell PROPERTIES LABELS tree TIMEOUT 900 SKIP_RETURN_CODE 77)
    endif()
  endif()

  # And with images as they are in shape().
  if(TARGET test_functions)
    add_test(NAME functions_nchw COMMAND test_functions)
    set_tests_properties(functions_nchw PROPERTIES LABELS unit TIMEOUT 600 ENVIRONMENT KUSARI_LAYOUT=nchw)
  endif()
  # And on the device that the processor plays.
  if(KUSARI_WITH_CUDA_EMULATED)
    foreach(folder amp functions optimizers quantization xp)
      add_test(NAME ${folder}_emulated COMMAND test_${folder})
      set_tests_properties(${folder}_emulated PROPERTIES LABELS unit)
      kusari_emulate_cuda(${folder}_emulated 1 KUSARI_TEST_DEVICE=cuda:0)
    endforeach()
    # Of others, what puts labels or models there by itself.
    add_test(NAME properties_emulated
             COMMAND test_properties "--test-case=property: connectionist*,property: negative*,property: black_out*")
    add_test(NAME random_graphs_emulated COMMAND test_static_graph "--test-case=random networks give*")
    foreach(name properties_emulated random_graphs_emulated)
      set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
      kusari_emulate_cuda(${name} 1 KUSARI_TEST_DEVICE=cuda:0)
    endforeach()
  endif()
endif()

if(TARGET test_inspect)
  add_dependencies(test_inspect kusari-inspect)  # runs it
  target_compile_definitions(test_inspect PRIVATE KUSARI_INSPECT="$<TARGET_FILE:kusari-inspect>")
endif()

if(TARGET golden_runner)
  if(TARGET test_golden_runner)
    add_dependencies(test_golden_runner golden_runner)  # runs it
  endif()
  set(golden_command golden_runner "${CMAKE_CURRENT_SOURCE_DIR}/tests/golden")
  add_test(NAME golden COMMAND ${golden_command})
  set_tests_properties(golden PROPERTIES LABELS golden TIMEOUT 600)
  # And what static graphs of the functions replay.
  add_test(NAME golden_static_graph COMMAND ${golden_command} --static-graph)
  set_tests_properties(golden_static_graph PROPERTIES LABELS golden)
  if(KUSARI_WITH_CUDA_EMULATED)
    add_test(NAME golden_emulated COMMAND ${golden_command} --device cuda:0)
    set_tests_properties(golden_emulated PROPERTIES LABELS golden)
    kusari_emulate_cuda(golden_emulated 1)
    add_test(NAME golden_emulated_tf32 COMMAND ${golden_command} --device cuda:0 --tf32 --quiet)
    set_tests_properties(golden_emulated_tf32 PROPERTIES LABELS golden)
    kusari_emulate_cuda(golden_emulated_tf32 1)
    add_test(NAME golden_emulated_deferred COMMAND ${golden_command} --device cuda:0)
    set_tests_properties(golden_emulated_deferred PROPERTIES LABELS golden)
    kusari_emulate_cuda(golden_emulated_deferred 1 KUSARI_EMULATED_STREAMS=deferred)
  endif()
endif()

if(TARGET kusari-bench AND NOT KUSARI_SANITIZE)
  # Ten thousand training steps must take nothing from the system and nothing from the heap.
  add_test(NAME bench_steady_state COMMAND kusari-bench steady_state)
  set_tests_properties(bench_steady_state PROPERTIES LABELS unit TIMEOUT 600 PASS_REGULAR_EXPRESSION
                       "\"pool_system_allocations\":0,\"mallocs_per_step\":0.0000,")
  # A step of a small network is as many kernels as it needs: 12 of layers, 1 of the optimizer, 4 of the loss.
  add_test(NAME bench_traffic COMMAND kusari-bench small_mlp --traffic)
  set_tests_properties(bench_traffic PROPERTIES LABELS unit PASS_REGULAR_EXPRESSION "\"launches\":17,")
  # Workers are measured, and are gone afterwards: the program would not end.
  add_test(NAME bench_iterator COMMAND kusari-bench iterator_overhead --workers 2 --seconds 1 --patience 0)
  set_tests_properties(bench_iterator PROPERTIES LABELS unit TIMEOUT 600 PASS_REGULAR_EXPRESSION
                       "iterator_overhead.serial.*iterator_overhead.threads.*iterator_overhead.processes")
  add_test(NAME bench_all_reduce COMMAND kusari-bench all_reduce --seconds 0.5)
  set_tests_properties(bench_all_reduce PROPERTIES LABELS unit PASS_REGULAR_EXPRESSION "\"all_reduce\".*\"gb_per_s\"")
endif()

include(KusariExampleTests)

if(TARGET kusari_cuda_emulated)
  if(TARGET example_vae_train_vae)
    add_test(NAME vae_emulated COMMAND example_vae_train_vae --data stroke-digits --test --epoch 1 --device cuda:0
                                       --out "${CMAKE_CURRENT_BINARY_DIR}/tests/vae_emulated")
    set_tests_properties(vae_emulated PROPERTIES LABELS unit)
    kusari_emulate_cuda(vae_emulated 1)
  endif()
  if(TARGET example_gradient_penalty_train_wgan_gp)
    add_test(NAME wgan_gp_emulated COMMAND example_gradient_penalty_train_wgan_gp --test --device cuda:0
                                           --out "${CMAKE_CURRENT_BINARY_DIR}/tests/wgan_gp_emulated")
    set_tests_properties(wgan_gp_emulated PROPERTIES LABELS unit)
    kusari_emulate_cuda(wgan_gp_emulated 1)
  endif()
endif()

# Programs need nothing of CUDA; the backend, which does, loads on a machine without a driver.
if(BUILD_SHARED_LIBS AND TARGET test_gpu)
  add_test(NAME programs_link_no_cuda
           COMMAND ${CMAKE_COMMAND} "-DFILES=$<TARGET_FILE:kusari>;$<TARGET_FILE:test_gpu>"
                   -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/check_optional_libraries.cmake")
  set_tests_properties(programs_link_no_cuda PROPERTIES LABELS tree)
  if(TARGET kusari_cuda)
    add_test(NAME check_no_cuda_finds_cuda
             COMMAND ${CMAKE_COMMAND} -DFILES=$<TARGET_FILE:kusari_cuda>
                     -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/check_optional_libraries.cmake")
    set_tests_properties(check_no_cuda_finds_cuda PROPERTIES LABELS tree WILL_FAIL ON)
    add_test(NAME cuda_library_loads COMMAND test_gpu "--test-case=cuda backend: its library loads")
    set_tests_properties(cuda_library_loads PROPERTIES LABELS tree ENVIRONMENT KUSARI_TEST_CUDA_LIBRARY=1)
  endif()
endif()

if(Python3_Interpreter_FOUND)
  add_test(NAME check_layers COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_layers")
  add_test(NAME check_layers_finds_offences
           COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tests/check_layers/check_layers_test.py")
  add_test(NAME gpu_check COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tests/gpu_check/gpu_check_test.py")
  # Nothing public is without words, and Doxygen understands them all.
  add_test(NAME reference COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/make_reference" --check
                                  "${CMAKE_CURRENT_BINARY_DIR}/tests/reference")
  set_tests_properties(reference PROPERTIES LABELS tree TIMEOUT 600 SKIP_RETURN_CODE 77)
  add_test(NAME check_headers COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_headers")
  add_test(NAME check_headers_finds_offences
           COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tests/check_headers/check_headers_test.py")
  add_test(NAME generate_calls
           COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tests/misuse_drawn/generate_calls_test.py")
  add_test(NAME check_kernels COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_kernels")
  set_tests_properties(gpu_check check_layers check_layers_finds_offences check_headers check_headers_finds_offences generate_calls
                       check_kernels PROPERTIES LABELS tree)
endif()

# What kernels take of a multiprocessor is as in the table; with cuobjdump and the architecture of the table.
if(TARGET kusari_cuda AND Python3_Interpreter_FOUND)
  add_test(NAME check_ptxas COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_ptxas" --build "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(check_ptxas PROPERTIES LABELS tree SKIP_RETURN_CODE 77)
endif()

# tools/compare gives its peer no kernels that the processor lacks; tools/scaling_model agrees with published runs.
if(Python3_Interpreter_FOUND)
  add_test(NAME compare COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/tests/compare/compare_test.py")
  add_test(NAME scaling_model
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/tests/scaling_model/scaling_model_test.py")
  set_tests_properties(compare scaling_model PROPERTIES LABELS tree)
endif()

# Several processes; skipped without mpirun.
if(Python3_Interpreter_FOUND AND TARGET distributed_ranks)
  add_test(NAME distributed_mpi
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/tests/distributed/mpi_test.py"
                   "${CMAKE_CURRENT_SOURCE_DIR}/tools/mpirun_here" $<TARGET_FILE:distributed_ranks> 2)
  # KUSARI_FAULTS in the environment: how many; KUSARI_FAULT_SEED: which.
  add_test(NAME distributed_faults
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/tests/distributed/faults_test.py"
                   "${CMAKE_CURRENT_SOURCE_DIR}/tools/mpirun_here" $<TARGET_FILE:distributed_ranks> 2)
  set_tests_properties(distributed_mpi distributed_faults PROPERTIES LABELS unit TIMEOUT 600 SKIP_RETURN_CODE 77)
  kusari_sanitize_mpi(distributed_mpi distributed_faults)
endif()

# Ranks with emulated devices, and a NCCL that is played, too.
if(KUSARI_WITH_CUDA_EMULATED AND KUSARI_NCCL_INCLUDE_DIR AND TARGET test_distributed AND NOT KUSARI_SANITIZE)
  add_test(NAME distributed_nccl_emulated COMMAND test_distributed "--test-case=nccl:*")
  set_tests_properties(distributed_nccl_emulated PROPERTIES LABELS unit TIMEOUT 300)
  kusari_emulate_cuda(distributed_nccl_emulated 2)
endif()

if(BUILD_SHARED_LIBS AND TARGET kusari_mpi AND TARGET test_distributed)
  add_test(NAME programs_link_no_mpi
           COMMAND ${CMAKE_COMMAND} "-DFILES=$<TARGET_FILE:kusari>;$<TARGET_FILE:test_distributed>"
                   -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/check_optional_libraries.cmake")
  add_test(NAME check_optional_libraries_finds_mpi
           COMMAND ${CMAKE_COMMAND} -DFILES=$<TARGET_FILE:kusari_mpi>
                   -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/check_optional_libraries.cmake")
  set_tests_properties(check_optional_libraries_finds_mpi PROPERTIES WILL_FAIL ON)
  set_tests_properties(programs_link_no_mpi check_optional_libraries_finds_mpi PROPERTIES LABELS tree)
endif()
foreach(example mnist ptb imagenet)
  if(Python3_Interpreter_FOUND AND TARGET kusari_mpi AND TARGET example_distributed_train_${example})
    add_dependencies(example_distributed_train_${example} kusari_mpi)  # which it loads by name
    add_test(NAME distributed_twins_${example}
             COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/tests/distributed/twins_test.py"
                     "${CMAKE_CURRENT_SOURCE_DIR}/tools/mpirun_here" $<TARGET_FILE:example_distributed_train_${example}>
                     $<TARGET_FILE:example_${example}_train_${example}>
                     "${CMAKE_CURRENT_BINARY_DIR}/tests/distributed_twins_${example}" ${example} 2)
    set_tests_properties(distributed_twins_${example} PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
    kusari_sanitize_mpi(distributed_twins_${example})
  endif()
endforeach()

# Skipped unless KUSARI_CHAINER_PYTHON names a Python that has Chainer.
if(Python3_Interpreter_FOUND AND TARGET chainer_exchange)
  add_test(NAME chainer_exchange
           COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_chainer" --no-install
                   --program $<TARGET_FILE:chainer_exchange>)
  set_tests_properties(chainer_exchange PROPERTIES LABELS chainer TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()

add_test(NAME check_format COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_format")
set_tests_properties(check_format PROPERTIES LABELS tree SKIP_RETURN_CODE 77)

if(kusari_isa_objects AND TARGET test_support)
  add_test(NAME isa_objects_have_no_weak_symbols
           COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_isa_objects" ${CMAKE_NM} ${kusari_isa_objects} COMMAND_EXPAND_LISTS)
  # The tests' main has inline functions, so weak symbols.
  add_test(NAME check_isa_objects_finds_weak_symbols
           COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_isa_objects" ${CMAKE_NM} $<TARGET_OBJECTS:test_support>
           COMMAND_EXPAND_LISTS)
  set_tests_properties(check_isa_objects_finds_weak_symbols PROPERTIES WILL_FAIL ON)
  set_tests_properties(isa_objects_have_no_weak_symbols check_isa_objects_finds_weak_symbols PROPERTIES LABELS tree)
endif()

# Programs that are not linked with the library load it while they run, twice.
if(BUILD_SHARED_LIBS AND EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/tests/plugin/host.cc")
  add_library(test_plugin MODULE tests/plugin/plugin.cc)
  kusari_compile_settings(test_plugin)
  target_link_libraries(test_plugin PRIVATE kusari::kusari Threads::Threads)
  add_executable(test_plugin_host tests/plugin/host.cc)
  kusari_compile_settings(test_plugin_host)
  target_link_libraries(test_plugin_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(test_plugin test_plugin_host PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/tests"
                                                                RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/tests")
  add_test(NAME plugin_host COMMAND test_plugin_host $<TARGET_FILE:kusari> $<TARGET_FILE:test_plugin>)
  set_tests_properties(plugin_host PROPERTIES LABELS unit TIMEOUT 600 PASS_REGULAR_EXPRESSION "loaded twice")
  if(Python3_Interpreter_FOUND AND NOT KUSARI_SANITIZE)
    set(others)  # that programs load without being linked with them
    foreach(library kusari_inference kusari_onnx)
      if(TARGET ${library})
        list(APPEND others $<TARGET_FILE:${library}>)
      endif()
    endforeach()
    add_test(NAME plugin_python COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tests/plugin/load_test.py"
                                        $<TARGET_FILE:kusari> $<TARGET_FILE:test_plugin> ${others})
    set(libraries $<TARGET_FILE:kusari> ${others})
    foreach(library kusari_cuda kusari_mpi)
      if(TARGET ${library})
        list(APPEND libraries $<TARGET_FILE:${library}>)
      endif()
    endforeach()
    add_test(NAME check_thread_variables COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_thread_variables" ${libraries})
    set_tests_properties(plugin_python PROPERTIES LABELS unit TIMEOUT 600)
    set_tests_properties(check_thread_variables PROPERTIES LABELS tree)
  endif()
endif()

# Programs that have the library for deployment alone, in C and in C++; its size.
if(TARGET kusari_inference AND TARGET kusari_onnx)
  include(CheckLanguage)
  check_language(C)
  set(case_folder "${CMAKE_CURRENT_BINARY_DIR}/tests/inference_library")
  file(MAKE_DIRECTORY "${case_folder}")
  add_executable(inference_case tests/inference_library/write_case.cc)
  target_link_libraries(inference_case PRIVATE kusari::onnx)
  add_executable(inference_consumer_cpp tests/inference_library/open_session.cc)
  target_link_libraries(inference_consumer_cpp PRIVATE kusari::inference)
  set(consumers inference_case inference_consumer_cpp)
  if(CMAKE_C_COMPILER)
    enable_language(C)
    add_executable(inference_consumer tests/inference_library/consumer.c)
    target_link_libraries(inference_consumer PRIVATE kusari::inference m)
    list(APPEND consumers inference_consumer)
  endif()
  set_target_properties(${consumers} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/tests")
  add_test(NAME inference_case COMMAND inference_case "${case_folder}")
  set_tests_properties(inference_case PROPERTIES FIXTURES_SETUP inference_case LABELS unit)
  list(REMOVE_ITEM consumers inference_case)
  foreach(consumer ${consumers})
    add_test(NAME ${consumer} COMMAND ${consumer} "${case_folder}/net.onnx" "${case_folder}/case.bin")
    set_tests_properties(${consumer} PROPERTIES FIXTURES_REQUIRED inference_case LABELS unit TIMEOUT 600
                                                PASS_REGULAR_EXPRESSION "as expected")
  endforeach()
  if(NOT KUSARI_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL "Release")
    add_test(NAME inference_library_is_small
             COMMAND ${CMAKE_COMMAND} -DFILE=$<TARGET_FILE:kusari_inference> -DMOST_BYTES=8000000 -DMOST_LIBRARIES=8
                     -DNM=${CMAKE_NM} -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/check_inference_library.cmake")
    add_test(NAME check_inference_library_finds_large_ones
             COMMAND ${CMAKE_COMMAND} -DFILE=$<TARGET_FILE:kusari> -DMOST_BYTES=8000000 -DMOST_LIBRARIES=8 -DNM=${CMAKE_NM}
                     -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/check_inference_library.cmake")
    set_tests_properties(check_inference_library_finds_large_ones PROPERTIES WILL_FAIL ON)
    set_tests_properties(inference_library_is_small check_inference_library_finds_large_ones PROPERTIES LABELS tree)
  endif()
endif()

# GCC's: other compilers make other sizes.
if(BUILD_SHARED_LIBS AND NOT KUSARI_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(check_size ${CMAKE_COMMAND} -DFILE=$<TARGET_FILE:kusari> -DSTRIP=${CMAKE_STRIP} -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/tests)
  set(size_script "${CMAKE_CURRENT_SOURCE_DIR}/cmake/check_library_size.cmake")
  add_test(NAME library_is_small COMMAND ${check_size} -DMOST_BYTES=14000000 -P "${size_script}")
  add_test(NAME check_library_size_finds_large_ones COMMAND ${check_size} -DMOST_BYTES=1000000 -P "${size_script}")
  set_tests_properties(check_library_size_finds_large_ones PROPERTIES WILL_FAIL ON)
  set_tests_properties(library_is_small check_library_size_finds_large_ones PROPERTIES LABELS tree RESOURCE_LOCK stripped_library)
endif()

add_test(NAME check_precompiled_headers
         COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR} -DBINARY=${CMAKE_CURRENT_BINARY_DIR}/tests/precompiled_headers
                 -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/check_precompiled_headers.cmake")
set_tests_properties(check_precompiled_headers PROPERTIES LABELS tree)

# A separate program that finds the installed library.
if(NOT KUSARI_SANITIZE AND EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/tests/install/main.cc")
  add_test(NAME install_consumer
           COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${CMAKE_CURRENT_BINARY_DIR} -DSOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR}/tests/install
                   -DWITH_CUDA=$<TARGET_EXISTS:kusari_cuda> -DVERSION=${PROJECT_VERSION} -DGENERATOR=${CMAKE_GENERATOR} -DCOMPILER=${CMAKE_CXX_COMPILER} -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
                   -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/install_consumer.cmake")
  set_tests_properties(install_consumer PROPERTIES LABELS tree TIMEOUT 600)
endif()

# Sanitized programs take many times as long, longer still beside other work.
if(KUSARI_SANITIZE)
  get_property(sanitized_tests DIRECTORY PROPERTY TESTS)
  set_tests_properties(${sanitized_tests} PROPERTIES TIMEOUT 3000)
endif()

# With several jobs the long tests begin first. In seconds, about.
set(kusari_costs
    gpu_emulated 60 iterators 60 haswell 60 cudnn 50 ladder_emulated 35 static_graph_v3 35 cpu 30 cpu_v1 30 cpu_v3 25 core 25 gpu_emulated_deferred 25 gpu_emulated_graphs 25
    gpu_emulated_random 25 static_graph 20 training 20 misuse_drawn 20 amp_emulated 20 functions_emulated 20 nvrtc 40
    links 40 links_v3 40 install_consumer 15 bench_iterator 15 convolution_direct 12 convolution_blocked 12 convolution_winograd 12
    convolution_im2col 12 gpu 10 data_parallel_emulated 10 optimizers_emulated 10)
while(kusari_costs)
  list(POP_FRONT kusari_costs test cost)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES COST ${cost})
  endif()
endwhile()
