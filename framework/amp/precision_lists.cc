#include "kusari/framework/amp/precision_lists.h"

#include <sstream>

namespace kusari::amp {
namespace {

PrecisionLists::Names names(const char* separated_by_blanks) {
  std::istringstream in(separated_by_blanks);
  PrecisionLists::Names result;
  for (std::string name; in >> name;) result.insert(name);
  return result;
}

}  // namespace

// Chainer's functions that are still to come have their place already.

const PrecisionLists& autocast_lists() {
  static const PrecisionLists lists = {
      .refused = {{"binary_cross_entropy",
                   "the logarithm of a 16-bit probability is not safe; use F::sigmoid_cross_entropy, which takes "
                   "logits"}},
      // Functions that soon leave the range of float16 or magnify its errors; sums of many elements; normalizations
      // (those of batches compute in float32 whatever x is); coordinates; decompositions; losses.
      .full = names(
          "exp expm1 log log10 log1p log2 pow pow_const rpow_const square rdiv_const rsqrt sinh cosh tan "
          "arcsin arccos betainc betaincinv digamma erfcinv erfcx erfinv gammainc gammaincc gammaincinv lgamma ndtri "
          "poisson_entropy polygamma zeta softplus "
          "softmax log_softmax gumbel_softmax logaddexp logsumexp nansum sum sum_to prod cumsum cumprod "
          "batch_l2_norm_squared "
          "layer_normalization group_normalization instance_normalization normalize decorrelated_batch_normalization "
          "fixed_decorrelated_batch_normalization "
          "spatial_transformer_grid "
          "batch_det batch_inv cholesky det eigh inv qr slogdet solve svd "
          "absolute_error argmax_crf1d bernoulli_nll binary_hierarchical_softmax black_out "
          "connectionist_temporal_classification "
          "contrastive cosine_similarity crf1d cross_covariance decov discriminative_margin_based_clustering_loss "
          "gaussian_kl_divergence gaussian_nll hinge huber_loss mean_absolute_error mean_squared_error "
          "negative_sampling sigmoid_cross_entropy softmax_cross_entropy squared_error "
          "triplet"),
      .low =
          names("batch_matmul convolution_1d convolution_2d convolution_3d convolution_nd "
                "deconvolution_1d deconvolution_2d deconvolution_3d deconvolution_nd "
                "deformable_convolution_2d_sampler depthwise_convolution_2d dilated_convolution_2d einsum gru linear "
                "local_convolution_2d lstm matmul n_step_bigru n_step_bilstm n_step_birnn n_step_gru n_step_lstm "
                "n_step_rnn prelu scaled_dot_product_attention simplified_dropconnect slstm sparse_matmul tree_lstm"),
      .widest = names("arctan2 batch_normalization_add_relu bilinear dot fixed_batch_normalization_add_relu "
                      "scatter_add spatial_transformer_sampler tensordot"),
      // The one parameter of swish must not make a float32 branch of a 16-bit one.
      .narrowest = names("swish"),
      // Images, features and scores may have 16 bits beside parameters, statistics, coordinates and divisors in
      // float32. The strides of as_strided belong to the memory that it is given.
      .untouched = names("as_strided batch_normalization batch_normalization_relu cast fixed_batch_normalization "
                         "fixed_batch_normalization_relu normalized_fusion_silu rms_normalization sample_bilinear "
                         "sigmoid_focal_loss"),
  };
  return lists;
}

const PrecisionLists& tensorflow_lists() {
  static const PrecisionLists lists = {
      .refused = {},
      // Deny.
      .full = names(
          "average batch_l2_norm_squared bernoulli_nll exp expm1 gaussian_kl_divergence gaussian_nll "
          "global_average_pooling_2d pow pow_const rpow_const sigmoid_cross_entropy softmax_cross_entropy sum sum_to"),
      // Allow: Conv2D, Conv3D, MatMul, BatchMatMul, Einsum and the recurrent cells.
      .low = names("batch_matmul convolution_1d convolution_2d convolution_3d convolution_nd deconvolution_1d "
                   "deconvolution_2d deconvolution_3d deconvolution_nd dilated_convolution_2d einsum gru linear "
                   "local_convolution_2d lstm matmul n_step_bigru n_step_bilstm n_step_birnn n_step_gru n_step_lstm "
                   "n_step_rnn slstm tensordot tree_lstm"),
      // Clear, with several floating inputs.
      .widest = names("concat maximum minimum stack where"),
      // Infer, with several floating inputs.
      .narrowest = names("add batch_normalization_add_relu div fixed_batch_normalization_add_relu mul prelu sub swish"),
      // Infer and clear, with one floating input or beside float32 statistics.
      .untouched = names("add_const average_pooling_1d average_pooling_2d average_pooling_3d average_pooling_nd "
                         "batch_normalization batch_normalization_relu div_const elu erf erfc "
                         "fixed_batch_normalization fixed_batch_normalization_relu leaky_relu log log1p log_softmax "
                         "mul_const prod rdiv_const rsub_const selu sigmoid softmax softplus sqrt tanh "
                         "absolute accuracy as_strided binary_accuracy broadcast_to cast ceil clip clipped_relu "
                         "col2im copy depth2space dropout embed_id floor get_item hard_sigmoid identity im2col max "
                         "max_pooling_1d max_pooling_2d max_pooling_3d max_pooling_nd min neg pad pad_sequence relu "
                         "reshape separate sigmoid_focal_loss sign space2depth split_axis take_rows transpose "
                         "normalized_fusion_silu rms_normalization rotary_embedding"),
      .unlisted = Precision::full,
  };
  return lists;
}

}  // namespace kusari::amp
