#pragma once

#include <cublasLt.h>

#include "kusari/cuda/libraries/matmul_problem.h"
#include "kusari/cuda/runtime/context.h"

namespace kusari::cuda {

/// The addresses of one call, in cuBLASLt's terms.
struct MatmulPointers {
  const void* a;
  const void* b;
  void* d;
  const void* vector;  // the bias, or where its gradient goes
};

/// What cuBLASLt needs to know of a product, and the algorithm that it chose.
class MatmulPlan {
 public:
  /// The calling thread's plan for a key, made at its first call.
  static MatmulPlan& of(Context& context, const MatmulKey& key, const MatmulPointers& pointers);

  /// False where cuBLASLt has no algorithm.
  bool is_supported() const noexcept { return is_supported_; }
  /// d = op(a) op(b), by the epilogue; added to d if `accumulate`.
  void run(Context& context, const MatmulPointers& pointers, bool accumulate);
  /// Times the candidates once, unless the choice is known, see Config::autotune. Writes d.
  void tune(Context& context, const MatmulKey& key, const MatmulPointers& pointers);

 private:
  void prepare(Context& context, const MatmulKey& key, const MatmulPointers& pointers);
  int find_candidates(Context& context, const MatmulKey& key, cublasLtMatmulHeuristicResult_t* found, int most);
  void choose(const cublasLtMatmulHeuristicResult_t& candidate) noexcept;
  cublasStatus_t enqueue(Context& context, const MatmulPointers& pointers, bool accumulate);

  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t a_, b_, d_;
  cublasLtMatmulAlgo_t algorithm_;
  size_t workspace_ = 0;
  bool is_double_ = false, has_vector_ = false, is_supported_ = false, is_tuned_ = false;
};

}  // namespace kusari::cuda
