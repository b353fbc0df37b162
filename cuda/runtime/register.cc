#include "kusari/cuda/runtime/register.h"

#include "kusari/cuda/libraries/nccl.h"
#include "kusari/cuda/runtime/backend.h"
#include "kusari/framework/kernels/exchange.h"

namespace kusari::cuda {

void register_kernels(Backend& backend) {
  register_pooling(backend);
  register_roi(backend);
  register_sampling(backend);
  register_batch_normalization(backend);
  register_optimizer(backend);
  register_fused_pointwise(backend);
  register_user_kernel(backend);
  register_image_batch(backend);
  register_summary(backend);
  register_value_statistics(backend);
  register_hard_negatives(backend);
  register_sigmoid_focal_loss(backend);
  register_normalized_fusion(backend);
  register_symmetric_eigen(backend);
  register_matmul(backend);
  register_convolution(backend);
  register_quantized_convolution(backend);
  register_quantized_add(backend);
  register_squeeze_excitation(backend);
  register_normalized_convolution(backend);
  register_backend_info(backend);
  register_basic(backend);
  register_pointwise(backend);
  register_normalization(backend);
  register_reduction(backend);
  register_arg_reduction(backend);
  register_softmax(backend);
  register_rows(backend);
  register_random(backend);
  register_scan(backend);
  register_row_products(backend);
  register_fft(backend);
  register_linear_algebra(backend);
  register_decompositions(backend);
  register_ordering(backend);
  register_sum_rows(backend);
  register_exchange(backend);
#ifdef KUSARI_WITH_NCCL  // its header was found
  register_nccl(backend);
#endif
  register_connectionist_temporal_classification(backend);
  register_attention(backend);
  register_rotary_embedding(backend);
  register_recurrent(backend);
  register_rejection_sampling(backend);
}

}  // namespace kusari::cuda
