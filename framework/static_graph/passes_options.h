#pragma once

namespace kusari {

/// What static_graph does to a recording before it is replayed. With all of them off a replay launches exactly the
/// recorded kernels.
struct StaticGraphPasses {
  bool dead_kernels = true;              ///< drop kernels whose results nobody reads
  bool common_inputs = true;             ///< compute once what several kernels compute from the same arrays
  bool constants = true;                 ///< inference: compute what depends on parameters alone when these change
  bool fuse_attention = true;            ///< inference: softmax between two products as one kernel
  bool fuse_gelu = true;                 ///< inference: GELU that is spelled in many kernels as one
  bool fold_batch_normalization = true;  ///< inference: scale the weights of the layer before instead
  bool fuse_convolutions = true;         ///< bias, addition and activation inside the convolution
  bool fuse_excitation = true;           ///< inference: squeeze-and-excitation as one kernel
  bool pack_products = true;             ///< inference: weights of products packed, the same inside of them
  bool lower_quantized = true;           ///< inference: what is computed of 8 bits computes with the integers
  bool concat_in_place = true;           ///< results are written where a concatenation copies them to
  bool fuse_pointwise = true;            ///< chains of pointwise kernels in one loop
  bool hoist_exchanges = true;           ///< gradients leave for other processes as soon as they are computed

  static constexpr StaticGraphPasses none() {
    return {false, false, false, false, false, false, false, false, false, false, false, false, false};
  }
};

}  // namespace kusari
