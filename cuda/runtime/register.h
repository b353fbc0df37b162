#pragma once

#include "kusari/framework/core/backend.h"

// One function for each family of kernels, called by register.cc alone.
namespace kusari::cuda {

void register_backend_info(Backend& backend);                           // backend_info.cc
void register_basic(Backend& backend);                                  // basic.cu
void register_pointwise(Backend& backend);                              // pointwise.cc
void register_random(Backend& backend);                                 // random.cu
void register_rejection_sampling(Backend& backend);                     // rejection_sampling.cu
void register_reduction(Backend& backend);                              // reduction.cu
void register_arg_reduction(Backend& backend);                          // arg_reduction.cu
void register_softmax(Backend& backend);                                // softmax.cu
void register_rows(Backend& backend);                                   // rows.cu
void register_normalization(Backend& backend);                          // normalization.cu
void register_batch_normalization(Backend& backend);                    // batch_normalization.cu
void register_pooling(Backend& backend);                                // pooling.cu
void register_sampling(Backend& backend);                               // sampling.cu
void register_roi(Backend& backend);                                    // roi.cu
void register_matmul(Backend& backend);                                 // matmul.cc
void register_symmetric_eigen(Backend& backend);                        // symmetric_eigen.cu
void register_optimizer(Backend& backend);                              // optimizer.cu
void register_fused_pointwise(Backend& backend);                        // fused_pointwise.cc
void register_user_kernel(Backend& backend);                            // user_kernel.cc
void register_convolution(Backend& backend);                            // convolution.cc
void register_quantized_convolution(Backend& backend);                  // rounded/quantized_convolution.cu
void register_quantized_add(Backend& backend);                          // rounded/quantized_add.cu
void register_squeeze_excitation(Backend& backend);                     // squeeze_excitation.cu
void register_normalized_convolution(Backend& backend);                 // normalized_convolution.cc
void register_image_batch(Backend& backend);                            // image_batch.cu
void register_summary(Backend& backend);                                // summary.cu
void register_value_statistics(Backend& backend);                       // value_statistics.cu
void register_scan(Backend& backend);                                   // scan.cu
void register_row_products(Backend& backend);                           // row_products.cu
void register_fft(Backend& backend);                                    // fft.cu
void register_linear_algebra(Backend& backend);                         // linear_algebra.cu
void register_cofactors(Backend& backend);                              // cofactors.cu, for linear_algebra.cu
void register_decompositions(Backend& backend);                         // decompositions.cu
void register_ordering(Backend& backend);                               // ordering.cu
void register_sum_rows(Backend& backend);                               // rounded/sum_rows.cu
void register_attention(Backend& backend);                              // attention.cu
void register_rotary_embedding(Backend& backend);                       // rotary_embedding.cu
void register_recurrent(Backend& backend);                              // recurrent.cu
void register_connectionist_temporal_classification(Backend& backend);  // the .cu of that name
void register_hard_negatives(Backend& backend);                         // hard_negatives.cu
void register_sigmoid_focal_loss(Backend& backend);                     // sigmoid_focal_loss.cu
void register_normalized_fusion(Backend& backend);                      // rounded/normalized_fusion.cu

}  // namespace kusari::cuda
