#pragma once

#include <span>
#include <string>
#include <vector>

#include "kusari/framework/kernels/user/parameters.h"

// The CUDA C++ of a user's kernel for dtypes and numbers of axes that are known.
namespace kusari::cuda::user {

/// A parameter for which the text is written.
struct Bound {
  Parameter parameter;
  bool is_output = false;
  bool is_number = false;  ///< passed by value
  int ndim = 1;            ///< axes of a raw array
};

/// Kernel parameters: Layout<arrays, ndim>, n, then each Bound: an address, a value, or an address and a Layout.
/// Arrays that are neither raw nor numbers are numbered in order in the layout. is_flat: element i is at [i] of all.
std::string elementwise_source(const std::string& name, const std::string& operation, const std::string& declarations,
                               const std::string& preamble, std::span<const Bound> bound, int ndim, bool is_flat);

/// The expressions of a reduction.
struct ReductionText {
  std::string map, reduce, post_map, identity, value_type;
};
inline constexpr int kReductionThreads = 256;

/// Kernel parameters: Layout<inputs, outer_ndim>, Layout<inputs, inner_ndim>, how many outputs, how many elements each,
/// then each Bound. Blocks of kReductionThreads threads.
std::string reduction_source(const std::string& name, const ReductionText& text, const std::string& declarations,
                             const std::string& preamble, std::span<const Bound> bound, int outer_ndim, int inner_ndim);

}  // namespace kusari::cuda::user
