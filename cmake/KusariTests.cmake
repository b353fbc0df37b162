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
    file(GLOB_RECURSE drawn_headers CONFIGURE_DEPENDS framework/*.h)
    add_custom_command(
      OUTPUT ${drawn_sources} "${drawn_folder}/fields.h"
      COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tests/misuse_drawn/generate_calls.py"
              "${CMAKE_CURRENT_SOURCE_DIR}" "${drawn_folder}" 6
      DEPENDS tests/misuse_drawn/generate_calls.py tests/misuse_drawn/header_reader.py ${drawn_headers}
      COMMENT "Writing calls of what the headers declare"
      VERBATIM)
    target_sources(test_misuse_drawn PRIVATE tests/misuse_drawn/calls_by_hand.cc tests/misuse_drawn/draw.cc
                                             tests/misuse_drawn/plan.cc ${drawn_sources})
    target_include_directories(test_misuse_drawn PRIVATE tests/misuse_drawn "${drawn_folder}")
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
    # The host code is the same in each mode below, so that its accesses to memory are watched above alone.
    function(kusari_emulate_cuda_mode mode)
      add_test(NAME gpu_emulated_${mode} COMMAND ${test_gpu_on_devices})
      set_tests_properties(gpu_emulated_${mode} PROPERTIES LABELS unit DEPENDS gpu_emulated)  # which compiles kernels
      kusari_emulate_cuda(gpu_emulated_${mode} 2 KUSARI_EMULATED_PROTECT=0 ${ARGN})
    endfunction()
    # With work that waits until something demands it.
    kusari_emulate_cuda_mode(deferred KUSARI_EMULATED_STREAMS=deferred)
    # With each kernel recorded, and run as a CUDA graph.
    kusari_emulate_cuda_mode(graphs KUSARI_TEST_GRAPHS=1)
    # With threads and blocks in other orders, on which no result may depend.
    kusari_emulate_cuda_mode(reverse KUSARI_EMULATED_SCHEDULE=reverse)
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
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    foreach(folder cpu functions properties static_graph links)
      foreach(isa v1 v3)
        if(TARGET test_${folder} AND NOT (isa STREQUAL "v1" AND folder MATCHES "^(static_graph|links)$"))
          add_test(NAME ${folder}_${isa} COMMAND test_${folder})
          set_tests_properties(${folder}_${isa} PROPERTIES LABELS unit TIMEOUT 600 ENVIRONMENT KUSARI_CPU_ISA=${isa})
        endif()
      endforeach()
    endforeach()
    # And a part truly without AVX-512; skipped without qemu-user.
    if(TARGET test_cpu AND NOT KUSARI_SANITIZE)
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
    foreach(folder amp functions optimizers quantization)
      add_test(NAME ${folder}_emulated COMMAND test_${folder})
      set_tests_properties(${folder}_emulated PROPERTIES LABELS unit)
      kusari_emulate_cuda(${folder}_emulated 1 KUSARI_TEST_DEVICE=cuda:0)
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
endif()

# The ladder measures itself step by step; a step that fails makes it fail.
if(TARGET example_imagenet_ladder)
  set(ladder_smoke --arch resnet18 --image-side 32 --batchsize 2 --iterations 1 --warmup 1 --loaderjob 2)
  add_test(NAME ladder COMMAND example_imagenet_ladder ${ladder_smoke} --out "${CMAKE_CURRENT_BINARY_DIR}/tests/ladder")
  set_tests_properties(ladder PROPERTIES LABELS unit TIMEOUT 600)
  if(TARGET kusari_cuda_emulated AND NOT KUSARI_SANITIZE)
    add_test(NAME ladder_emulated
             COMMAND example_imagenet_ladder ${ladder_smoke} --device cuda:0 --out "${CMAKE_CURRENT_BINARY_DIR}/tests/ladder_emulated")
    set_tests_properties(ladder_emulated PROPERTIES LABELS unit)
    kusari_emulate_cuda(ladder_emulated 1)
  endif()
endif()

# Two replicas of a model, on the CPU and on two devices.
if(TARGET example_mnist_train_mnist_data_parallel)
  set(replicas_smoke --data stroke-digits --seed 0 --unit 20 --batchsize 500 --epoch 1)
  set(replicas_tests data_parallel)
  add_test(NAME data_parallel COMMAND example_mnist_train_mnist_data_parallel ${replicas_smoke} --device0 cpu --device1 cpu
                                      --out "${CMAKE_CURRENT_BINARY_DIR}/tests/data_parallel")
  if(TARGET kusari_cuda_emulated)
    list(APPEND replicas_tests data_parallel_emulated)
    add_test(NAME data_parallel_emulated COMMAND example_mnist_train_mnist_data_parallel ${replicas_smoke}
                                                 --out "${CMAKE_CURRENT_BINARY_DIR}/tests/data_parallel_emulated")
    kusari_emulate_cuda(data_parallel_emulated 2)
  endif()
  set_tests_properties(${replicas_tests} PROPERTIES LABELS unit TIMEOUT 600)
endif()

# Trainings of no epochs are refused before anything is read or written.
foreach(example mnist_train_mnist mnist_train_mnist_custom_loop mnist_train_mnist_data_parallel cifar_train_cifar
                cifar_compare_precision vae_train_vae word2vec_train_word2vec ptb_train_ptb ptb_train_ptb_custom_loop seq2seq_seq2seq
                text_classification_train_text_classifier pos_train_pos sentiment_train_sentiment memnn_train_memnn
                image_captioning_train_captions)
  if(TARGET example_${example})
    add_test(NAME no_epochs_${example} COMMAND example_${example} --epoch 0)
    set_tests_properties(no_epochs_${example} PROPERTIES LABELS unit PASS_REGULAR_EXPRESSION "--epoch: (Value|Number)")
  endif()
endforeach()

# Each way to learn vectors of words, and what `search` finds among them.
if(TARGET example_word2vec_train_word2vec)
  set(words_tests word2vec_hsm word2vec_original)
  foreach(output hsm original)
    add_test(NAME word2vec_${output}
             COMMAND example_word2vec_train_word2vec --data generated --seed 0 --test --epoch 2 --model cbow --out-type ${output}
                     --out "${CMAKE_CURRENT_BINARY_DIR}/tests/word2vec_${output}")
  endforeach()
  if(TARGET example_word2vec_search)
    list(APPEND words_tests word2vec_ns word2vec_search)
    set(words_result "${CMAKE_CURRENT_BINARY_DIR}/tests/word2vec_ns")
    add_test(NAME word2vec_ns COMMAND example_word2vec_train_word2vec --data generated --seed 0 --unit 20 --window 2
                                      --batchsize 100 --epoch 2 --model skipgram --out-type ns --out "${words_result}")
    add_test(NAME word2vec_search COMMAND example_word2vec_search --result "${words_result}" cat nonsense)
    set_tests_properties(word2vec_ns PROPERTIES FIXTURES_SETUP word2vec_result)
    set_tests_properties(word2vec_search PROPERTIES FIXTURES_REQUIRED word2vec_result PASS_REGULAR_EXPRESSION
                         "query: cat\n(dog|horse|mouse): [0-9.]+\n(dog|horse|mouse): [0-9.]+\n(dog|horse|mouse): .*\"nonsense\" is not found")
  endif()
  set_tests_properties(${words_tests} PROPERTIES LABELS unit TIMEOUT 600)
endif()

# Language models: recurrent ones and a small transformer learn a text, and write another.
if(TARGET example_ptb_train_ptb)
  set(ptb_tests ptb_lstm ptb_gru ptb_resume)
  set(ptb_result "${CMAKE_CURRENT_BINARY_DIR}/tests/ptb")
  set(ptb_options --data generated --seed 0 --unit 40 --bproplen 20)
  add_test(NAME ptb_lstm COMMAND example_ptb_train_ptb ${ptb_options} --epoch 2 --static-graph --out "${ptb_result}")
  add_test(NAME ptb_resume COMMAND example_ptb_train_ptb ${ptb_options} --epoch 3 --out "${ptb_result}_resumed"
                                   --resume "${ptb_result}/snapshot_iter_400")
  add_test(NAME ptb_gru COMMAND example_ptb_train_ptb ${ptb_options} --layers gru --epoch 2 --out "${ptb_result}_gru")
  # The grammar's own is 3.4.
  set_tests_properties(ptb_lstm ptb_gru ptb_resume PROPERTIES PASS_REGULAR_EXPRESSION "test perplexity: 3[.][3-9]")
  set_tests_properties(ptb_lstm PROPERTIES FIXTURES_SETUP ptb_result)
  set_tests_properties(ptb_resume PROPERTIES FIXTURES_REQUIRED ptb_result)
  if(TARGET example_ptb_gentxt)
    list(APPEND ptb_tests ptb_gentxt)
    add_test(NAME ptb_gentxt COMMAND example_ptb_gentxt --data generated --unit 40 --model "${ptb_result}/model.npz"
                                     --primetext "alice paints green" --sample -1)
    set_tests_properties(ptb_gentxt PROPERTIES FIXTURES_REQUIRED ptb_result PASS_REGULAR_EXPRESSION
                         "alice paints green (cars|boats|trains|planes) [.]")
  endif()
  if(TARGET example_ptb_train_ptb_custom_loop)
    list(APPEND ptb_tests ptb_custom_loop)
    add_test(NAME ptb_custom_loop COMMAND example_ptb_train_ptb_custom_loop ${ptb_options} --epoch 2
                                          --out "${ptb_result}_custom_loop")
    set_tests_properties(ptb_custom_loop PROPERTIES PASS_REGULAR_EXPRESSION "test perplexity: 3[.][3-9]")
  endif()
  set_tests_properties(${ptb_tests} PROPERTIES LABELS unit TIMEOUT 600)
endif()
if(TARGET example_gpt_train_gpt)
  set(gpt_result "${CMAKE_CURRENT_BINARY_DIR}/tests/gpt")
  add_test(NAME gpt COMMAND example_gpt_train_gpt --data generated --seed 0 --layers 2 --heads 2 --width 32 --block 32
                            --batchsize 8 --iterations 1500 --interval 500 --lr 3e-3 --eval-batches 10 --static-graph
                            --out "${gpt_result}")
  set_tests_properties(gpt PROPERTIES FIXTURES_SETUP gpt_result)
  if(TARGET example_gpt_generate)
    add_test(NAME gpt_generate COMMAND example_gpt_generate --result "${gpt_result}" --seed 1 --length 200)
    set_tests_properties(gpt_generate PROPERTIES FIXTURES_REQUIRED gpt_result LABELS unit TIMEOUT 600
                         PASS_REGULAR_EXPRESSION "(cat|dog|horse|mouse) (eats|wants|smells) ")
  endif()
  set_tests_properties(gpt PROPERTIES LABELS unit TIMEOUT 600)
endif()

if(TARGET example_seq2seq_seq2seq)
  add_test(NAME seq2seq COMMAND example_seq2seq_seq2seq --seed 0 --unit 64 --layer 1 --epoch 5
                                --out "${CMAKE_CURRENT_BINARY_DIR}/tests/seq2seq")
  set_tests_properties(seq2seq PROPERTIES LABELS unit TIMEOUT 600
                       PASS_REGULAR_EXPRESSION "BLEU: (1|0[.]9)[.0-9]*\nexact translations: (1[.]000|0[.][89])")
endif()

if(TARGET example_text_classification_train_text_classifier)
  foreach(model rnn cnn bow)
    add_test(NAME text_classification_${model}
             COMMAND example_text_classification_train_text_classifier --model ${model} --seed 0 --unit 48 --epoch 3
                     --out "${CMAKE_CURRENT_BINARY_DIR}/tests/text_classification_${model}")
    set_tests_properties(text_classification_${model} PROPERTIES LABELS unit TIMEOUT 600
                         PASS_REGULAR_EXPRESSION "Test accuracy: (9[5-9]|100)")
  endforeach()
endif()

# Programs that must learn what they are for with each instruction set, because trainings differ by rounding.
# kusari_add_learning_test(name program expected arguments...): expected: what the output must match.
function(kusari_add_learning_test name program expected)
  if(NOT TARGET example_${program})
    return()
  endif()
  foreach(isa native v1 v3)
    set(test ${name}_${isa})
    add_test(NAME ${test} COMMAND example_${program} ${ARGN} --seed 0 --out "${CMAKE_CURRENT_BINARY_DIR}/tests/${test}")
    set_tests_properties(${test} PROPERTIES LABELS unit TIMEOUT 600 PASS_REGULAR_EXPRESSION "${expected}")
    if(isa STREQUAL v1)
      set_tests_properties(${test} PROPERTIES ENVIRONMENT KUSARI_CPU_ISA=v1)
    elseif(isa STREQUAL v3)
      set_tests_properties(${test} PROPERTIES ENVIRONMENT "KUSARI_CPU_ISA=v3;ONEDNN_MAX_CPU_ISA=AVX2")
    endif()
  endforeach()
endfunction()

kusari_add_learning_test(pos_lstm pos_train_pos "validation accuracy: (9[89]|100)" --unit 32 --epoch 4)
kusari_add_learning_test(pos_words pos_train_pos "validation accuracy: (9[89]|100)" --model words --epoch 40)
kusari_add_learning_test(sentiment_recursive sentiment_train_sentiment "roots (9[0-9]|100)" --model recursive --unit 32 --epoch 10)
kusari_add_learning_test(sentiment_childsum sentiment_train_sentiment "roots (9[0-9]|100)" --model childsum --unit 32 --epoch 10)
kusari_add_learning_test(sentiment_nary sentiment_train_sentiment "roots (9[5-9]|100)" --model nary --unit 32 --epoch 6)
kusari_add_learning_test(memnn_bow memnn_train_memnn "test accuracy: (9[5-9]|100)" --epoch 25)
kusari_add_learning_test(memnn_positions memnn_train_memnn "test accuracy: (9[89]|100)" --task 4 --encoding pe --epoch 25)
if(KUSARI_WITH_PNG)
  kusari_add_learning_test(image_captioning image_captioning_train_captions "BLEU: 1[.]0000\nexact captions: 1[.]000" --unit 48 --epoch 25)
endif()

# What pycocotools 2.0.11 and ChainerCV 0.13.1 say of the same files.
if(TARGET example_detection_eval_detection)
  set(detection_cases "${CMAKE_CURRENT_SOURCE_DIR}/tests/golden/detection")
  set(detection_files --annotations "${detection_cases}/annotations.json" --results "${detection_cases}/results.json")
  add_test(NAME eval_detection COMMAND example_detection_eval_detection ${detection_files})
  add_test(NAME eval_detection_voc COMMAND example_detection_eval_detection ${detection_files} --voc)
  add_test(NAME eval_detection_voc07 COMMAND example_detection_eval_detection ${detection_files} --voc07)
  add_test(NAME eval_detection_refuses COMMAND example_detection_eval_detection
                                               --annotations "${detection_cases}/results.json" --results "${detection_cases}/results.json")
  set_tests_properties(eval_detection PROPERTIES PASS_REGULAR_EXPRESSION
    "^{\"AP\":0[.]273102310.*\"AP50\":0[.]305280528.*\"APl\":0[.]157178217.*\"AR1\":0[.]19375,.*\"ARl\":0[.]30625}\n$")
  set_tests_properties(eval_detection_voc PROPERTIES PASS_REGULAR_EXPRESSION "\"map\":0[.]42708333.*\"c1\":null")
  set_tests_properties(eval_detection_voc07 PROPERTIES PASS_REGULAR_EXPRESSION "\"map\":0[.]43939393")
  set_tests_properties(eval_detection_refuses PROPERTIES PASS_REGULAR_EXPRESSION "results[.]json has no list images")
  set_tests_properties(eval_detection eval_detection_voc eval_detection_voc07 eval_detection_refuses PROPERTIES LABELS unit)
endif()

# Each detector learns one or two drawn images by heart: the mAP on these must be far above that of a network that does
# not learn, 0, and lies 0.3 and more below what was reached, since processors round differently. One that is trained a
# little goes on from a snapshot, is tested, and finds objects in files, and in what comes from standard input.
if(TARGET example_detection_train_detection AND TARGET example_detection_detect AND KUSARI_WITH_PNG)
  set(detection_result "${CMAKE_CURRENT_BINARY_DIR}/tests/detection")
  set(detection_smoke --data generated --seed 0 --images 8 --batchsize 4 --size 64)
  set(detection_tests)
  function(kusari_add_detection_test model images epochs learnrate expected)
    add_test(NAME detection_learns_${model}
             COMMAND example_detection_train_detection --data generated --seed 0 --images ${images} --batchsize ${images}
                     --augment none --test-trained --model ${model} --epoch ${epochs} --eval-interval ${epochs} --learnrate ${learnrate}
                     --loaderjob 0 ${ARGN} --out "${detection_result}_${model}")
    set_tests_properties(detection_learns_${model} PROPERTIES LABELS unit TIMEOUT 600 ENVIRONMENT OMP_NUM_THREADS=1
                                                              PASS_REGULAR_EXPRESSION "Test mAP: ${expected}")
  endfunction()
  # Reached: 0.81, 1.0, 0.63, 0.94.
  kusari_add_detection_test(retinanet_resnet18 2 60 0.001 "(0[.][5-9]|1[.]0)" --size 128 --anchor-scale 2 --optimizer adamw)
  kusari_add_detection_test(faster_rcnn_resnet18 1 40 0.0005 "(0[.][5-9]|1[.]0)" --size 128 --anchor-scale 2 --optimizer adamw)
  kusari_add_detection_test(efficientdet_d0 2 300 0.002 "(0[.][3-9]|1[.]0)" --size 128 --optimizer adamw --ema 0)
  kusari_add_detection_test(ssd300 1 30 0.003 "(0[.][4-9]|1[.]0)")
  add_test(NAME detection_retinanet_resnet50 COMMAND example_detection_train_detection ${detection_smoke} --epoch 1
                                                     --model retinanet_resnet50 --out "${detection_result}_retinanet_resnet50")
  list(APPEND detection_tests detection_retinanet_resnet50)
  foreach(way "--static-graph" "--fp16" "--amp autocast --dtype bfloat16 --ema 0.9" "--loaderjob 0 --accumulate 2 --tensorboard")
    string(MAKE_C_IDENTIFIER "${way}" way_name)
    separate_arguments(way)
    add_test(NAME detection${way_name} COMMAND example_detection_train_detection ${detection_smoke} --epoch 1 ${way}
                                               --out "${detection_result}${way_name}")
    list(APPEND detection_tests detection${way_name})
  endforeach()
  set_tests_properties(${detection_tests} PROPERTIES PASS_REGULAR_EXPRESSION "Test mAP: [0-9nan.-]+\n")
  set(detection_again ${detection_smoke} --anchor-scale 2 --ema 0.9 --static-graph)
  add_test(NAME detection_trains COMMAND example_detection_train_detection ${detection_again} --epoch 2 --out "${detection_result}")
  set_tests_properties(detection_trains PROPERTIES FIXTURES_SETUP detection_result)
  add_test(NAME detection_resumes COMMAND example_detection_train_detection ${detection_again} --epoch 3
                                          --out "${detection_result}_resumed" --resume "${detection_result}/snapshot_iter_4")
  add_test(NAME detection_is_tested COMMAND example_detection_eval_detection --result "${detection_result}" --data generated
                                            --save "${detection_result}/")
  set_tests_properties(detection_trains PROPERTIES PASS_REGULAR_EXPRESSION "\n2 +4 .*Test mAP: [0-9.]+\n")
  set_tests_properties(detection_resumes PROPERTIES PASS_REGULAR_EXPRESSION "\n3 +6 .*Test mAP: [0-9.]+\n")
  set_tests_properties(detection_is_tested PROPERTIES PASS_REGULAR_EXPRESSION "{\"map\":[0-9.]+,\"ap\":{\"disc\":.*\"images\":40"
                                                      FIXTURES_SETUP detection_files FIXTURES_REQUIRED detection_result)
  add_test(NAME detection_is_tested_again COMMAND example_detection_eval_detection --voc
                                                  --annotations "${detection_result}/annotations.json"
                                                  --results "${detection_result}/results.json")
  set_tests_properties(detection_is_tested_again PROPERTIES PASS_REGULAR_EXPRESSION "{\"map\":[0-9.]+,\"ap\":{\"disc\":"
                                                            FIXTURES_REQUIRED detection_files)
  add_test(NAME detection_finds COMMAND example_detection_detect "${detection_result}" --result "${detection_result}"
                                        --skip-broken --limit 3 --out "${detection_result}/found")
  set_tests_properties(detection_finds PROPERTIES PASS_REGULAR_EXPRESSION
    "{\"image\":.*\"boxes\":.*\"ms\":{\"decode\":[0-9.]+,\"prepare\":[0-9.]+,\"network\":[0-9.]+,\"boxes\":[0-9.]+}")
  add_test(NAME detection_refuses_streams
           COMMAND sh -c "echo no image | '$<TARGET_FILE:example_detection_detect>' - --result '${detection_result}'")
  set_tests_properties(detection_refuses_streams PROPERTIES PASS_REGULAR_EXPRESSION
                       "detect: standard input: image 0 does not begin as a JPEG file does")
  # A file that comes while detect watches the folder.
  set(watched "${detection_result}/watched")
  add_test(NAME detection_watches
           COMMAND sh -c "rm -rf '${watched}' && mkdir '${watched}' && { (sleep 1; cp '${detection_result}/detection_iter=4_idx=0.png' \
'${watched}/late.png') & } && '$<TARGET_FILE:example_detection_detect>' '${watched}' --result '${detection_result}' --watch \
--interval 0.05 --limit 1 --no-pictures")
  set_tests_properties(detection_watches PROPERTIES PASS_REGULAR_EXPRESSION "{\"image\":\"[^\"]*late[.]png\",\"height\":")
  add_test(NAME detection_needs_a_root COMMAND example_detection_train_detection --data voc --out "${detection_result}_none")
  set_tests_properties(detection_needs_a_root PROPERTIES PASS_REGULAR_EXPRESSION "train_detection: --root: name the folder")
  set_tests_properties(detection_resumes detection_finds detection_watches detection_refuses_streams PROPERTIES FIXTURES_REQUIRED
                                                                                                                detection_result)
  set_tests_properties(${detection_tests} detection_trains detection_resumes detection_is_tested detection_is_tested_again
                       detection_finds detection_watches detection_refuses_streams detection_needs_a_root
                       PROPERTIES LABELS unit TIMEOUT 600)
endif()
if(TARGET example_segmentation_train_segmentation AND KUSARI_WITH_PNG)
  add_test(NAME segmentation COMMAND example_segmentation_train_segmentation --seed 0 --epoch 1 --batchsize 8 --learnrate 0.05
                                     --out "${CMAKE_CURRENT_BINARY_DIR}/tests/segmentation")
  set_tests_properties(segmentation PROPERTIES LABELS unit TIMEOUT 600 PASS_REGULAR_EXPRESSION "Test mIoU: 0[.][0-9]+\n")
endif()

# Small ones: files that are written and read again, a table of mushrooms, halves of a network on two devices.
if(TARGET example_serialization_save AND TARGET example_serialization_load)
  set(serialization_result "${CMAKE_CURRENT_BINARY_DIR}/tests/serialization")
  file(MAKE_DIRECTORY "${serialization_result}")
  add_test(NAME serialization_save COMMAND example_serialization_save --out "${serialization_result}")
  add_test(NAME serialization_load COMMAND example_serialization_load --out "${serialization_result}")
  set_tests_properties(serialization_save PROPERTIES FIXTURES_SETUP serialization LABELS unit)
  set_tests_properties(serialization_load PROPERTIES FIXTURES_REQUIRED serialization LABELS unit
                       PASS_REGULAR_EXPRESSION "model.safetensors loaded!")
endif()
if(TARGET example_glance_glance)
  add_test(NAME glance COMMAND example_glance_glance --seed 0 --epoch 20 --out "${CMAKE_CURRENT_BINARY_DIR}/tests/glance")
  # The larger class has 56 %.
  set_tests_properties(glance PROPERTIES LABELS unit TIMEOUT 600 PASS_REGULAR_EXPRESSION "Test accuracy: ([7-9][0-9]|100)")
endif()
if(TARGET example_mnist_train_mnist_model_parallel)
  add_test(NAME model_parallel
           COMMAND example_mnist_train_mnist_model_parallel --data stroke-digits --seed 0 --unit 40 --batchsize 500 --epoch 1 --device0 cpu
                   --device1 cpu --out "${CMAKE_CURRENT_BINARY_DIR}/tests/model_parallel")
  set_tests_properties(model_parallel PROPERTIES LABELS unit TIMEOUT 600 PASS_REGULAR_EXPRESSION "Test accuracy: [5-9][0-9][.]")
endif()
if(TARGET example_cifar_train_cifar_custom_loop)
  add_test(NAME cifar_custom_loop
           COMMAND example_cifar_train_cifar_custom_loop --data digits --test --model small --seed 0 --batchsize 20 --epoch 2
                   --out "${CMAKE_CURRENT_BINARY_DIR}/tests/cifar_custom_loop")
  set_tests_properties(cifar_custom_loop PROPERTIES LABELS unit TIMEOUT 600 PASS_REGULAR_EXPRESSION "epoch: 2.*save the optimizer")
endif()

# Models that generate, and one that acts; each must have learnt something.
set(learning_tests)
if(TARGET example_vae_train_vae)
  list(APPEND learning_tests vae)
  add_test(NAME vae COMMAND example_vae_train_vae --data stroke-digits --seed 0 --test --epoch 20
                            --out "${CMAKE_CURRENT_BINARY_DIR}/tests/vae")
  # It is 784 log 2 = 543 when each pixel is black or white with probability 1/2.
  set_tests_properties(vae PROPERTIES PASS_REGULAR_EXPRESSION "Test ELBO: -[123][0-9][0-9]\\.")
endif()
if(TARGET example_gradient_penalty_train_wgan_gp)
  list(APPEND learning_tests wgan_gp)
  add_test(NAME wgan_gp COMMAND example_gradient_penalty_train_wgan_gp --unit 64 --batchsize 128 --iteration 500 --interval 250
                                --out "${CMAKE_CURRENT_BINARY_DIR}/tests/wgan_gp")
  # The norm of the critic's gradient, which is to be 1.
  set_tests_properties(wgan_gp PROPERTIES PASS_REGULAR_EXPRESSION "\n500 +[-+0-9.e]+ +(1\\.0|0\\.9)")
endif()
if(TARGET example_reinforcement_learning_dqn_cartpole)
  list(APPEND learning_tests dqn_cartpole double_dqn_cartpole)
  add_test(NAME dqn_cartpole COMMAND example_reinforcement_learning_dqn_cartpole --episodes 400)
  # Random actions give 22.
  set_tests_properties(dqn_cartpole PROPERTIES PASS_REGULAR_EXPRESSION "average_R: 1[0-9][0-9]")
  add_test(NAME double_dqn_cartpole COMMAND example_reinforcement_learning_dqn_cartpole --test --target-type double_dqn)
endif()
if(TARGET example_reinforcement_learning_ddpg_pendulum)
  list(APPEND learning_tests ddpg_pendulum)
  add_test(NAME ddpg_pendulum COMMAND example_reinforcement_learning_ddpg_pendulum --test)
  set_tests_properties(ddpg_pendulum PROPERTIES PASS_REGULAR_EXPRESSION "episode: 2 iteration: 600 R:-[0-9]")
endif()
if(TARGET example_dcgan_train_dcgan)
  list(APPEND learning_tests dcgan)
  add_test(NAME dcgan COMMAND example_dcgan_train_dcgan --dataset digits --images 200 --channels 16 --batchsize 25 --epoch 2
                              --display_interval 4 --snapshot_interval 16 --out "${CMAKE_CURRENT_BINARY_DIR}/tests/dcgan")
  set_tests_properties(dcgan PROPERTIES PASS_REGULAR_EXPRESSION "\n2 +16 +[0-9.]+ +[0-9.]+")
endif()
if(TARGET example_pix2pix_train_facade)
  list(APPEND learning_tests pix2pix)
  add_test(NAME pix2pix COMMAND example_pix2pix_train_facade --size 32 --channels 8 --images 60 --batchsize 4 --epoch 8
                                --display_interval 30 --snapshot_interval 120 --out "${CMAKE_CURRENT_BINARY_DIR}/tests/pix2pix")
  set_tests_properties(pix2pix PROPERTIES PASS_REGULAR_EXPRESSION "test error after: 0[.][012]")
endif()
if(learning_tests)
  # With a PASS_REGULAR_EXPRESSION the exit status does not count.
  set_tests_properties(${learning_tests} PROPERTIES LABELS unit TIMEOUT 600
                                                    FAIL_REGULAR_EXPRESSION "(train_vae|train_wgan_gp|dqn_cartpole|ddpg_pendulum|train_dcgan|train_facade): ")
endif()
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
  set_tests_properties(distributed_mpi PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
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
if(Python3_Interpreter_FOUND AND TARGET kusari_mpi AND TARGET example_distributed_train_mnist)
  add_dependencies(example_distributed_train_mnist kusari_mpi)  # which it loads by name
  add_test(NAME distributed_twins
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/tests/distributed/twins_test.py"
                   "${CMAKE_CURRENT_SOURCE_DIR}/tools/mpirun_here" $<TARGET_FILE:example_distributed_train_mnist>
                   $<TARGET_FILE:example_mnist_train_mnist> "${CMAKE_CURRENT_BINARY_DIR}/tests/distributed_twins" 2)
  set_tests_properties(distributed_twins PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()

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
    add_test(NAME plugin_python COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tests/plugin/load_test.py"
                                        $<TARGET_FILE:kusari> $<TARGET_FILE:test_plugin>)
    set(libraries $<TARGET_FILE:kusari>)
    if(TARGET kusari_cuda)
      list(APPEND libraries $<TARGET_FILE:kusari_cuda>)
    endif()
    add_test(NAME check_thread_variables COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/tools/check_thread_variables" ${libraries})
    set_tests_properties(plugin_python PROPERTIES LABELS unit TIMEOUT 600)
    set_tests_properties(check_thread_variables PROPERTIES LABELS tree)
  endif()
endif()

# A separate program that finds the installed library.
if(NOT KUSARI_SANITIZE AND EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/tests/install/main.cc")
  add_test(NAME install_consumer
           COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${CMAKE_CURRENT_BINARY_DIR} -DSOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR}/tests/install
                   -DWITH_CUDA=$<TARGET_EXISTS:kusari_cuda> -DVERSION=${PROJECT_VERSION} -DGENERATOR=${CMAKE_GENERATOR} -DCOMPILER=${CMAKE_CXX_COMPILER} -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
                   -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/install_consumer.cmake")
  set_tests_properties(install_consumer PROPERTIES LABELS tree TIMEOUT 600)
endif()

# With several jobs the long tests begin first. In seconds, about.
set(kusari_costs
    gpu_emulated 60 iterators 60 haswell 60 cudnn 45 ladder_emulated 35 static_graph_v3 35 cpu 30 cpu_v1 30 cpu_v3 25 core 25 gpu_emulated_deferred 25 gpu_emulated_graphs 25
    gpu_emulated_reverse 25 gpu_emulated_random 25 static_graph 20 training 20 misuse_drawn 20 amp_emulated 20 functions_emulated 20 nvrtc 15
    links 15 links_v3 15 install_consumer 15 bench_iterator 15 convolution_direct 12 convolution_blocked 12 convolution_winograd 12
    convolution_im2col 12 gpu 10 data_parallel_emulated 10 optimizers_emulated 10)
while(kusari_costs)
  list(POP_FRONT kusari_costs test cost)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES COST ${cost})
  endif()
endwhile()
