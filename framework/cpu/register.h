#pragma once

#include "kusari/framework/core/backend.h"

namespace kusari::cpu {

// Each enters its family's kernels in the table of the CPU backend.
void register_backend_info(Backend& backend);
void register_basic(Backend& backend);
void register_pointwise(Backend& backend);
void register_fused_pointwise(Backend& backend);
void register_reduction(Backend& backend);
void register_arg_reduction(Backend& backend);
void register_softmax(Backend& backend);
void register_scan(Backend& backend);
void register_attention(Backend& backend);
void register_rotary_embedding(Backend& backend);
void register_squeeze_excitation(Backend& backend);
void register_recurrent(Backend& backend);
void register_symmetric_eigen(Backend& backend);
void register_linear_algebra(Backend& backend);
void register_decompositions(Backend& backend);
void register_ordering(Backend& backend);
void register_fft(Backend& backend);
void register_random(Backend& backend);
void register_rejection_sampling(Backend& backend);
void register_matmul(Backend& backend);
void register_convolution(Backend& backend);
void register_quantized_add(Backend& backend);
void register_quantized_convolution(Backend& backend);
void register_rows(Backend& backend);
void register_row_products(Backend& backend);
void register_optimizer(Backend& backend);
void register_sum_rows(Backend& backend);
void register_summary(Backend& backend);
void register_value_statistics(Backend& backend);
void register_batch_normalization(Backend& backend);
void register_normalization(Backend& backend);
void register_sampling(Backend& backend);
void register_pooling(Backend& backend);
void register_roi(Backend& backend);
void register_image_batch(Backend& backend);
void register_image_resampling(Backend& backend);
void register_connectionist_temporal_classification(Backend& backend);
void register_hard_negatives(Backend& backend);
void register_sigmoid_focal_loss(Backend& backend);
void register_normalized_fusion(Backend& backend);

}  // namespace kusari::cpu
