# Tests of the example programs; included by KusariTests.cmake.

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

if(TARGET example_gpt_train_gpt AND TARGET example_inference_export_gpt AND TARGET example_inference_generate_text)
  add_test(NAME export_gpt COMMAND example_inference_export_gpt --result "${gpt_result}" --out "${gpt_result}/gpt.onnx")
  set_tests_properties(export_gpt PROPERTIES FIXTURES_REQUIRED gpt_result FIXTURES_SETUP gpt_file LABELS unit)
  add_test(NAME generate_text COMMAND example_inference_generate_text "${gpt_result}/gpt.onnx" --seed 1 --threads 2)
  set_tests_properties(generate_text PROPERTIES FIXTURES_REQUIRED gpt_file LABELS unit TIMEOUT 600
                       PASS_REGULAR_EXPRESSION "(cat|dog|horse|mouse) (eats|wants|smells) ")
endif()

# A classifier that a program writes, and another reads: it knows each digit.
if(TARGET example_inference_export_digits AND TARGET example_inference_classify AND KUSARI_WITH_PNG)
  set(digits_result "${CMAKE_CURRENT_BINARY_DIR}/tests/digits")
  add_test(NAME export_digits COMMAND example_inference_export_digits --seed 0 --out "${digits_result}")
  set_tests_properties(export_digits PROPERTIES FIXTURES_SETUP digits_file PASS_REGULAR_EXPRESSION
                       "test accuracy: (0[.][89]|1).*the network, and 10 images")
  set(digits_images)
  set(digits_lines)
  foreach(digit RANGE 9)
    list(APPEND digits_images "${digits_result}/digit_${digit}.png")
    string(APPEND digits_lines "digit_${digit}.png: digit ${digit} [01][.][0-9]+, [^\n]*\n[^\n]*")
  endforeach()
  set(digits_options --labels "${digits_result}/labels.txt" --resize 28 "${digits_result}/digits.onnx")
  add_test(NAME classify COMMAND example_inference_classify ${digits_options} ${digits_images})
  add_test(NAME classify_batches COMMAND example_inference_classify --batch 4 --threads 1 ${digits_options} ${digits_images})
  add_test(NAME classify_half COMMAND example_inference_classify --batch 10 --dtype bfloat16 ${digits_options} ${digits_images})
  set_tests_properties(classify classify_batches classify_half PROPERTIES FIXTURES_REQUIRED digits_file PASS_REGULAR_EXPRESSION
                                                                          "${digits_lines}")
  set_tests_properties(export_digits classify classify_batches classify_half PROPERTIES LABELS unit TIMEOUT 600)
endif()
# What 8 bits cost a network, and the file of what is trained with them.
if(TARGET example_inference_quantize AND TARGET kusari-run)
  set(quantize_result "${CMAKE_CURRENT_BINARY_DIR}/tests/quantize")
  add_test(NAME quantize COMMAND example_inference_quantize --data digits --model small --epoch 2 --calibration 128 --seed 0
                                 --out "${quantize_result}")
  add_test(NAME quantize_file COMMAND kusari-run run "${quantize_result}/int8.onnx" --random --output-dir "${quantize_result}")
  # A tenth is chance.
  set_tests_properties(quantize PROPERTIES FIXTURES_SETUP quantize_file PASS_REGULAR_EXPRESSION
                       "float32: [5-9][0-9][.].*int8: [5-9][0-9][.].*int8, trained: [6-9][0-9][.]")
  set_tests_properties(quantize_file PROPERTIES FIXTURES_REQUIRED quantize_file)
  set_tests_properties(quantize quantize_file PROPERTIES LABELS unit TIMEOUT 600)
endif()
if(TARGET example_inference_recognize_text)
  add_test(NAME recognize_text_without_models COMMAND example_inference_recognize_text photo.png --models none)
  set_tests_properties(recognize_text_without_models PROPERTIES LABELS unit PASS_REGULAR_EXPRESSION
                       "recognize_text: there is no none/ch_PP-OCRv4_det_infer.onnx: pip install rapidocr-onnxruntime")
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
    set_tests_properties(text_classification_${model} PROPERTIES LABELS unit TIMEOUT 600 FIXTURES_SETUP text_classification_${model}
                         PASS_REGULAR_EXPRESSION "Test accuracy: (9[5-9]|100)")
    if(TARGET example_text_classification_run_text_classifier)
      add_test(NAME text_classification_run_${model}
               COMMAND example_text_classification_run_text_classifier "dog eats meat" "alice paints green boats" "snow falls again tonight"
                       --result "${CMAKE_CURRENT_BINARY_DIR}/tests/text_classification_${model}")
      set_tests_properties(text_classification_run_${model} PROPERTIES LABELS unit FIXTURES_REQUIRED text_classification_${model}
                           PASS_REGULAR_EXPRESSION "animals .*: dog eats meat\npeople .*: alice paints green boats\nweather .*: snow falls")
    endif()
  endforeach()
endif()

# Programs that must learn what they are for with each instruction set, because trainings differ by rounding.
# kusari_add_learning_test(name program expected arguments...): expected: what the output must match.
function(kusari_add_learning_test name program expected)
  if(NOT TARGET example_${program})
    return()
  endif()
  foreach(isa native ${kusari_other_isas})
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
# not learn, 0, and lies half below what was reached, since processors round differently. One that is trained a
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
                                                              PASS_REGULAR_EXPRESSION "${expected}")
  endfunction()
  # Reached: 0.81, 1.0, 0.94. EfficientDet is judged by its loss, which falls from 4.4 to 0.002 or 0.003: its smallest maps are
  # 1 x 1 here, so that its running statistics of two images are little like a batch's, and the mAP with them is chance.
  kusari_add_detection_test(retinanet_resnet18 2 60 0.001 "Test mAP: (0[.][3-9]|1[.]0)" --size 128 --anchor-scale 2 --optimizer adamw)
  kusari_add_detection_test(faster_rcnn_resnet18 1 40 0.0005 "Test mAP: (0[.][3-9]|1[.]0)" --size 128 --anchor-scale 2 --optimizer adamw)
  kusari_add_detection_test(efficientdet_d0 2 300 0.002 "\n300 +300 +0[.]0[0-4]" --size 128 --optimizer adamw --ema 0)
  kusari_add_detection_test(ssd300 1 30 0.003 "Test mAP: (0[.][3-9]|1[.]0)")
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

# Three ways of the same steps, which end with the same numbers; two of them run the network's C++ code once.
if(TARGET example_static_graph_optimizations_three_ways)
  foreach(model mlp cnn rows)
    add_test(NAME static_graph_${model} COMMAND example_static_graph_optimizations_three_ways --model ${model} --unit 8
                                                --steps 4 --rounds 2)
    set_tests_properties(static_graph_${model} PROPERTIES LABELS unit TIMEOUT 600 PASS_REGULAR_EXPRESSION
      "define-by-run [^\n]* 9 +9\nstatic_graph[^\n]* 1 +9\nwhole steps [^\n]* 1 +9\nnumbers that differ after 9 steps: 0 and 0")
  endforeach()
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
if(TARGET example_wavenet_train_wavenet)
  list(APPEND learning_tests wavenet)
  set(wavenet_sizes --n_loop 1 --n_layer 6 --r_channels 16 --s_channels 32)
  set(wavenet_result "${CMAKE_CURRENT_BINARY_DIR}/tests/wavenet")
  add_test(NAME wavenet COMMAND example_wavenet_train_wavenet ${wavenet_sizes} --length 1024 --melodies 20 --alpha 0.005 --epoch 4
                                --out "${wavenet_result}")
  # Reached: 1.98. It is log 256 = 5.5 where nothing is known.
  set_tests_properties(wavenet PROPERTIES FIXTURES_SETUP wavenet_result PASS_REGULAR_EXPRESSION "Test loss: ([12][.]|3[.][0-4])")
  if(TARGET example_wavenet_generate)
    list(APPEND learning_tests wavenet_generate)
    add_test(NAME wavenet_generate COMMAND example_wavenet_generate ${wavenet_sizes} --model "${wavenet_result}/wavenet.model"
                                           --length 4000 --output "${wavenet_result}/result.wav")
    set_tests_properties(wavenet_generate PROPERTIES FIXTURES_REQUIRED wavenet_result
                                                     PASS_REGULAR_EXPRESSION "3968 samples .*distance of spectra: [0-9.]+ .of silence: ")
  endif()
endif()
if(learning_tests)
  # With a PASS_REGULAR_EXPRESSION the exit status does not count.
  set_tests_properties(${learning_tests} PROPERTIES LABELS unit TIMEOUT 600
                                                    FAIL_REGULAR_EXPRESSION "(train_vae|train_wgan_gp|dqn_cartpole|ddpg_pendulum|train_dcgan|train_facade|train_wavenet|generate): ")
endif()
