#pragma once

#include "kusari/tools/kusari-bench/sampling.h"

namespace bench {

// Each prints its results, one line of JSON per number.

/// A chain of 1000 additions and multiplications of one element: time per operation.
void op_overhead(const Settings& settings);
/// Training steps of 784-1000-1000-10 with Adam at batch 100.
void mlp(const Settings& settings);
/// Training steps of 32-64-64-8 at batch 16, with momentum SGD and with Adam.
void small_mlp(const Settings& settings);
/// An empty kernel through the door, recording one function, heap allocations per operation.
void door(const Settings& settings);
/// 10,000 training steps of small_mlp: what is allocated, and how memory grows.
void steady_state(const Settings& settings);
/// A graph of a million functions: built, differentiated, destroyed.
void graph_million(const Settings& settings);
/// Training steps of CifarCnn at batch 32, SGD with momentum; so are the next two.
void cnn_seed(const Settings& settings);
/// ResNet-18 for images of 32x32 at batch 64.
void resnet18_cifar(const Settings& settings);
/// ResNet-50 for images of 224x224 at batch 8.
void resnet50_train(const Settings& settings);
/// MobileNetV2 for images of 224x224 at batch 8.
void mobilenet_train(const Settings& settings);
/// ResNet-50 on one image of 224x224 (or --batch), without a graph: define-by-run, or with --static-graph or --session.
void resnet50_infer(const Settings& settings);
/// The same of ResNet-18 for images of 32x32.
void resnet18_infer(const Settings& settings);
/// The same of MobileNetV2 for images of 224x224.
void mobilenet_infer(const Settings& settings);
/// RetinaNet over ResNet-18, 80 classes, images of 300x300 at batch 2.
void retinanet_train(const Settings& settings);
/// The same of EfficientDet-D0.
void efficientdet_train(const Settings& settings);
/// Both finding things in a photo of 480x640 on 512x512, all of it and the networks alone.
void detect(const Settings& settings);
/// Resident memory at its highest in three steps of resnet50_train.
void mem(const Settings& settings);
/// Decoding photos, beside libjpeg-turbo alone; and with padding by 4, a random crop and a random flip.
void jpeg(const Settings& settings);
/// Photos decoded, cropped, resized, flipped and collated by the iterators, with and without workers.
void iterator(const Settings& settings);
/// The same for examples of 3 KB in memory: what the iterators themselves take.
void iterator_overhead(const Settings& settings);
/// Memory of the iterators after 20,000 batches whose examples differ in size.
void iterator_memory(const Settings& settings);
/// What the host does for one kernel in define-by-run: small_mlp's step, and the parts of it.
void host_cost(const Settings& settings);
/// What a replay of small_mlp's step costs beside its kernels.
void static_overhead(const Settings& settings);
/// A thousand tiny operations like those of an LSTM: define-by-run, replayed, replayed with fusion.
void static_chain(const Settings& settings);
/// The mean of 100 MB of float32 over ranks: those of mpirun, beside MPI_Allreduce, or two threads.
void all_reduce(const Settings& settings);
/// Training steps of small_mlp and of ResNet-18 for images of 32x32 on each rank of mpirun, whose gradients are
/// exchanged; and, in turn with them, the same without an exchange.
void exchange(const Settings& settings);

/// Training steps of a language model with two layers of 650 LSTM units on 20 sequences of 35 of 10,000 words.
void lstm_lm(const Settings& settings);
/// The same with sequences of 5 to 35 words.
void lstm_ragged(const Settings& settings);
/// Forward and backward of one layer of 128 LSTM units over 32 sequences of 20.
void n_step(const Settings& settings);
/// Training steps with AdamW of a transformer with 6 layers of 6 heads and width 384 on 12 texts of 256 characters.
void gpt_small(const Settings& settings);
/// The same with 4 layers of 4 heads and width 128 on 12 texts of 64.
void gpt_nano(const Settings& settings);
/// Attention forward and backward: 8 x 6 heads of width 64 over 1024 places, causal; and with dropout.
void attention(const Settings& settings);
/// A prompt of 128 tokens, and 128 tokens behind it one by one: GPT-2's and a small Llama's sizes.
void transformer_infer(const Settings& settings);

}  // namespace bench
